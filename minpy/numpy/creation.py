"""Arrays made from Python numbers: float32 unless a dtype is given, or the source has one."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.context import Context, resolve_context
from minpy.core.array import Array, raw_of
from minpy.core.docstrings import documented
from minpy.core.followed import holds_followed, is_followed
from minpy.core.numpy_semantics import default_float
from minpy.ndarray.conversion import numeric_array
from minpy.ndarray.placement import place
from minpy.numpy.array_class import ndarray
from minpy.ops.numpy.nested_lists import assembled, between, filled_with, spaced_by

__all__ = [
    "arange",
    "array",
    "asanyarray",
    "asarray",
    "bartlett",
    "blackman",
    "empty",
    "eye",
    "full",
    "geomspace",
    "hamming",
    "hanning",
    "identity",
    "indices",
    "linspace",
    "logspace",
    "ones",
    "zeros",
]
_SHAPED = """
    shape : int or tuple of int
    dtype : dtype, optional
        float32 if left out, or float64 after `set_np(dtype=True)`.
    order : {'C', 'F'}
        Accepted as NumPy does.
    """
_DTYPE = """
    dtype : dtype, optional
        float32 if left out, or float64 after `set_np(dtype=True)`.
    """
_PLACED = """
    ctx : Context, optional
        The device; this thread's default if left out.

    Returns
    -------
    ndarray

    Raises
    ------
    ContextError
        For a device that cannot be allocated on.

    Examples
    --------
    >>> import minpy.numpy as np
    """


def _placed(data: numpy.ndarray, context: Context | None) -> Any:
    return place(ndarray, data, resolve_context(context))


def _followed(result: Any, context: Context | None) -> Any:
    """Return what was made of recorded or traced values as an array of NumPy's semantics, on a device."""
    if not isinstance(result, Array):
        return result.as_np_ndarray() if hasattr(result, "as_np_ndarray") else result
    return result.as_np_ndarray().as_in_context(resolve_context(context))


def array(object: Any, dtype: Any = None, ctx: Context | None = None) -> Any:
    """Return an array with the values of a list, number or array.

    Parameters
    ----------
    object : array_like
    dtype : dtype, optional
        By default the source's if it is an array, else float32.
    ctx : Context, optional
        The device; this thread's default if left out.

    Raises
    ------
    ArgumentError
        If the nesting is ragged.
    DTypeError
        If an element is not a number.

    Examples
    --------
    >>> import minpy.numpy as np
    >>> np.array([1, 2, 3])
    array([1., 2., 3.], dtype=float32)
    """
    followed = is_followed(object)
    if dtype is None:
        has_dtype = isinstance(object, (Array, numpy.ndarray, numpy.generic)) or (followed and hasattr(object, "dtype"))
        dtype = object.dtype if has_dtype else default_float()
    if followed:
        return _followed(assembled("np.array", object, dtype), ctx)
    return _placed(numeric_array(object, dtype, wraps=False), ctx)


def asarray(object: Any, dtype: Any = None, ctx: Context | None = None) -> Any:
    """Return an array: the given one if it is one of the right dtype, else as `array` does.

    Parameters
    ----------
    object : array_like
    dtype : dtype, optional
    ctx : Context, optional

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import minpy.numpy as np
    >>> x = np.array([1.0])
    >>> np.asarray(x) is x
    True
    """
    if isinstance(object, ndarray) and (dtype is None or dtype == object.dtype):
        return object
    if dtype is None and hasattr(object, "dtype") and not isinstance(object, Array) and is_followed(object):
        return _followed(object, ctx)
    return array(object, dtype, ctx)


asanyarray = asarray


@documented(shaped=_SHAPED, placed=_PLACED)
def zeros(shape: Any, dtype: Any = None, order: Any = "C", ctx: Context | None = None) -> Any:
    """Return an array of zeros.

    Parameters
    ----------
    {shaped}
    {placed}
    >>> np.zeros(2)
    array([0., 0.], dtype=float32)
    """
    return _placed(numpy.zeros(shape, default_float() if dtype is None else dtype, order), ctx)


@documented(shaped=_SHAPED, placed=_PLACED)
def ones(shape: Any, dtype: Any = None, order: Any = "C", ctx: Context | None = None) -> Any:
    """Return an array of ones.

    Parameters
    ----------
    {shaped}
    {placed}
    >>> np.ones(2)
    array([1., 1.], dtype=float32)
    """
    return _placed(numpy.ones(shape, default_float() if dtype is None else dtype, order), ctx)


@documented(shaped=_SHAPED, placed=_PLACED)
def empty(shape: Any, dtype: Any = None, order: Any = "C", ctx: Context | None = None) -> Any:
    """Return an array whose elements are not set.

    Parameters
    ----------
    {shaped}
    {placed}
    >>> np.empty((2, 3)).shape
    (2, 3)
    """
    return _placed(numpy.empty(shape, default_float() if dtype is None else dtype, order), ctx)


@documented(placed=_PLACED)
def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", ctx: Context | None = None) -> Any:
    """Return an array filled with a value.

    Parameters
    ----------
    shape : int or tuple of int
    fill_value : number or array
    dtype : dtype, optional
        By default the value's if it is an array, bool for a bool, else float32.
    order : {'C', 'F'}
    {placed}
    >>> np.full(2, 7)
    array([7., 7.], dtype=float32)
    """
    if type(fill_value) is float:  # the common case
        return _placed(numpy.full(shape, fill_value, default_float() if dtype is None else dtype, order), ctx)
    value = fill_value._data if isinstance(fill_value, Array) else fill_value
    if dtype is None:
        dtype = getattr(value, "dtype", bool if isinstance(value, bool) else default_float())
    if is_followed(fill_value):
        return _followed(filled_with("np.full", fill_value, shape, dtype), ctx)
    return _placed(numpy.full(shape, value, dtype, order), ctx)


@documented(dtype=_DTYPE, placed=_PLACED)
def arange(
    start: float, stop: float | None = None, step: float = 1, dtype: Any = None, ctx: Context | None = None
) -> Any:
    """Return evenly spaced values in [start, stop); one argument is `stop`.

    Parameters
    ----------
    start : float
        The first value; the end if `stop` is left out, and the first is then 0.
    stop : float, optional
        The end, which is not included.
    step : float
    {dtype}
    {placed}
    >>> np.arange(1, 4)
    array([1., 2., 3.], dtype=float32)
    """
    if stop is None:
        start, stop = 0, start
    if holds_followed((start, stop, step)):
        return _followed(spaced_by(start, stop, step, default_float() if dtype is None else dtype), ctx)
    return _placed(
        numpy.arange(*map(raw_of, (start, stop, step))).astype(default_float() if dtype is None else dtype), ctx
    )


@documented(dtype=_DTYPE)
def linspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    ctx: Context | None = None,
) -> Any:
    """Return `num` evenly spaced values from start to stop; with `retstep` their distance too.

    Parameters
    ----------
    start, stop : float
    num : int
    endpoint : bool
        Whether `stop` is the last value.
    retstep : bool
        Whether to return the distance between the values too.
    {dtype}
    axis : int
        The axis of the values, where the ends are arrays.
    ctx : Context, optional
        The device; this thread's default if left out.

    Returns
    -------
    ndarray, or tuple of ndarray and float

    Raises
    ------
    ContextError
        For a device that cannot be allocated on.

    Examples
    --------
    >>> import minpy.numpy as np
    >>> np.linspace(0, 1, 3)
    array([0. , 0.5, 1. ], dtype=float32)
    """
    if holds_followed((start, stop)):
        points, distance = between(start, stop, num, endpoint, axis)
        result = _followed(points.astype(default_float() if dtype is None else dtype), ctx)
        return (result, distance) if retstep else result
    values, step = numpy.linspace(raw_of(start), raw_of(stop), num, endpoint, retstep=True, axis=axis)
    result = _placed(values.astype(default_float() if dtype is None else dtype), ctx)
    return (result, step) if retstep else result


@documented(dtype=_DTYPE)
def logspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return `num` values from base**start to base**stop, in equal ratios.

    Parameters
    ----------
    start, stop : float
        Exponents of the first and last value.
    num : int
    endpoint : bool
        Whether the last value is included.
    base : float
    {dtype}
    axis : int

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import minpy.numpy as np
    >>> np.logspace(0, 2, 3)
    array([  1.,  10., 100.], dtype=float32)
    """
    if holds_followed((start, stop, base)):
        exponents, _ = between(start, stop, num, endpoint, axis)
        return _followed(numpy.power(base, exponents).astype(default_float() if dtype is None else dtype), None)
    values = numpy.logspace(raw_of(start), raw_of(stop), num, endpoint, raw_of(base), axis=axis)
    return _placed(values.astype(default_float() if dtype is None else dtype), None)


@documented(dtype=_DTYPE)
def geomspace(start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """Return `num` values from start to stop, in equal ratios.

    Parameters
    ----------
    start, stop : float
    num : int
    endpoint : bool
        Whether `stop` is the last value.
    {dtype}
    axis : int

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import minpy.numpy as np
    >>> np.geomspace(1, 4, 3)
    array([1., 2., 4.], dtype=float32)
    """
    if holds_followed((start, stop)):
        exponents, _ = between(numpy.log(start), numpy.log(stop), num, endpoint, axis)
        return _followed(numpy.exp(exponents).astype(default_float() if dtype is None else dtype), None)
    values = numpy.geomspace(raw_of(start), raw_of(stop), num, endpoint, axis=axis)
    return _placed(values.astype(default_float() if dtype is None else dtype), None)


@documented(dtype=_DTYPE, placed=_PLACED)
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, ctx: Context | None = None) -> Any:
    """Return ones on the k-th diagonal of an N x M matrix, zeros elsewhere.

    Parameters
    ----------
    N : int
        Number of rows.
    M : int, optional
        Number of columns; as many as rows by default.
    k : int
        Which diagonal: 0 is the main one, positive ones lie above it.
    {dtype}
    {placed}
    >>> np.eye(2)
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return _placed(numpy.eye(N, M, k, default_float() if dtype is None else dtype), ctx)


@documented(dtype=_DTYPE, placed=_PLACED)
def identity(n: int, dtype: Any = None, ctx: Context | None = None) -> Any:
    """Return the identity matrix of n rows.

    Parameters
    ----------
    n : int
    {dtype}
    {placed}
    >>> np.identity(2).sum()
    array(2., dtype=float32)
    """
    return eye(n, dtype=dtype, ctx=ctx)


def indices(dimensions: Any, dtype: Any = numpy.int32, ctx: Context | None = None) -> Any:
    """Return the indices of the elements of a grid, one array for each axis.

    Parameters
    ----------
    dimensions : sequence of int
        The lengths of the grid.
    dtype : dtype
        int32 by default, as in MXNet.
    ctx : Context, optional
        The device; this thread's default if left out.

    Returns
    -------
    ndarray
        Of shape (number of axes, *dimensions).

    Examples
    --------
    >>> import minpy.numpy as np
    >>> np.indices((1, 2))
    array([[[0, 0]],
    <BLANKLINE>
           [[0, 1]]], dtype=int32)
    """
    return _placed(numpy.indices(tuple(dimensions), dtype), ctx)


def _window(name: str, formula: str) -> Any:
    numpy_window = vars(numpy)[name]

    def window(M: int, dtype: Any = None, ctx: Context | None = None) -> Any:
        return _placed(numpy_window(M).astype(default_float() if dtype is None else dtype), ctx)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"""Return the {name.capitalize()} window of M points: {formula}.

    Parameters
    ----------
    M : int
        How many points.
    dtype : dtype, optional
        float32 if left out, or float64 after `set_np(dtype=True)`.
    ctx : Context, optional
        The device; this thread's default if left out.

    Returns
    -------
    ndarray
        Of shape (M,).

    Examples
    --------
    >>> import minpy.numpy as np
    >>> float(np.{name}(5)[2])
    1.0
    """
    return window


bartlett = _window("bartlett", "a triangle that ends in zeros")
blackman = _window("blackman", "0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1))")
hamming = _window("hamming", "0.54 - 0.46 cos(2 pi n / (M - 1))")
hanning = _window("hanning", "0.5 - 0.5 cos(2 pi n / (M - 1))")
