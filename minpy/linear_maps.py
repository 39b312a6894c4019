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
        By `vjp`, if its argument is not like the result, in structure or shape.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> vjp, result = minpy.make_vjp(np.sin)(np.zeros(2))
    >>> vjp(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return of_run(fun, argnum, "make_vjp", functools.partial(_vjp_and_result, "the gradient"))


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

    def result_and_tangent(tangent: Any, call: Call) -> Any:
        arguments = [call.arguments[argnum] for argnum in call.argnums]
        like = arguments[0] if call.single else tuple(arguments)
        directions = matching("make_jvp: the tangent", call.lowered(tangent), like, call.variables)
        return _pushed(call, directions)[::-1]

    return of_run(fun, argnum, "make_jvp", result_and_tangent, run=False, awaits_argument=True)


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

    return of_run(fun, argnum, "make_jvp_reversemode", lambda call: _vjp_jvp_and_result(call, "the tangent")[1])


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
    _require_function("make_hvp", fun)
    finish = functools.partial(_vjp_and_result, "the vector")  # a Hessian is its own transpose
    return renamed(of_run(grad(fun, argnum), argnum, "make_hvp", finish), "make_hvp", fun)


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
        f_vjp, f_jvp, result = _vjp_jvp_and_result(call, "the vector")
        g_hvp, _ = make_hvp(loss)(result)
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
        return _pushed(call, [ones_like(variable) for variable in call.variables])[0]

    return of_run(fun, argnum, "deriv", along_ones, run=False)


# -- how it is done ----------------------------------------------------------------------------------------------------


def _vjp_and_result(role: str, call: Call) -> tuple[Function, Any]:
    """Return a call's vjp and its result; `role`: what errors call the argument of the vjp."""

    def vjp(gradient: Any) -> Any:
        return call.gradients(matching(f"{call.name}: {role}", call.lowered(gradient), call.structure, call.outputs))

    return vjp, map_tree(_copied, call.result())


def _vjp_jvp_and_result(call: Call, role: str) -> tuple[Function, Function, Any]:
    """Return a call's vjp, its jvp, and its result; `role`: what errors call the argument of the jvp.

    The vjp is linear, so its own vjp is the same map wherever it is taken: the jvp.
    """
    vjp, result = _vjp_and_result("the gradient", call)
    anywhere = map_tree(lambda leaf, _: numpy.zeros_like(leaf), result)
    jvp, _ = of_run(vjp, 0, call.name, functools.partial(_vjp_and_result, role))(anywhere)
    return vjp, jvp, result


def _pushed(call: Call, directions: Sequence[Any]) -> tuple[Any, Any]:
    """Run a call's function with tangents of its variables; return (the tangent of the result, the result)."""
    call.outputs, tangents = recorded_run.jvp(call.flat, call.variables, range(len(call.variables)), directions)
    return call.like_result(tangents), call.result()


def of_run(
    fun: Function,
    argnum: Argnum,
    api: str,
    finish: Callable[..., Any],
    run: bool = True,
    awaits_argument: bool = False,
) -> Function:
    """Return a function that makes a `Call` of `fun`, and returns what `finish` makes of it.

    Parameters
    ----------
    fun : callable
        The function to differentiate.
    argnum : int or sequence of int
        The positions of the arguments to differentiate with respect to.
    api : str
        The public function that this is done for, as errors name it.
    finish : callable
        Takes the call.
    run : bool
        Whether `fun` has been run when `finish` is called.
    awaits_argument : bool
        Whether the function that is returned returns a function of one argument, which `finish` takes before the call.

    Raises
    ------
    ArgumentError
        If `fun` is no function, or `argnum` no position, or a sequence of them.

    Examples
    --------
    >>> of_run(numpy.square, 0, 'api', lambda call: call.result())(numpy.array([2.0, 3.0]))
    array([4., 9.])
    """
    _require_function(api, fun)
    is_single = not isinstance(argnum, (tuple, list))
    argnums: tuple[Any, ...] = tuple(argnum) if isinstance(argnum, (tuple, list)) else (argnum,)
    if not argnums or not all(map(_is_position, argnums)):
        raise ArgumentError(f"{api}: argnum is a position (0, 1, ...) or a tuple of positions, got {argnum!r}.")

    def at_point(*arguments: Any, **keywords: Any) -> Any:
        if any(map(is_box, leaves_of((arguments, keywords)))):
            raise ArgumentError(
                f"{api}: an argument is traced by HIPS autograd, which cannot follow the function that {api} returns. "
                f"Call minpy.grad or minpy.jacobian there, or autograd's own {api}."
            )
        arguments = map_tree(_copied, arguments)  # the caller may write to them before what is returned is called
        if not awaits_argument:
            return with_call(finish, api, fun, argnums, is_single, arguments, keywords, run=run)

        def of_argument(argument: Any) -> Any:
            finish_with = functools.partial(finish, argument)
            return with_call(finish_with, api, fun, argnums, is_single, arguments, keywords, run=run)

        return of_argument

    return renamed(at_point, api, fun)


def _require_function(api: str, fun: Any) -> None:
    if not callable(fun):
        raise ArgumentError(
            f"{api}: the first argument is the function to differentiate, got {describe(fun)}. Write "
            f"{api}(f)(x), not {api}(f(x))."
        )


def _is_position(argnum: Any) -> bool:
    return isinstance(argnum, (int, numpy.integer)) and type(argnum) is not bool


def _copied(value: Any, _: str = "") -> Any:
    return value.copy() if isinstance(value, numpy.ndarray) else value


def name_of(fun: Function) -> str:
    """Return what messages call a function."""
    return getattr(fun, "__name__", type(fun).__name__)


def renamed(derivative: Any, api: str, fun: Function) -> Function:
    """Return a derivative of a function with the name and docstring that say so."""
    functools.update_wrapper(derivative, fun, updated=())
    derivative.__name__ = derivative.__qualname__ = f"{api}_of_{name_of(fun)}"
    derivative.__doc__ = f"Return what minpy.{api} computes of {name_of(fun)}.\n\n{getattr(fun, '__doc__', None) or ''}"
    return derivative
