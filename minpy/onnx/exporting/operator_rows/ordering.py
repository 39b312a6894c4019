"""Operators that hang on the order of elements: sort, argsort, topk, argmax."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.positions import axis_of, flat, length_of, ranked

__all__ = ["ROWS"]

ROWS = Rows()


def _top(call: NodeCall, data: Operand, axis: int | None, k: int, ascending: bool) -> tuple[str, str, int]:
    """Return the names of the first k elements in order and of their positions, and the axis; 0 stands for all."""
    shape = data.shape if axis is not None else (data.size,)
    at = 0 if axis is None else axis_of(axis, data.ndim)
    elements = ranked(call, data)
    elements = flat(call, elements) if axis is None else elements
    count = call.ints([k or shape[at]])
    values, positions = call.node("TopK", elements, count, outputs=2, axis=at, largest=int(not ascending), sorted=1)
    return values, positions, at


def _in_dtype(call: NodeCall, name: str, data: Operand) -> str:
    """Return the name of elements that were ordered in the dtype of the data."""
    return name if ranked(call, data) == data.text else call.cast(name, data.dtype)


@ROWS.enter("sort")
def _sort(call: NodeCall, data: Operand, axis: int | None = -1, is_ascend: bool = True) -> Any:
    return _in_dtype(call, _top(call, data, axis, 0, is_ascend)[0], data)


@ROWS.enter("argsort")
def _argsort(
    call: NodeCall, data: Operand, axis: int | None = -1, is_ascend: bool = True, dtype: str = "float32"
) -> Any:
    return call.cast(_top(call, data, axis, 0, is_ascend)[1], call.result_dtype)


@ROWS.enter("topk")
def _topk(
    call: NodeCall,
    data: Operand,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: str = "indices",
    is_ascend: bool = False,
    dtype: str = "float32",
) -> Any:
    values, positions, at = _top(call, data, axis, k, is_ascend)
    if ret_typ == "indices":
        return call.cast(positions, call.result_dtype)
    if ret_typ == "mask":
        shape = list(data.shape) if axis is not None else [data.size]
        zeros = call.node("ConstantOfShape", call.ints(shape), value=numpy.zeros(1, data.dtype))
        ones = call.node("ConstantOfShape", call.node("Shape", positions), value=numpy.ones(1, data.dtype))
        mask = call.node("ScatterElements", zeros, positions, ones, axis=at)
        return mask if axis is not None else call.reshape(mask, data.shape)
    values = _in_dtype(call, values, data)
    return values if ret_typ == "value" else (values, call.cast(positions, call.results[1].dtype))


def _extreme(op_type: str) -> Any:
    def row(call: NodeCall, data: Operand, axis: int | None = None, keepdims: bool = False) -> Any:
        elements = ranked(call, data)
        at = 0 if axis is None else axis_of(axis, data.ndim)
        if axis is None and data.ndim != 1:
            elements = flat(call, elements)
        # Over everything a position has one axis, too.
        position = call.node(op_type, elements, axis=at, keepdims=int(keepdims or axis is None or data.ndim == 1))
        position = call.cast(position, call.result_dtype)
        return call.reshape(position, call.shape) if axis is None and call.ndim != 1 else position

    return row


ROWS["argmax"] = _extreme("ArgMax")
ROWS["argmin"] = _extreme("ArgMin")


@ROWS.enter("argmax_channel")
def _argmax_channel(call: NodeCall, data: Operand) -> Any:
    return call.row("argmax", data, axis=1)


@ROWS.enter("_shuffle")
def _shuffle(call: NodeCall, data: Operand) -> Any:
    """The order is that of numbers drawn for each element along the first axis."""
    drawn = call.node(
        "RandomUniformLike", call.node("ConstantOfShape", call.ints([data.shape[0]]), value=numpy.zeros(1, "float32"))
    )
    _, order = call.node("TopK", drawn, length_of(call, [data.shape[0]]), outputs=2)
    shuffled = call.node("Gather", data, order, axis=0)
    return (shuffled, order)[: len(call.results)]
