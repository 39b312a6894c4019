"""The operators of networks as functions of `minpy.np.ndarray`s, by the names that `mx.npx` has for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.core.array import Array, raw_of
from minpy.core.errors import ArgumentError, ArgumentValueError
from minpy.numpy.array_class import ndarray
from minpy.numpy.wrapping import wrap_result
from minpy.ops.inference.numpy_reshaping import resolve_numpy_shape
from minpy.ops.registry import OPERATORS

__all__ = ["constraint_check", "function_of", "nonzero", "reshape"]


def function_of(name: str, kind: str, module: str = "minpy.numpy_extension") -> Callable[..., Any]:
    """Return an operator as a function whose results are `minpy.np.ndarray`s."""
    operator = OPERATORS[kind]

    def function(*arguments: Any, **keywords: Any) -> Any:
        if arguments and type(arguments[0]) is ndarray and arguments[0]._data.dtype.kind in "iub":
            arguments = _as_integers(arguments)
        result = wrap_result(operator(*arguments, **keywords))
        return list(result) if type(result) is tuple else result

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = operator.__doc__
    vars(function)["__signature__"] = operator.signature.text
    return function


def _as_integers(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return arguments for which MXNet's operators keep integer dtypes, as they do in graphs."""
    arrays = [argument for argument in arguments if isinstance(argument, Array)]
    if any(type(argument) is not ndarray or argument._data.dtype.kind not in "iub" for argument in arrays):
        return arguments
    return tuple(argument.as_nd_ndarray() if type(argument) is ndarray else argument for argument in arguments)


def nonzero(x: Any) -> Any:
    """Return the positions of what is not 0, one a row; `np.nonzero` returns them one a column, apart.

    Parameters
    ----------
    x : ndarray

    Returns
    -------
    ndarray of int64
        Of shape (how many, `x.ndim`).

    Examples
    --------
    >>> from minpy import np, npx
    >>> npx.nonzero(np.array([[0, 1], [2, 0]]))
    array([[0, 1],
           [1, 0]])
    """
    return wrap_result(numpy.argwhere(raw_of(x)))


def reshape(
    a: Any, newshape: Any, reverse: bool = False, order: str = "C", out: Any = None, name: str | None = None
) -> Any:
    """Return an array in another shape, which codes may stand for.

    Parameters
    ----------
    a : ndarray
    newshape : int or tuple of int
        Lengths; and -1 for one that is inferred, -2 to copy an axis, -3 to drop an axis of length 1, -4 to copy all
        axes that are left, -5 to merge two axes, -6 to split one into the two lengths that follow, of which one may
        be -1.
    reverse : bool
        Match codes with axes from the right.
    order : {'C'}
        The only order that codes are read in.
    out : ndarray, optional
        Where to write the result.
    name : str, optional
        Accepted and not used.

    Returns
    -------
    ndarray
        It may share memory with `a`, as `np.reshape`'s.

    Raises
    ------
    ShapeError
        If the codes do not fit the shape, or the number of elements would change.
    ArgumentError
        For another order.

    Examples
    --------
    >>> from minpy import np, npx
    >>> npx.reshape(np.ones((2, 3, 8)), (-2, -1)).shape
    (2, 24)
    >>> npx.reshape(np.ones((8, 3)), (-6, 2, -1, -4)).shape
    (2, 4, 3)
    """
    if order != "C":
        raise ArgumentError(f"npx.reshape: order is {order!r}; expected 'C'. np.reshape knows others, and no codes.")
    result = wrap_result(numpy.reshape(a, resolve_numpy_shape(numpy.shape(a), newshape, reverse)))
    if out is None:
        return result
    out[...] = result
    return out


def constraint_check(x: Any, msg: str = "Constraint violated.") -> Any:
    """Return True as an array if all elements are true; else raise the message.

    Parameters
    ----------
    x : ndarray
        Conditions.
    msg : str

    Returns
    -------
    ndarray
        Of no axes.

    Raises
    ------
    ArgumentValueError
        With the message, if an element is not true.

    Examples
    --------
    >>> from minpy import np, npx
    >>> npx.constraint_check(np.array([1.0, 2.0]) > 0, 'not positive')
    array(True)
    """
    values = numpy.asarray(raw_of(x))
    if not values.all():
        wrong = int(values.size - numpy.count_nonzero(values))
        raise ArgumentValueError(f"{msg} (npx.constraint_check: {wrong} of {values.size} elements are not true.)")
    return wrap_result(numpy.asarray(True))
