"""Derivatives of a function at a point as linear maps, which are applied to many vectors: `make_vjp` and its kin."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.batching.derivatives import with_call
from minpy.bridge.hips_boxes import is_box
from minpy.core.errors import ArgumentError, describe
from minpy.differentiation import recorded_run
from minpy.differentiation.nested import Call, matching, ones_like
from minpy.differentiation.trees import leaves_of, map_tree
from minpy.functional import grad

__all__ = [
    "Argnum",
    "Function",
    "deriv",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "name_of",
    "of_run",
    "renamed",
]

Function = Callable[..., Any]
Argnum = int | Sequence[int]


def make_vjp(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that runs `fun`, and returns (vjp, result): reverse mode, one run for many gradients.

    `minpy.vjp` is the same with JAX's signature, for all arguments.

    Parameters
    ----------
    fun : callable
        As for `minpy.jacobian`; its result may be complex.
    argnum : int or sequence of int
        The positions of the arguments to differentiate with respect to.

    Returns
    -------
    callable
        Takes what `fun` takes, and returns `(vjp, result)`. `vjp(g)` takes a gradient like the result, and returns the
        gradient of the argument, or a tuple of them if `argnum` is a sequence. It may be called any number of times.

    Raises
    ------
    DTypeError, ArgumentError
        As for `minpy.grad`.
    ShapeError
        By `vjp`, if its argument is not like the result.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> vjp, result = minpy.make_vjp(np.sin)(np.zeros(2))
    >>> vjp(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return of_run(fun, argnum, "make_vjp", _vjp_and_result)


def make_jvp(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function whose results push tangents forward: `make_jvp(fun)(x)(v)` is (result, tangent).

    Parameters
    ----------
    fun, argnum
        As for `make_vjp`.

    Returns
    -------
    callable
        Takes what `fun` takes, and returns a function that takes a tangent like the argument (a tuple of tangents if
        `argnum` is a sequence), and returns (result, tangent of the result). It runs `fun` at each call.

    Raises
    ------
    DTypeError, ArgumentError
        As for `minpy.grad`.
    ShapeError
        If the tangent is not like the argument.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.make_jvp(np.sin)(np.zeros(2))(np.array([1.0, 2.0]))
    (array([0., 0.]), array([1., 2.]))
    """

    def push(tangent: Any, call: Call) -> Any:
        arguments = [call.arguments[argnum] for argnum in call.argnums]
        like = arguments[0] if call.single else tuple(arguments)
        directions = matching("make_jvp: the tangent", call.lowered(tangent), like, call.variables)
        call.outputs, pushed = recorded_run.jvp(call.flat, call.variables, range(len(call.variables)), directions)
        return call.result(), call.like_result(pushed)

    return of_run(fun, argnum, "make_jvp", push, run=False, given_later=True)


def make_jvp_reversemode(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function whose results push tangents forward, by two runs in reverse: `make_jvp_reversemode(fun)(x)(v)`.

    It runs `fun` once for all tangents, where `make_jvp` runs it at each.

    Parameters
    ----------
    fun, argnum
        As for `make_vjp`.

    Returns
    -------
    callable
        Takes what `fun` takes, and returns a function from a tangent like the argument to that of the result.

    Raises
    ------
    DTypeError, ArgumentError, ShapeError
        As for `make_jvp`.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.make_jvp_reversemode(np.square)(np.array([1.0, 2.0]))(np.ones(2))
    array([2., 4.])
    """

    def transposed(call: Call) -> Any:
        vjp, result = _vjp_and_result(call)
        zeros = map_tree(lambda leaf, _: numpy.zeros_like(leaf), result)
        return make_vjp(vjp)(zeros)[0]

    return of_run(fun, argnum, "make_jvp_reversemode", transposed)


def make_hvp(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that returns (hvp, gradient): products of the Hessian at a point with many vectors.

    Parameters
    ----------
    fun : callable
        As for `minpy.grad`: its result is one number.
    argnum : int or sequence of int
        As for `make_vjp`.

    Returns
    -------
    callable
        Takes what `fun` takes, and returns `(hvp, gradient)`; `hvp(v)` is the Hessian times v, which is like the
        argument.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        As for `minpy.grad`, and for `make_vjp`.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> hvp, gradient = minpy.make_hvp(lambda x: np.sum(x ** 3))(np.array([1.0, 2.0]))
    >>> hvp(np.array([1.0, 0.0]))
    array([6., 0.])
    """
    return renamed(make_vjp(grad(fun, argnum), argnum), "make_hvp", fun)


def make_ggnvp(f: Function, g: Function | None = None, f_argnum: int = 0) -> Function:
    """Return a function that returns products of the generalized Gauss-Newton matrix of g(f(x)) with vectors.

    Parameters
    ----------
    f : callable
        As for `minpy.jacobian`: the model.
    g : callable, optional
        The loss, of what `f` returns: one number. By default half the sum of squares along the last axis.
    f_argnum : int
        The position of the argument of `f` to differentiate with respect to.

    Returns
    -------
    callable
        Takes what `f` takes, and returns `ggnvp`: `ggnvp(v)` is J' H J v, with f's Jacobian J and g's Hessian H.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        As for `minpy.grad`, and for `make_vjp`.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> ggnvp = minpy.make_ggnvp(lambda x: x ** 2)(np.array([1.0, 2.0]))
    >>> ggnvp(np.ones(2))
    array([ 4., 16.])
    """
    loss = _half_of_squares if g is None else g

    def product(call: Call) -> Any:
        f_vjp, result = _vjp_and_result(call)
        g_hvp = make_hvp(loss)(result)[0]
        zeros = map_tree(lambda leaf, _: numpy.zeros_like(leaf), result)
        f_jvp = make_vjp(f_vjp)(zeros)[0]
        return lambda v: f_vjp(g_hvp(f_jvp(v)))

    return of_run(f, f_argnum, "make_ggnvp", product)


def _half_of_squares(values: Any) -> Any:
    return 0.5 * numpy.sum(values**2, axis=-1)


def deriv(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the derivative along a tangent of ones, in forward mode.

    For a function of one number that is its derivative, whatever shape the result has.

    Parameters
    ----------
    fun, argnum
        As for `make_vjp`.

    Returns
    -------
    callable
        Takes what `fun` takes, and returns the tangent of its result.

    Raises
    ------
    DTypeError, ArgumentError
        As for `minpy.grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.deriv(lambda t: np.array([1.0, 2.0]) * t ** 2)(3.0)
    array([ 6., 12.])
    """

    def along_ones(call: Call) -> Any:
        directions = [ones_like(variable) for variable in call.variables]
        call.outputs, pushed = recorded_run.jvp(call.flat, call.variables, range(len(call.variables)), directions)
        return call.like_result(pushed)

    return of_run(fun, argnum, "deriv", along_ones, run=False)


# -- how it is done ----------------------------------------------------------------------------------------------------


def _vjp_and_result(call: Call) -> tuple[Function, Any]:
    def pull(gradient: Any) -> Any:
        return call.gradients(
            matching(f"{call.name}: the gradient", call.lowered(gradient), call.structure, call.outputs)
        )

    return pull, map_tree(_copied, call.result())


def of_run(
    fun: Function, argnum: Argnum, api: str, finish: Callable[..., Any], run: bool = True, given_later: bool = False
) -> Function:
    """Return a function that makes a `Call` of `fun`, and gives it to `finish`.

    `given_later`: it returns a function that makes the call, and gives its own argument to `finish`, too.
    """
    if not callable(fun):
        raise ArgumentError(
            f"{api}: the first argument is the function to differentiate, got {describe(fun)}. Write "
            f"{api}(f)(x), not {api}(f(x))."
        )
    single = not isinstance(argnum, (tuple, list))
    argnums: tuple[Any, ...] = tuple(argnum) if isinstance(argnum, (tuple, list)) else (argnum,)
    if not argnums or not all(isinstance(each, (int, numpy.integer)) and type(each) is not bool for each in argnums):
        raise ArgumentError(f"{api}: argnum is a position (0, 1, ...) or a tuple of positions, got {argnum!r}.")

    def of_run(*arguments: Any, **keywords: Any) -> Any:
        if any(map(is_box, leaves_of((arguments, keywords)))):
            raise ArgumentError(
                f"{api}: an argument is traced by HIPS autograd, which cannot follow the function that {api} returns. "
                f"Call minpy.grad or minpy.jacobian there, or autograd's own {api}."
            )
        arguments = map_tree(_copied, arguments)  # the caller may write to them before what is returned is called
        if not given_later:
            return with_call(finish, api, fun, argnums, single, arguments, keywords, run=run)

        def with_given(given: Any) -> Any:
            return with_call(functools.partial(finish, given), api, fun, argnums, single, arguments, keywords, run=run)

        return with_given

    return renamed(of_run, api, fun)


def _copied(value: Any, _: str = "") -> Any:
    return value.copy() if isinstance(value, numpy.ndarray) else value


def name_of(fun: Function) -> str:
    return getattr(fun, "__name__", type(fun).__name__)


def renamed(derivative: Any, api: str, fun: Function) -> Function:
    functools.update_wrapper(derivative, fun, updated=())
    derivative.__name__ = derivative.__qualname__ = f"{api}_of_{name_of(fun)}"
    derivative.__doc__ = f"Return what minpy.{api} computes of {name_of(fun)}.\n\n{getattr(fun, '__doc__', None) or ''}"
    return derivative
