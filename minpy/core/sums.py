"""Sums that do not lose digits, along whatever axes: NumPy adds pairwise only along the axis that is last in memory.

Along the others it adds one row after the other, and after 200,000 rows in float32 five digits are gone. Here the rows
are added a block at a time, and then the blocks' sums; the blocks are chosen so that this is no slower. Sums over few
rows, which are most, are NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

__all__ = ["mean_over", "sum_over", "sum_to"]

numpy_array = numpy.ndarray
_add: Any = numpy.add.reduce

# Sums of so few elements are NumPy's.
_FEW = 256
# How many rows are added one after the other, where there are more.
_ROWS = 128
# Bytes of rows that are joined to a longer one: enough to make the inner loop long, and no more than a page.
_WIDTH = 4096


def sum_over(data: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    """Return the sum over axes (None: all), in the dtype of the data: float16 is added up in float32, and rounded once.

    Anything but a raw array is passed to `numpy.sum`.

    Examples
    --------
    >>> rows = numpy.full((200_000, 3), 0.1, 'float32')
    >>> sum_over(rows, axis=0).round(1)
    array([20000., 20000., 20000.], dtype=float32)
    """
    if type(data) is not numpy_array:
        return numpy.sum(data, axis=axis, keepdims=keepdims)
    if _is_pairwise(data, axis):
        return _add(data, axis, None, None, keepdims)
    total = _wide_sum(data, axis, keepdims)
    return total if total.dtype is data.dtype else total.astype(data.dtype)


def mean_over(data: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    """Return the mean over axes of floating-point numbers, in their dtype; arguments are those of `sum_over`.

    Examples
    --------
    >>> mean_over(numpy.full((70_000, 2), 1.5, 'float16'), axis=0)  # the sum is more than float16 holds
    array([1.5, 1.5], dtype=float16)
    """
    if type(data) is not numpy_array:
        return numpy.mean(data, axis=axis, keepdims=keepdims)
    total = _add(data, axis, None, None, keepdims) if _is_pairwise(data, axis) else _wide_sum(data, axis, keepdims)
    mean = total / total.dtype.type(data.size // max(total.size, 1))
    return mean if mean.dtype is data.dtype else mean.astype(data.dtype)


def _is_pairwise(data: numpy.ndarray, axis: Any) -> bool:
    """Tell whether NumPy's sum keeps its digits: of few elements, or along what is last in memory."""
    if data.dtype.char not in "fd":
        return False
    return data.size <= _FEW or ((axis is None or axis == -1 or axis == data.ndim - 1) and data.flags.c_contiguous)


def _wide_sum(data: numpy.ndarray, axis: Any, keepdims: bool) -> Any:
    """Return the sum, of float16 in float32."""
    shape, dtype = data.shape, data.dtype
    if dtype.kind not in "fc":
        return _add(data, axis=axis, dtype=dtype, keepdims=keepdims)
    wide = numpy.float32 if dtype.itemsize == 2 else None
    if type(axis) is tuple and len(axis) == 1:
        axis = axis[0]
    if type(axis) is int:
        count = shape[axis] if -len(shape) <= axis < len(shape) else 0  # NumPy says what is wrong with the axis
    else:
        count = data.size
    if count <= _FEW:
        return _add(data, axis=axis, dtype=wide, keepdims=keepdims)
    return _blocked(data, axis, keepdims, wide)


def sum_to(data: Any, shape: tuple[int, ...]) -> Any:
    """Return an array summed over the axes along which one of this shape was broadcast to its shape.

    Examples
    --------
    >>> sum_to(numpy.ones((4, 2, 3)), (2, 1))
    array([[12.],
           [12.]])
    """
    lead = data.ndim - len(shape)
    axes = tuple(axis for axis in range(data.ndim) if axis < lead or shape[axis - lead] == 1 != data.shape[axis])
    return sum_over(data, axes).reshape(shape)


def _blocked(data: numpy.ndarray, axis: Any, keepdims: bool, dtype: Any) -> Any:
    shape, strides = data.shape, data.strides
    ndim = len(shape)
    summed_axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    reduced = {position % ndim if -ndim <= position < ndim else ndim for position in summed_axes}
    if ndim in reduced or len(reduced) < len(summed_axes) or 0 in shape:
        return _add(data, axis=axis, dtype=dtype, keepdims=keepdims)
    if min(strides) < 0:  # backwards: the sum is the same
        backwards = {position for position in reduced if strides[position] < 0}
        data = data[tuple(slice(None, None, -1 if position in backwards else 1) for position in range(ndim))]
        strides = data.strides
    order: Sequence[int] = range(ndim)
    if not data.flags.c_contiguous:
        order = sorted(order, key=lambda position: abs(strides[position]), reverse=True)
    lengths: list[int] = []  # in the order of memory, with nested axes as one
    is_reduced: list[bool] = []
    step = 0
    for position in order:
        if shape[position] == 1:
            continue
        if lengths and is_reduced[-1] == (position in reduced) and step == strides[position] * shape[position]:
            lengths[-1] *= shape[position]
        else:
            lengths.append(shape[position])
            is_reduced.append(position in reduced)
        step = strides[position]
    total = _sum(data.transpose(order).reshape(lengths), is_reduced, dtype)
    if keepdims:
        result_shape = [1 if position in reduced else length for position, length in enumerate(shape)]
    else:
        result_shape = [length for position, length in enumerate(shape) if position not in reduced]
    if type(order) is range:
        return total.reshape(result_shape)
    axes = [position for position in order if position not in reduced]
    return total.reshape([shape[position] for position in axes]).transpose(numpy.argsort(axes)).reshape(result_shape)


def _sum(data: numpy.ndarray, is_reduced: Sequence[bool], dtype: Any) -> Any:
    """Return the sum over some axes of an array whose axes are in the order of memory."""
    axes = tuple(axis for axis, reduced in enumerate(is_reduced) if reduced)
    if not axes or (len(axes) == 1 and is_reduced[-1]) or math.prod([data.shape[axis] for axis in axes]) <= _FEW:
        return _add(data, axis=axes, dtype=dtype)
    if is_reduced[-1]:  # pairwise, by NumPy
        return _sum(_add(data, axis=-1, dtype=dtype), is_reduced[:-1], None)
    return _sum(_sum_rows(data, axes[-1], dtype), [*is_reduced[: axes[-1]], *is_reduced[axes[-1] + 1 :]], None)


def _sum_rows(data: numpy.ndarray, axis: int, dtype: Any) -> Any:
    """Return the sum over one axis that is not the last."""
    shape = data.shape
    count = shape[axis]
    if count <= _FEW:
        return _add(data, axis=axis, dtype=dtype)
    before, after = shape[:axis], shape[axis + 1 :]
    joined, width = 1, math.prod(after)
    if data.strides[axis] == width * data.itemsize and len(after) == 1:
        joined = max(1, min(_WIDTH // data.strides[axis], count // _ROWS))
    blocks = -(-count // (joined * _ROWS))
    rows = count // (joined * blocks)
    end = blocks * rows * joined
    prefix = (slice(None),) * axis
    main = data if end == count else data[(*prefix, slice(0, end))]
    lengths = (joined * width,) if joined > 1 else after
    sums = _add(main.reshape(*before, blocks, rows, *lengths), axis=axis + 1, dtype=dtype)
    total = _sum_rows(sums.reshape(*before, blocks * joined, *after), axis, None)
    return total if end == count else total + _sum_rows(data[(*prefix, slice(end, None))], axis, dtype)
