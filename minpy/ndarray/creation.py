"""Making NDArrays: `array`, `zeros`, `ones`, `full`, `arange`, ... float32 unless a dtype is given."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy

from minpy.context import CPU, Context, current_context, resolve_context
from minpy.core.array import Array, new_array
from minpy.core.errors import ArgumentError, DTypeError, MXNetError, ShapeError, describe
from minpy.ndarray.borrowing import lends
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.placement import place
from minpy.ops import shape as shaping
from minpy.ops.axes import several_axes
from minpy.ops.tensor import indexing, joining, splitting

__all__ = [
    "arange",
    "array",
    "concatenate",
    "empty",
    "eye",
    "from_numpy",
    "full",
    "full_like",
    "histogram",
    "linspace",
    "moveaxis",
    "onehot_encode",
    "ones",
    "split_v2",
    "waitall",
    "zeros",
]


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Return an NDArray with the values of a list, number, NumPy array or NDArray.

    Parameters
    ----------
    source_array : array_like
    ctx : Context, optional
        The device; this thread's default if left out.
    dtype : dtype, optional
        By default the source's if it is an NDArray, else float32.

    Raises
    ------
    ArgumentError
        If the nesting is ragged.
    DTypeError
        If an element is not a number.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.array([1, 2, 3]).dtype
    <class 'numpy.float32'>
    """
    if isinstance(source_array, Array):
        dtype = source_array._data.dtype if dtype is None else dtype
        source_array = source_array._data
    dtype = numpy.float32 if dtype is None else dtype
    data = source_array if lends(source_array, dtype) else numeric_array(source_array, dtype)
    if ctx is None and current_context() is CPU:
        return new_array(NDArray, data)
    return place(NDArray, data, resolve_context(ctx))


def numeric_array(source: Any, dtype: Any) -> numpy.ndarray:
    """Return a fresh NumPy array of a dtype, or raise the error that says which element does not fit."""
    source = _plain(source)
    try:
        dtype = numpy.dtype(dtype)
    except TypeError:
        raise DTypeError(f"nd.array: unknown dtype {dtype!r}; give a numeric dtype such as 'float32'.") from None
    if dtype.kind not in "fciub":
        raise DTypeError(f"nd.array: dtype {dtype} does not hold numbers; give a numeric dtype such as 'float32'.")
    try:
        found = numpy.asarray(source)
        if source is not None and found.dtype.kind not in "fiub" and (found.dtype.kind != "c" or dtype.kind != "c"):
            _refuse_element(found, dtype)
        return numpy.array(found if dtype.kind in "fc" else source, dtype=dtype)
    except (ValueError, TypeError) as error:
        raise error if isinstance(error, MXNetError) else _explain(source, error) from None


def _refuse_element(data: numpy.ndarray, dtype: numpy.dtype) -> None:
    """Raise for the first element that is no number of the dtype."""
    kinds: tuple[type, ...] = (int, float, numpy.number, numpy.bool_, Decimal, Fraction)
    if dtype.kind == "c":
        kinds += (complex,)
    several = [element if isinstance(element, (list, tuple, numpy.ndarray)) else None for element in data.flat]
    lengths = _ragged([*data]) if data.ndim and any(element is not None for element in several) else None
    if lengths is not None:
        raise _ragged_error(lengths)
    for index in numpy.ndindex(data.shape):
        element = data[index]
        if not isinstance(element, kinds) or (isinstance(element, numpy.complexfloating) and dtype.kind != "c"):
            where = f"element [{', '.join(map(str, index))}]" if index else "the value"
            if isinstance(element, (complex, numpy.complexfloating)):
                advice = "Give dtype='complex64', or take numpy.real or numpy.abs of it."
            elif element is None:
                advice = "Leave it out, or write float('nan')."
            else:
                advice = "Convert it to a number first."
            raise DTypeError(f"nd.array: {where} is {_value_text(element)}, which is no {dtype} number. {advice}")


def _value_text(element: Any) -> str:
    """Return the kind and value of an element, for messages."""
    if element is None:
        return "None"
    element = element.item() if isinstance(element, numpy.generic) else element
    return describe(element)


def _plain(source: Any) -> Any:
    if isinstance(source, Array):
        return source._data
    if isinstance(source, (list, tuple)) and any(isinstance(item, (Array, list, tuple)) for item in source):
        return [_plain(item) for item in source]
    return source


def _explain(source: Any, error: Exception) -> Exception:
    lengths = _ragged(source)
    if lengths is not None:
        return _ragged_error(lengths)
    return DTypeError(f"nd.array: cannot make numbers of {describe(source)}: {error}.")


def _ragged_error(lengths: tuple[str, Any, Any, int]) -> ArgumentError:
    where, first, other, position = lengths
    return ArgumentError(
        f"nd.array: the nested lists are ragged: source{where}[0] {first}, source{where}[{position}] {other}. "
        "Make all rows equally long (pad them), or keep a list of arrays."
    )


def _ragged(source: Any, where: str = "") -> tuple[str, Any, Any, int] | None:
    """Return (path, first length, other length, position) of the first place where lengths differ."""
    if not isinstance(source, (list, tuple)):
        return None
    lengths = [
        f"has length {len(item)}" if isinstance(item, (list, tuple)) or numpy.ndim(item) else "is no list"
        for item in source
    ]
    for position, length in enumerate(lengths):
        if length != lengths[0]:
            return where, lengths[0], length, position
    for position, item in enumerate(source):
        found = _ragged(item, f"{where}[{position}]")
        if found is not None:
            return found
    return None


def _shape(shape: Any) -> Any:
    return shape.shape if isinstance(shape, Array) else shape


def empty(shape: int | tuple[int, ...], ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Return an array whose elements are not set.

    Parameters
    ----------
    shape : int or tuple of int
    ctx : Context, optional
        The device; this thread's default if left out.
    dtype : dtype, optional
        float32 if left out.

    Returns
    -------
    NDArray

    Raises
    ------
    ContextError
        For a device that cannot be allocated on.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.empty((2, 3)).shape
    (2, 3)
    """
    return place(NDArray, numpy.empty(_shape(shape), dtype or numpy.float32), resolve_context(ctx))


def zeros(shape: int | tuple[int, ...], ctx: Context | None = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """Return an array of zeros.

    Parameters
    ----------
    shape : int or tuple of int
    ctx : Context, optional
        The device; this thread's default if left out.
    dtype : dtype, optional
        float32 if left out.

    Returns
    -------
    NDArray

    Raises
    ------
    ContextError
        For a device that cannot be allocated on.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.zeros(2).asnumpy()
    array([0., 0.], dtype=float32)
    """
    return place(NDArray, numpy.zeros(_shape(shape), dtype or numpy.float32), resolve_context(ctx))


def ones(shape: int | tuple[int, ...], ctx: Context | None = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """Return an array of ones.

    Parameters
    ----------
    shape : int or tuple of int
    ctx : Context, optional
        The device; this thread's default if left out.
    dtype : dtype, optional
        float32 if left out.

    Returns
    -------
    NDArray

    Raises
    ------
    ContextError
        For a device that cannot be allocated on.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.ones(2, dtype='int32').asnumpy()
    array([1, 1], dtype=int32)
    """
    return place(NDArray, numpy.ones(_shape(shape), dtype or numpy.float32), resolve_context(ctx))


def full(
    shape: int | tuple[int, ...], val: float, ctx: Context | None = None, dtype: Any = None, out: NDArray | None = None
) -> NDArray:
    """Return an array filled with a value; `out` itself, if it is given.

    Parameters
    ----------
    shape : int or tuple of int
    val : float
    ctx : Context, optional
        The device; this thread's default if left out.
    dtype : dtype, optional
        float32 if left out.
    out : NDArray, optional
        Where to write; the other arguments are then not looked at.

    Returns
    -------
    NDArray

    Raises
    ------
    ContextError
        For a device that cannot be allocated on.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.full((1, 2), 7).asnumpy()
    array([[7., 7.]], dtype=float32)
    """
    if out is not None:
        out[:] = val
        return out
    return place(NDArray, numpy.full(_shape(shape), val, dtype or numpy.float32), resolve_context(ctx))


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: Context | None = None,
    dtype: Any = None,
) -> NDArray:
    """Return evenly spaced values in [start, stop), each `repeat` times; one argument is `stop`.

    Parameters
    ----------
    start : float
        The first value; the end if `stop` is left out, and the first is then 0.
    stop : float, optional
        The end, which is not included.
    step : float
    repeat : int
        How many times each value is given.
    infer_range : bool, optional
        Accepted as MXNet does; the range follows from `start` and `stop`.
    ctx : Context, optional
        The device; this thread's default if left out.
    dtype : dtype, optional
        float32 if left out.

    Returns
    -------
    NDArray

    Raises
    ------
    ContextError
        For a device that cannot be allocated on.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.arange(1, 4).asnumpy()
    array([1., 2., 3.], dtype=float32)
    >>> nd.arange(2, repeat=2).asnumpy()
    array([0., 0., 1., 1.], dtype=float32)
    """
    if stop is None:
        start, stop = 0, start
    data = numpy.arange(start, stop, step).astype(dtype or numpy.float32)
    return place(NDArray, numpy.repeat(data, repeat) if repeat != 1 else data, resolve_context(ctx))


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, ctx: Context | None = None, dtype: Any = None
) -> NDArray:
    """Return `num` evenly spaced values from start to stop.

    Parameters
    ----------
    start, stop : float
    num : int
        How many values.
    endpoint : bool
        Whether `stop` is the last of them.
    ctx : Context, optional
        The device; this thread's default if left out.
    dtype : dtype, optional
        float32 if left out.

    Returns
    -------
    NDArray

    Raises
    ------
    ContextError
        For a device that cannot be allocated on.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.linspace(0, 1, 3).asnumpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    return place(
        NDArray,
        numpy.linspace(start, stop, num, endpoint=endpoint).astype(dtype or numpy.float32),
        resolve_context(ctx),
    )


def eye(N: int, M: int = 0, k: int = 0, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Return ones on the k-th diagonal of an N x M matrix (M = 0: square), zeros elsewhere.

    Parameters
    ----------
    N : int
        Number of rows.
    M : int
        Number of columns; 0 for as many as rows.
    k : int
        Which diagonal: 0 is the main one, positive ones lie above it.
    ctx : Context, optional
        The device; this thread's default if left out.
    dtype : dtype, optional
        float32 if left out.

    Returns
    -------
    NDArray

    Raises
    ------
    ContextError
        For a device that cannot be allocated on.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.eye(2, 3, 1).asnumpy()
    array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    return place(NDArray, numpy.eye(N, M or None, k, dtype or numpy.float32), resolve_context(ctx))


def full_like(data: NDArray, fill_value: float, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Return an array of the shape, context and dtype of another (unless given), filled with a value.

    Parameters
    ----------
    data : NDArray
    fill_value : float
    ctx : Context, optional
    dtype : dtype, optional

    Returns
    -------
    NDArray

    Raises
    ------
    ContextError
        For a device that cannot be allocated on.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.full_like(nd.array([1, 2]), 7).asnumpy()
    array([7., 7.], dtype=float32)
    """
    filled = numpy.full(data.shape, fill_value, dtype or data.dtype)
    return place(NDArray, filled, data.context if ctx is None else resolve_context(ctx))


def from_numpy(ndarray: numpy.ndarray, zero_copy: bool = True) -> NDArray:
    """Return an NDArray on a NumPy array's own memory; with `zero_copy=False` on a copy.

    Sharing makes the NumPy array read-only: it is changed through the NDArray from then on.

    Raises
    ------
    ArgumentError
        If memory is to be shared, and the array is not contiguous.

    Examples
    --------
    >>> import numpy
    >>> from minpy import nd
    >>> a = numpy.zeros(2, 'float32')
    >>> x = nd.from_numpy(a)
    >>> x[0] = 5
    >>> a
    array([5., 0.], dtype=float32)
    """
    if not zero_copy:
        return array(ndarray, dtype=ndarray.dtype)
    if not ndarray.flags.c_contiguous:
        raise ArgumentError(
            "from_numpy: the array is not contiguous; pass zero_copy=False, or numpy.ascontiguousarray(a)."
        )
    shared = ndarray.view()
    ndarray.flags.writeable = False
    return place(NDArray, shared, resolve_context(None))


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Return arrays joined along an axis; a single array itself, unless `always_copy`.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.concatenate([nd.array([1]), nd.array([2, 3])]).asnumpy()
    array([1., 2., 3.], dtype=float32)
    """
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return joining.concat(*arrays, dim=axis)


def moveaxis(tensor: NDArray, source: int | Sequence[int], destination: int | Sequence[int]) -> NDArray:
    """Return an array with axes moved to new positions; the others keep their order.

    Raises
    ------
    ShapeError
        If an axis does not exist or is given twice, or the numbers of axes differ.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.moveaxis(nd.zeros((2, 3, 4)), 0, 2).shape
    (3, 4, 2)
    """
    start = several_axes("moveaxis", source, tensor.ndim)
    end = several_axes("moveaxis", destination, tensor.ndim)
    if len(start) != len(end):
        raise ShapeError(f"moveaxis: source {source} and destination {destination} must have the same number of axes.")
    order = [axis for axis in range(tensor.ndim) if axis not in start]
    for position, axis in sorted(zip(end, start, strict=True)):
        order.insert(position, axis)
    return shaping.transpose(tensor, axes=tuple(order))


def split_v2(ary: NDArray, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Any:
    """Return a list of the parts of an array, cut at given positions or into equally long ones; see `split`.

    Examples
    --------
    >>> from minpy import nd
    >>> [part.asnumpy().tolist() for part in nd.split_v2(nd.array([1, 2, 3, 4]), (1, 2))]
    [[1.0], [2.0], [3.0, 4.0]]
    """
    cuts = indices_or_sections
    cuts = cuts if isinstance(cuts, int) else tuple(cuts)
    parts = splitting.split_v2(ary, indices_or_sections=cuts, axis=axis, squeeze_axis=squeeze_axis)
    return list(parts) if isinstance(parts, tuple) else parts


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write the one-hot rows of `indices` into `out`, of shape (number of indices, depth), and return it.

    Parameters
    ----------
    indices : NDArray
        Which column of each row is 1.
    out : NDArray
        Where the rows are written.

    Returns
    -------
    NDArray

    Examples
    --------
    >>> from minpy import nd
    >>> nd.onehot_encode(nd.array([2, 0]), nd.zeros((2, 3))).asnumpy()
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    return indexing.one_hot(indices, depth=out.shape[1], out=out)


def histogram(a: NDArray, bins: Any = 10, range: tuple[float, float] | None = None) -> tuple[NDArray, NDArray]:
    """Return (how many elements lie in each bin, the bins' edges); `bins` is a number, or an NDArray of edges.

    Parameters
    ----------
    a : NDArray
    bins : int or NDArray
    range : tuple of float, optional
        The lower and upper end of all bins; by default the least and the greatest element.

    Returns
    -------
    tuple of NDArray

    Examples
    --------
    >>> from minpy import nd
    >>> counts, edges = nd.histogram(nd.array([1, 2, 2, 5]), bins=2)
    >>> counts.asnumpy(), edges.asnumpy()
    (array([3., 1.], dtype=float32), array([1., 3., 5.], dtype=float32))
    """
    edges = bins._data if isinstance(bins, Array) else bins
    counts, edges = numpy.histogram(a._data, edges, range)
    return a._like(counts.astype(numpy.float32)), a._like(edges.astype(a.dtype))


def waitall() -> None:
    """Return at once: operations have finished when they return."""
