"""Operators that take, put and choose elements by positions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.positions import axis_of, counted, in_range, last_writers, truncated

__all__ = ["ROWS"]

ROWS = Rows()


@ROWS.enter("take")
def _take(call: NodeCall, a: Operand, indices: Operand, axis: int = 0, mode: str = "clip") -> Any:
    axis = axis_of(axis, a.ndim)
    return call.node("Gather", a, in_range(call, truncated(call, indices), a.shape[axis], mode), axis=axis)


@ROWS.enter("pick")
def _pick(
    call: NodeCall, data: Operand, index: Operand, axis: int = -1, keepdims: bool = False, mode: str = "clip"
) -> Any:
    axis = axis_of(axis, data.ndim)
    positions = truncated(call, index)
    if index.ndim < data.ndim:
        positions = call.unsqueeze(positions, [axis])
    elif index.shape != (*data.shape[:axis], 1, *data.shape[axis + 1 :]):  # of data of one axis
        positions = call.reshape(positions, [1])
    picked = call.node("GatherElements", data, in_range(call, positions, data.shape[axis], mode), axis=axis)
    return picked if keepdims or data.ndim == 1 else call.squeeze(picked, [axis])


@ROWS.enter("batch_take")
def _batch_take(call: NodeCall, a: Operand, indices: Operand) -> Any:
    positions = in_range(call, truncated(call, indices), a.shape[1], "clip")
    return call.squeeze(call.node("GatherElements", a, call.unsqueeze(positions, [1]), axis=1), [1])


@ROWS.enter("one_hot")
def _one_hot(
    call: NodeCall,
    indices: Operand,
    depth: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: str = "float32",
) -> Any:
    """OneHot counts negative indices from the end, where we have a row without a 1."""
    hot = call.node("Equal", call.unsqueeze(truncated(call, indices), [indices.ndim]), numpy.arange(depth))
    if on_value == 1 and off_value == 0:
        return call.cast(hot, call.result_dtype)
    values = [numpy.float64(value) for value in (on_value, off_value)]
    whole = call.result_dtype.kind in "iu"
    on, off = (
        numpy.asarray(value.astype(numpy.int64) if whole else value).astype(call.result_dtype) for value in values
    )
    return call.node("Where", hot, on, off)


@ROWS.enter("_onehot_encode")
def _onehot_encode(call: NodeCall, lhs: Operand, rhs: Operand) -> Any:
    columns = counted(call, rhs.shape[1])
    dtype = numpy.result_type(lhs.dtype, numpy.int64)
    hot = call.node("Equal", call.cast(call.unsqueeze(lhs, [1]), dtype), call.cast(columns, dtype))
    return call.cast(hot, call.result_dtype)


# -- by coordinates ----------------------------------------------------------------------------------------------------


def _coordinates(call: NodeCall, indices: Operand) -> str:
    """Return the name of coordinates as ONNX has them: one axis of the indexed array a column, not a row."""
    positions = truncated(call, indices)
    return positions if indices.ndim == 1 else call.transpose(positions, [*range(1, indices.ndim), 0])


@ROWS.enter("gather_nd")
def _gather_nd(call: NodeCall, data: Operand, indices: Operand) -> Any:
    return call.node("GatherND", data, _coordinates(call, indices))


@ROWS.enter("scatter_nd")
def _scatter_nd(call: NodeCall, data: Operand, indices: Operand, shape: Sequence[int]) -> Any:
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    zeros = call.node("ConstantOfShape", call.ints(list(lengths)), value=numpy.zeros(1, data.dtype))
    return call.node("ScatterND", zeros, _coordinates(call, indices), data)


@ROWS.enter("_scatter_set_nd")
def _scatter_set_nd(call: NodeCall, lhs: Operand, rhs: Operand, indices: Operand, shape: Any) -> Any:
    return _put(call, lhs, _coordinates(call, indices), indices.shape, rhs)


@ROWS.enter("_contrib_index_copy")
def _index_copy(call: NodeCall, old_tensor: Operand, index_vector: Operand, new_tensor: Operand) -> Any:
    coordinates = call.unsqueeze(truncated(call, index_vector), [1])
    return _put(call, old_tensor, coordinates, (1, *index_vector.shape), new_tensor)


def _put(call: NodeCall, base: Operand, coordinates: str, index_shape: Sequence[int], values: Operand) -> Any:
    """Return a base with values at coordinates, (..., axes); ScatterND leaves open which of several at one place stays.

    So all of them become the last one.
    """
    axes, writers = index_shape[0], index_shape[1:]
    count, lengths = math.prod(writers), base.shape[:axes]
    strides = [math.prod(lengths[axis + 1 :]) for axis in range(axes)]
    counted_from_front = call.node("Mod", coordinates, call.ints(list(lengths)))
    places = call.node("Mul", counted_from_front, call.ints(strides))
    flat_places = call.reshape(call.reduce("ReduceSum", places, [len(writers)], False), [-1])
    last = last_writers(call, flat_places, count, math.prod(lengths))
    rows = call.reshape(call.array(values, base.dtype), [count, *base.shape[axes:]])
    updates = call.reshape(call.node("Gather", rows, last, axis=0), values.shape)
    return call.node("ScatterND", base, counted_from_front, updates)


@ROWS.enter("fill_element_0index")
def _fill_element(call: NodeCall, lhs: Operand, mhs: Operand, rhs: Operand) -> Any:
    chosen = call.node("Equal", counted(call, lhs.shape[1]), call.unsqueeze(truncated(call, rhs), [1]))
    return call.node("Where", chosen, call.unsqueeze(call.array(mhs, lhs.dtype), [1]), lhs)


# -- masks -------------------------------------------------------------------------------------------------------------


@ROWS.enter("_contrib_boolean_mask")
def _boolean_mask(call: NodeCall, data: Operand, index: Operand, axis: int = 0) -> Any:
    raise call.refuse("how many rows the result has hangs on values; where() keeps the shape")


@ROWS.enter("where")
def _where(call: NodeCall, condition: Operand, x: Any, y: Any) -> Any:
    holds = call.array(condition, bool)
    if 0 < condition.ndim < call.ndim:  # of rows
        holds = call.unsqueeze(holds, list(range(1, call.ndim)))
    return call.node("Where", holds, call.array(x, call.result_dtype), call.array(y, call.result_dtype))
