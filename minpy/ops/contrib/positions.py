"""Operators that count positions, or take and put rows: arange_like, index_array, index_copy, boolean_mask."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minpy.core.array import raw_of
from minpy.core.errors import ArgumentValueError, DTypeError, OutOfRangeError, ShapeError
from minpy.ops.axes import one_axis
from minpy.ops.inference.partial_shapes import UNKNOWN, same_dtype
from minpy.ops.inference.rule_parts import dtype_of, forwards, known_ndim, merge_lengths, replace_length, with_axes
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import index as index_by_key
from minpy.ops.tensor.indexing import unindex

__all__ = ["arange_like", "boolean_mask", "index_array", "index_copy"]


@operator(name="_contrib_arange_like", zero="all", shape_only=(0,), dtypes=same_dtype)
def arange_like(
    data: np.ndarray,
    *,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: str = "",
    axis: int | None = None,
) -> np.ndarray:
    """Return evenly spaced numbers, as many as an array has elements, or as one of its axes is long.

    {data_parameter}
        Of which shape and dtype are read, no values.
    start : float
        The first number.
    step : float
        The distance between numbers that differ.
    repeat : int
        How often each number stands in a row.
    ctx : str
        Accepted and not used: the result is where `data` is.
    axis : int, optional
        Which axis to number; all elements if left out.

    {returns_array}
        Of the dtype of `data`, and of its shape; with `axis` of shape (its length,). It has no gradient.

    {raises_shape_error}
        If there is no such axis.
    ArgumentValueError
        If `repeat` is less than 1.

    {examples}
    >>> nd.contrib.arange_like(nd.zeros((2, 3)), start=1, repeat=2).asnumpy()
    array([[1., 1., 2.],
           [2., 3., 3.]], dtype=float32)
    >>> nd.contrib.arange_like(nd.zeros((2, 3)), axis=1).asnumpy()
    array([0., 1., 2.], dtype=float32)
    """
    if repeat < 1:
        raise ArgumentValueError(f"contrib.arange_like: repeat is {repeat}; expected 1 or more.")
    shape = data.shape if axis is None else (data.shape[one_axis("contrib.arange_like", axis, data.ndim)],)
    numbers = start + np.arange(math.prod(shape)) // repeat * step
    return numbers.reshape(shape).astype(data.dtype)


@arange_like.def_infer_shape
@forwards
def _arange_like_shape(data: Any, *, axis: int | None = None, **_: Any) -> Any:
    return data if axis is None else (data[one_axis("contrib.arange_like", axis, len(data))],)


@operator(name="_contrib_index_array", zero="all", shape_only=(0,))
def index_array(data: np.ndarray, *, axes: tuple[int, ...] | None = None) -> np.ndarray:
    """Return the indices of each element of an array.

    {data_parameter}
        With one axis or more, of which the shape is read, no values.
    axes : tuple of int, optional
        Along which axes the indices are returned, in this order; all of them if left out.

    {returns_array}
        Of shape (*data.shape, the number of axes) and dtype int64. It has no gradient.

    {raises_shape_error}
        If there is no such axis.

    {examples}
    >>> nd.contrib.index_array(nd.zeros((2, 2)), axes=(1, 0)).asnumpy()
    array([[[0, 0],
            [1, 0]],
    <BLANKLINE>
           [[0, 1],
            [1, 1]]])
    """
    chosen = _numbered_axes(axes, data.ndim)
    result = np.empty((*data.shape, len(chosen)), np.int64)
    for position, axis in enumerate(chosen):
        result[..., position] = np.arange(data.shape[axis]).reshape((-1,) + (1,) * (data.ndim - axis - 1))
    return result


def _numbered_axes(axes: Any, ndim: int) -> list[int]:
    numbers = range(ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    return [one_axis("contrib.index_array", axis, ndim) for axis in numbers]


@index_array.def_infer_shape
@forwards
def _index_array_shape(data: Any, *, axes: Any = None) -> Any:
    return (*data, len(_numbered_axes(axes, len(data))))


index_array.def_infer_type(lambda inputs, outputs, **_: (inputs, [np.dtype(np.int64)]))


# -- rows that are put -------------------------------------------------------------------------------------------------


@operator(name="_contrib_index_copy", zero=(1,), shape_only=(0, 2), dtypes=dtype_of(0, 2))
def index_copy(old_tensor: np.ndarray, index_vector: np.ndarray, new_tensor: np.ndarray) -> np.ndarray:
    """Return a copy of an array in which some rows are replaced by others.

    Parameters
    ----------
    old_tensor : NDArray
        With one axis or more.
    index_vector : NDArray
        Of shape (rows,): where in `old_tensor` each row of `new_tensor` goes. Of a row that is named twice the last
        one stays. Fractions are cut off.
    new_tensor : NDArray
        Of shape (rows, *old_tensor.shape[1:]).

    {returns_array}
        Of the shape and dtype of `old_tensor`. Rows that are not in it have no gradient.

    {raises_unless_shapes_fit}
    OutOfRangeError
        If `old_tensor` has no such row.

    {examples}
    >>> old, new = nd.zeros((3, 2)), nd.array([[1, 2], [3, 4]])
    >>> nd.contrib.index_copy(old, nd.array([2, 0]), new).asnumpy()
    array([[3., 4.],
           [0., 0.],
           [1., 2.]], dtype=float32)
    """
    _check_rows(old_tensor.shape, index_vector.shape, new_tensor.shape)
    rows = _row_numbers(index_vector, old_tensor.shape[0])
    result = old_tensor.copy()
    result[rows] = new_tensor
    return result


def _check_rows(old: tuple[int, ...], index: tuple[int, ...], new: tuple[int, ...]) -> None:
    if not old or len(index) != 1 or new != index + old[1:]:
        raise ShapeError(
            f"contrib.index_copy: old_tensor {old}, index_vector {index}, new_tensor {new}; expected (n, ...), (rows,) "
            "and (rows, ...), with the same axes after the first."
        )
    if new[0] > old[0]:
        raise ShapeError(f"contrib.index_copy: new_tensor {new} has more rows than old_tensor {old}.")


def _row_numbers(index: Any, count: int) -> np.ndarray:
    rows = raw_of(index).astype(np.int64)
    wrong = (rows < 0) | (rows >= count)
    if wrong.any():
        raise OutOfRangeError(
            f"contrib.index_copy: index_vector holds {rows[wrong][0]}; expected 0 <= index < {count}, the rows of "
            "old_tensor."
        )
    return rows


@index_copy.def_grad(argnum=0)
def _old_gradient(ans: Any, old_tensor: Any, index_vector: Any, new_tensor: Any) -> Any:
    shape = np.shape(old_tensor)
    is_kept = np.ones((shape[0],) + (1,) * (len(shape) - 1), np.bool_)
    is_kept[raw_of(index_vector).astype(np.int64)] = False
    return lambda g: np.where(is_kept, g, 0)


@index_copy.def_grad(argnum=2)
def _new_gradient(ans: Any, old_tensor: Any, index_vector: Any, new_tensor: Any) -> Any:
    rows = raw_of(index_vector).astype(np.int64)
    count = len(rows)
    last = np.zeros(np.shape(old_tensor)[0], np.int64)
    last[rows] = np.arange(count)
    is_last = (last[rows] == np.arange(count)).reshape((count,) + (1,) * (np.ndim(new_tensor) - 1))
    return lambda g: np.where(is_last, index_by_key(g, key=rows), 0)


@index_copy.def_infer_shape
def _index_copy_shapes(inputs: Any, outputs: Any) -> Any:
    old, index, new = inputs
    ndim = known_ndim(old, new, *outputs)
    index = with_axes(index, 1)
    if ndim is None:
        return [old, index, new], outputs
    if not ndim:
        raise ShapeError("expected at least one axis.")
    old, new, result = (with_axes(shape, ndim) for shape in (old, new, outputs[0]))
    rows = merge_lengths(index[0], new[0])
    inner = tuple(map(merge_lengths, old[1:], new[1:], result[1:]))
    count = merge_lengths(old[0], result[0])
    return [(count, *inner), (rows,), (rows, *inner)], [(count, *inner)]


# -- rows that are taken -----------------------------------------------------------------------------------------------


@operator(name="_contrib_boolean_mask", zero=(1,), shape_only=(0,), dtypes=dtype_of(0))
def boolean_mask(data: np.ndarray, index: np.ndarray, *, axis: int = 0) -> np.ndarray:
    """Return the rows of an array that a mask chooses.

    {data_parameter}
        With one axis or more.
    index : NDArray
        The mask, of shape (the length of the axis,): rows are taken where it is not 0.
    axis : int
        Along which rows are numbered.

    {returns_array}
        Of the dtype of `data`. Its shape hangs on the values of the mask; where shapes must be known beforehand, as in
        bound symbols, `where` does instead.

    {raises_shape_error}
        If the mask is not as long as the axis, or there is no such axis.
    DTypeError
        If `data` holds no numbers.

    {examples}
    >>> nd.contrib.boolean_mask(nd.array([[1, 2], [3, 4], [5, 6]]), nd.array([0, 1, 1])).asnumpy()
    array([[3., 4.],
           [5., 6.]], dtype=float32)
    """
    if data.dtype.kind not in "fiub":
        raise DTypeError(f"contrib.boolean_mask: data has dtype {data.dtype}; expected numbers.")
    return data[_rows_key(data, index, axis)]


def _rows_key(data: Any, index: Any, axis: int) -> tuple[Any, ...]:
    shape = np.shape(data)
    axis = one_axis("contrib.boolean_mask", axis, len(shape))
    if np.shape(index) != shape[axis : axis + 1]:
        raise ShapeError(
            f"contrib.boolean_mask: index has shape {np.shape(index)}; expected {shape[axis : axis + 1]}, the length "
            f"of axis {axis} of data {shape}."
        )
    return (*(slice(None),) * axis, raw_of(index) != 0)


@boolean_mask.def_grad(argnum=0)
def _boolean_mask_gradient(ans: Any, data: Any, index: Any, *, axis: int) -> Any:
    key, shape = _rows_key(data, index, axis), np.shape(data)
    return lambda g: unindex(g, key=key, shape=shape)


@boolean_mask.def_infer_shape
def _boolean_mask_shapes(inputs: Any, outputs: Any, *, axis: int) -> Any:
    data, index = inputs
    ndim = known_ndim(data, *outputs)
    index = with_axes(index, 1)
    if ndim is None:
        return [data, index], outputs
    axis = one_axis("contrib.boolean_mask", axis, ndim)
    data, result = with_axes(data, ndim), with_axes(outputs[0], ndim)
    other_lengths = tuple(map(merge_lengths, data[:axis] + data[axis + 1 :], result[:axis] + result[axis + 1 :]))
    length = merge_lengths(data[axis], index[0])
    data = (*other_lengths[:axis], length, *other_lengths[axis:])
    return [data, (length,)], [replace_length(data, axis, result[axis] if result else UNKNOWN)]
