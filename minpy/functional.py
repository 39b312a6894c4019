"""The functional interface: functions that return the derivatives of a function.

The function is run under the tape. Arrays it is differentiated with respect to are given to it as `NDArray`s if they
are `NDArray`s, and as `minpy.numpy.ndarray`s otherwise; what comes back is of the kind that went in. Everything
nests: in itself, in `autograd.record()`, and inside HIPS autograd's own `grad` and its kin.

Examples
--------
>>> import numpy as np
>>> import minpy
>>> minpy.grad(lambda x: np.sum(np.tanh(x) ** 2))(np.zeros(2))
array([0., 0.])
>>> minpy.grad(minpy.grad(lambda x: x ** 3))(2.0)
12.0
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.batching.derivatives import with_call
from minpy.batching.levels import holds_batched
from minpy.bridge.hips_boxes import is_box
from minpy.core.errors import ArgumentError, describe
from minpy.differentiation import recorded_run
from minpy.differentiation.nested import Call, matching, ones_like
from minpy.differentiation.trees import leaves_of, map_tree

__all__ = ["elementwise_grad", "grad", "grad_and_loss", "hessian", "jacobian", "jvp", "value_and_grad", "vjp"]

Function = Callable[..., Any]
Argnum = int | Sequence[int]


# -- gradients ---------------------------------------------------------------------------------------------------------


def grad(function: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the gradient of a function whose result is one number.

    Parameters
    ----------
    function : callable
        Takes arrays (or nested dicts, lists and tuples of arrays) by position, and anything by keyword; returns one
        real number: an array of one element.
    argnum : int or sequence of int
        The positions of the arguments to differentiate with respect to.

    Returns
    -------
    callable
        Takes what `function` takes, and returns the gradient, or a tuple of gradients if `argnum` is a sequence. A
        gradient has its argument's structure, shapes, dtypes and kind of array; it is zero where the result does not
        depend on the argument. If it depends on arrays that are recorded around it, it is recorded too.

    Raises
    ------
    ShapeError
        If the result is not one number; `jacobian` and `elementwise_grad` are for those.
    DTypeError
        If an argument to differentiate with respect to is not floating point, or the result is not real.
    ArgumentError
        If there is no such argument, or the result is no array.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> loss = lambda w, x: np.sum((x @ w) ** 2)
    >>> minpy.grad(loss)(np.array([1.0, 2.0]), np.eye(2))
    array([2., 4.])
    >>> minpy.grad(lambda p: p['a'] * p['b'])({'a': 2.0, 'b': 3.0})
    {'a': 3.0, 'b': 2.0}
    """

    def gradient(call: Call) -> Any:
        return call.gradients(call.one_number())

    return _derivative(function, argnum, "grad", gradient, lambda _, gradients: gradients)


def value_and_grad(function: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes (value, gradient) of a function whose result is one number.

    Parameters, gradient and errors are those of `grad`; `grad_and_loss` returns the pair the other way around.

    Examples
    --------
    >>> import minpy
    >>> minpy.value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """

    def both(call: Call) -> Any:
        gradients = call.gradients(call.one_number())
        return call.result(), gradients

    return _derivative(function, argnum, "value_and_grad", both, lambda value, gradients: (value, gradients))


def grad_and_loss(function: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes (gradient, loss): the order that MinPy and MXNet have.

    Parameters, gradient and errors are those of `grad`.

    Examples
    --------
    >>> import minpy
    >>> minpy.grad_and_loss(lambda x: x * x)(3.0)
    (6.0, 9.0)
    """

    def both(call: Call) -> Any:
        gradients = call.gradients(call.one_number())
        return gradients, call.result()

    return _derivative(function, argnum, "grad_and_loss", both, lambda value, gradients: (gradients, value))


def elementwise_grad(function: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the gradient of the sum of a function's results.

    Where each element of the result depends only on the same element of the argument, that is the derivative of
    each. Parameters and errors are those of `grad`, but the result has any shape.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.elementwise_grad(np.exp)(np.array([0.0, 1.0]))
    array([1.        , 2.71828183])
    """

    def gradient(call: Call) -> Any:
        return call.gradients([ones_like(output) for output in call.real_outputs()])

    return _derivative(function, argnum, "elementwise_grad", gradient, lambda _, gradients: gradients)


def jacobian(function: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the derivative of every element of the result.

    Parameters
    ----------
    function : callable
        As for `grad`, with a result of any shape; also a nest of arrays.
    argnum : int or sequence of int
        As for `grad`.

    Returns
    -------
    callable
        Takes what `function` takes, and returns an array of the result's shape followed by the argument's. If the
        result or the argument is a nest of arrays, a nest like the result, of nests like the argument.

    Raises
    ------
    DTypeError, ArgumentError
        As for `grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.jacobian(lambda x: x ** 2)(np.array([1.0, 3.0]))
    array([[2., 0.],
           [0., 6.]])
    """
    return _derivative(function, argnum, "jacobian", lambda call: call.jacobians())


def hessian(function: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the second derivatives of a function whose result is one number.

    It is the Jacobian of the gradient: an array of the argument's shape twice. For several arguments, or nests of
    arrays, a nest of nests like them.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        As for `grad`; of other results take `jacobian(jacobian(function))`.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    inner = _derivative(function, argnum, "hessian", lambda call: call.gradients(call.one_number()))
    outer = jacobian(inner, argnum)
    _name(outer, "hessian", function)
    return outer


def vjp(function: Function, *primals: Any, **keywords: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Return (result, pull): a function's result, and the function that takes a gradient of it back to the arguments.

    The signature is JAX's. (HIPS autograd's `make_vjp(function, argnum)(*primals)` returns the pair the other way
    around, and for one argument.)

    Parameters
    ----------
    function : callable
        As for `jacobian`.
    *primals : arrays, or nests of arrays
        The arguments; all are differentiated with respect to.
    **keywords
        Passed to `function`.

    Returns
    -------
    result
        What `function` returned.
    pull : callable
        Takes a gradient like the result, and returns a tuple of gradients, one for each of `primals`. It may be
        called any number of times.

    Raises
    ------
    DTypeError, ArgumentError
        As for `grad`.
    ShapeError
        By `pull`, if its argument is not like the result.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> result, pull = minpy.vjp(np.multiply, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> result
    array([3., 8.])
    >>> pull(np.ones(2))
    (array([3., 4.]), array([1., 2.]))
    """
    if any(map(is_box, leaves_of((primals, keywords)))):
        raise ArgumentError(
            "vjp: an argument is traced by HIPS autograd, which cannot follow the function that vjp returns. Call "
            "minpy.grad or minpy.jacobian there, or autograd.make_vjp."
        )
    primals = map_tree(_copied, primals)  # the caller may write to them before pulling

    def result_and_pull(call: Call) -> Any:
        def pull(gradient: Any) -> tuple[Any, ...]:
            return call.gradients(matching("vjp: the gradient", call.lowered(gradient), call.structure, call.outputs))

        return map_tree(_copied, call.result()), pull

    both: tuple[Any, Callable[[Any], tuple[Any, ...]]] = with_call(
        result_and_pull, "vjp", function, tuple(range(len(primals))), False, primals, keywords
    )
    return both


def _copied(value: Any, _: str) -> Any:
    return value.copy() if isinstance(value, numpy.ndarray) else value


def jvp(function: Function, primals: Sequence[Any], tangents: Sequence[Any], **keywords: Any) -> tuple[Any, Any]:
    """Return (result, tangent): a function's result, and its derivative along a direction: forward mode.

    The signature is JAX's. An operator's `def_jvp` rule is used where it has one, else the transpose of its gradient
    rule, so every function that has a gradient has a `jvp`.

    Parameters
    ----------
    function : callable
        As for `jacobian`.
    primals : sequence
        The arguments; all are differentiated with respect to.
    tangents : sequence
        The direction: for each argument an array of its shape, or a nest like it.
    **keywords
        Passed to `function`.

    Returns
    -------
    result
        What `function` returned.
    tangent
        The derivative; like the result.

    Raises
    ------
    DTypeError, ArgumentError
        As for `grad`.
    ShapeError
        If the tangents are not like the primals.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.jvp(np.sin, (np.array([0.0, 0.0]),), (np.array([1.0, 2.0]),))
    (array([0., 0.]), array([1., 2.]))
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise ArgumentError(
            f"jvp: primals and tangents are tuples with one entry for each argument, got {describe(primals)} and "
            f"{describe(tangents)}. Write jvp(function, (x,), (t,))."
        )
    if any(map(is_box, leaves_of((primals, tangents, keywords)))):
        from minpy.bridge.hips import through_boxes  # it imports autograd

        return through_boxes(
            lambda primals, tangents: jvp(function, primals, tangents, **keywords), (primals, tangents), {}
        )

    def push(call: Call) -> Any:
        given = call.lowered(tuple(tangents))
        directions = matching("jvp: the tangent", given, tuple(primals), call.variables)
        call.outputs, pushed = recorded_run.jvp(call.flat, call.variables, range(len(call.variables)), directions)
        return call.result(), call.like_result(pushed)

    both: tuple[Any, Any] = with_call(
        push, "jvp", function, tuple(range(len(primals))), False, primals, keywords, run=False
    )
    return both


# -- how it is done ----------------------------------------------------------------------------------------------------


def _derivative(
    function: Function,
    argnum: Argnum,
    api: str,
    finish: Callable[[Call], Any],
    of_sum: Callable[[Any, Any], Any] | None = None,
) -> Function:
    """Return a function that runs `function` under the tape, and gives the run to `finish`.

    `of_sum` makes the same of the result and the gradients of its sum, which functions that are compiled know at once.
    """
    if not callable(function):
        raise ArgumentError(
            f"{api}: the first argument is the function to differentiate, got {describe(function)}. Write "
            f"{api}(f)(x), not {api}(f(x))."
        )
    single = isinstance(argnum, (int, numpy.integer)) and not isinstance(argnum, bool)
    argnums: tuple[Any, ...] = (argnum,) if single else tuple(argnum) if isinstance(argnum, (tuple, list)) else ()
    if not argnums or not all(
        isinstance(each, (int, numpy.integer)) and not isinstance(each, bool) for each in argnums
    ):
        raise ArgumentError(f"{api}: argnum is a position (0, 1, ...) or a tuple of positions, got {argnum!r}.")

    def run(*arguments: Any, **keywords: Any) -> Any:
        return with_call(finish, api, function, argnums, single, arguments, keywords)

    def derivative(*arguments: Any, **keywords: Any) -> Any:
        if any(map(is_box, leaves_of((arguments, keywords)))):
            from minpy.bridge.hips import through_boxes  # it imports autograd

            return through_boxes(run, arguments, keywords)
        return run(*arguments, **keywords)

    at_once = getattr(function, "gradients_at_once", None)
    if at_once is not None and of_sum is not None and min(argnums) >= 0 and len(set(argnums)) == len(argnums):
        derivative = _compiled_derivative(function, argnums, single, derivative, of_sum)
    _name(derivative, api, function)
    # The same derivative of what `change` makes of the function.
    derivative.with_function = lambda change: _derivative(change(function), argnum, api, finish, of_sum)  # type: ignore[attr-defined]
    return derivative


def _compiled_derivative(
    function: Any, argnums: tuple[int, ...], single: bool, derivative: Function, of_sum: Callable[[Any, Any], Any]
) -> Function:
    """Return a derivative of a compiled function, which asks that first; see `CompiledFunction.gradients_at_once`."""
    at_once, note = function.gradients_at_once, function.note_gradients

    def at_once_or_not(*arguments: Any, **keywords: Any) -> Any:
        if keywords or holds_batched(arguments):
            return derivative(*arguments, **keywords)
        value_and_gradients = at_once(arguments, argnums)
        if value_and_gradients is not None:
            value, gradients = value_and_gradients
            return of_sum(value, gradients[0] if single else tuple(gradients))
        result = derivative(*arguments)
        note(arguments, argnums)
        return result

    return at_once_or_not


def _name(derivative: Any, api: str, function: Function) -> None:
    functools.update_wrapper(derivative, function, updated=())
    inner = getattr(function, "__name__", type(function).__name__)
    derivative.__name__ = derivative.__qualname__ = f"{api}_of_{inner}"
    derivative.__doc__ = f"Return what minpy.{api} computes of {inner}.\n\n{getattr(function, '__doc__', None) or ''}"
