"""NumPy's functions with further arguments, that MXNet's have; and those that NumPy does not let arrays answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy

from minpy.bridge.sequence_arguments import as_array
from minpy.context import Context, resolve_context
from minpy.core.array import Array, raw_of
from minpy.core.errors import ArgumentError
from minpy.core.followed import is_followed
from minpy.numpy.creation import array, asarray, full
from minpy.numpy.wrapping import wrap_function

__all__ = [
    "asarray_chkfinite",
    "ascontiguousarray",
    "asfortranarray",
    "fromiter",
    "full_like",
    "ones_like",
    "percentile",
    "quantile",
    "require",
    "take",
    "zeros_like",
]

_full_like = wrap_function(numpy.full_like, "full_like")
_percentile = wrap_function(numpy.percentile, "percentile")
_quantile = wrap_function(numpy.quantile, "quantile")
_take = wrap_function(numpy.take, "take")


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    ctx: Context | None = None,
    out: Any = None,
    **keywords: Any,
) -> Any:
    """Return an array of the shape and dtype of another, filled with a value.

    Parameters
    ----------
    a : array_like
    fill_value : number or array
        An array is broadcast.
    dtype : dtype, optional
        That of `a` by default.
    order : {'C', 'F', 'A', 'K'}
        As NumPy has it.
    ctx : Context, optional
        The device; that of `a` by default.
    out : ndarray, optional
        Where to write; returned.
    **keywords
        `shape` and `subok`, as NumPy has them.

    Returns
    -------
    ndarray

    Raises
    ------
    ContextError
        For a device that cannot be allocated on.

    Examples
    --------
    >>> from minpy import np
    >>> np.full_like(np.array([1, 2]), 7)
    array([7., 7.], dtype=float32)
    """
    if is_followed(fill_value):
        shape = keywords.get("shape")
        if dtype is None:
            dtype = a.dtype if hasattr(a, "dtype") else numpy.asarray(a).dtype
        result = full(numpy.shape(a) if shape is None else shape, fill_value, dtype)
    else:
        result = _full_like(a, fill_value, dtype, order, **keywords)
    if ctx is not None:
        result = result.as_in_context(resolve_context(ctx))
    if out is None:
        return result
    out[...] = result
    return out


def zeros_like(
    a: Any, dtype: Any = None, order: str = "K", ctx: Context | None = None, out: Any = None, **keywords: Any
) -> Any:
    """Return zeros in the shape and dtype of another array; the arguments are those of `full_like`.

    Examples
    --------
    >>> from minpy import np
    >>> np.zeros_like(np.array([1, 2]))
    array([0., 0.], dtype=float32)
    """
    return full_like(a, 0, dtype, order, ctx, out, **keywords)


def ones_like(
    a: Any, dtype: Any = None, order: str = "K", ctx: Context | None = None, out: Any = None, **keywords: Any
) -> Any:
    """Return ones in the shape and dtype of another array; the arguments are those of `full_like`.

    Examples
    --------
    >>> from minpy import np
    >>> np.ones_like(np.array([1, 2]))
    array([1., 1.], dtype=float32)
    """
    return full_like(a, 1, dtype, order, ctx, out, **keywords)


def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise", out: Any = None) -> Any:
    """Return elements of an array at indices along an axis; indices in floating point stand for whole numbers.

    Parameters
    ----------
    a : array_like
    indices : array_like
        Fractions are cut off, as MXNet does.
    axis : int, optional
        By default `a` is flattened.
    mode : {'raise', 'clip', 'wrap'}
        What indices out of range are: an error, the nearest one, or counted from the other end.
    out : ndarray, optional
        Where to write.

    Returns
    -------
    ndarray

    Raises
    ------
    IndexError
        For an index out of range, with mode='raise'.

    Examples
    --------
    >>> from minpy import np
    >>> np.take(np.array([4, 3, 5]), np.array([0, 2]))
    array([4., 5.], dtype=float32)
    """
    if numpy.dtype(getattr(indices, "dtype", "int64")).kind == "f":
        indices = indices.astype("int64")
    keywords = {} if mode == "raise" else {"mode": mode}
    return _take(a, indices, axis, **keywords) if out is None else _take(a, indices, axis, out=out, **keywords)


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = None,
    interpolation: str | None = None,
    keepdims: bool = False,
    *,
    method: str = "linear",
    **keywords: Any,
) -> Any:
    """Return percentiles along axes, of all elements by default.

    Parameters
    ----------
    a : array_like
    q : number or array_like
        Between 0 and 100.
    axis : int or tuple of int, optional
    out : ndarray, optional
        Where to write.
    overwrite_input : bool, optional
        Accepted and not used.
    interpolation, method : str
        What lies between two elements, by MXNet's name and by NumPy's: 'linear', 'lower', 'higher', 'midpoint',
        'nearest'; and NumPy's others.
    keepdims : bool
        Whether the axes stay, with length 1.
    **keywords
        NumPy's others.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from minpy import np
    >>> np.percentile(np.array([1, 2, 4]), 75, interpolation='lower')
    array(2., dtype=float32)
    """
    return _at_quantiles(_percentile, a, q, axis, out, interpolation or method, keepdims, keywords)


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = None,
    interpolation: str | None = None,
    keepdims: bool = False,
    *,
    method: str = "linear",
    **keywords: Any,
) -> Any:
    """Return quantiles, which are percentiles with `q` between 0 and 1; the arguments are those of `percentile`.

    Examples
    --------
    >>> from minpy import np
    >>> np.quantile(np.array([1, 2, 4]), 0.75, interpolation='lower')
    array(2., dtype=float32)
    """
    return _at_quantiles(_quantile, a, q, axis, out, interpolation or method, keepdims, keywords)


def _at_quantiles(
    function: Any, a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool, keywords: dict[str, Any]
) -> Any:
    if axis is not None:
        keywords["axis"] = axis
    if out is not None:
        keywords["out"] = out
    if method != "linear":
        keywords["method"] = method
    if keepdims:
        keywords["keepdims"] = keepdims
    return function(a, q, **keywords)


# -- what makes an array of one ----------------------------------------------------------------------------------------

_ascontiguousarray = wrap_function(numpy.ascontiguousarray, "ascontiguousarray")
_asfortranarray = wrap_function(numpy.asfortranarray, "asfortranarray")
_asarray_chkfinite = wrap_function(numpy.asarray_chkfinite, "asarray_chkfinite")
_require = wrap_function(numpy.require, "require")
_fromiter = wrap_function(numpy.fromiter, "fromiter")


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """Return an array in row-major order, with one axis at least; recorded.

    Examples
    --------
    >>> from minpy import np
    >>> np.ascontiguousarray(np.ones((2, 3)).T).shape
    (3, 2)
    """
    if not is_followed(a):
        return _ascontiguousarray(a, dtype)
    result = array(a, dtype)
    return result if result.ndim else result.reshape(1)


def asfortranarray(a: Any, dtype: Any = None) -> Any:
    """Return an array in column-major order; recorded.

    Examples
    --------
    >>> from minpy import np
    >>> np.asfortranarray(np.ones((2, 3))).shape
    (2, 3)
    """
    if not is_followed(a):
        return _asfortranarray(a, dtype)
    return numpy.transpose(array(numpy.transpose(asarray(a, dtype))))


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """Return an array, if all of its elements are finite; recorded.

    Raises
    ------
    ValueError
        If one is not.

    Examples
    --------
    >>> from minpy import np
    >>> np.asarray_chkfinite([1, 2]).shape
    (2,)
    """
    if not is_followed(a):
        return _asarray_chkfinite(a, dtype, order)
    result = asarray(a, dtype)
    if not isinstance(result, Array):
        raise ArgumentError("np.asarray_chkfinite looks at values, which there are none of while they are traced.")
    if not numpy.isfinite(raw_of(result)).all():
        raise ValueError("array must not contain infs or NaNs")
    return result


def require(a: Any, dtype: Any = None, requirements: Any = None, **keywords: Any) -> Any:
    """Return an array that has the properties asked for; recorded.

    Examples
    --------
    >>> from minpy import np
    >>> np.require([1, 2], 'float32', ['C']).shape
    (2,)
    """
    if not is_followed(a):
        return _require(a, dtype, requirements, **keywords)
    flags = {requirements} if isinstance(requirements, str) else {*map(str, requirements or ())}
    if not flags.isdisjoint(("F", "F_CONTIGUOUS", "FORTRAN")):
        return asfortranarray(a, dtype)
    return array(a, dtype)


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, **keywords: Any) -> Any:
    """Return a vector of numbers that are taken from something that is iterated over; recorded.

    Examples
    --------
    >>> from minpy import np
    >>> np.fromiter((n * n for n in range(3)), 'float32')
    array([0., 1., 4.], dtype=float32)
    """
    items = list(iter if count < 0 else itertools.islice(iter, count))
    return as_array("np.fromiter", items).astype(dtype) if is_followed(items) else _fromiter(items, dtype, count)
