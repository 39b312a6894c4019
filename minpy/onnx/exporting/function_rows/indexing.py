"""Functions of NumPy's that take elements by their positions."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.frameworks.row_parts import axis_of, only
from minpy.onnx.exporting.array_parts import (
    difference_of,
    expanded,
    flattened,
    gathered,
    length_of,
    operand_of,
    remainder_of,
    scalar,
)
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.indices import index_of, taken

__all__ = ["ROWS"]

ROWS = Rows()
_row = ROWS.enter


@_row("item_of")
def _item_of(call: NodeCall, array: Operand, index: Any) -> str:
    return taken(call, array, index_of(call, array.ndim, index))


@_row("take")
def _take(call: NodeCall, a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> str:
    only(call, "mode", mode, ("raise", "clip", "wrap"))
    array = operand_of(call, a)
    at = 0 if axis is None else axis_of(axis, array.ndim)
    row = array if axis is not None else array._replace(text=flattened(call, array), shape=(array.size,), value=None)
    return gathered(call, row, _positions(call, indices, row, at, mode), at)


def _positions(call: NodeCall, indices: Any, array: Operand, axis: int, mode: str) -> str:
    name = call.array(indices, numpy.int64)
    if mode == "raise":
        return name
    length = length_of(call, array, axis)
    if mode == "wrap":
        return remainder_of(call, name, length)
    last = scalar(call, difference_of(call, length, 1))
    clipped: str = call.node("Min", call.node("Max", name, call.ints(0)), last)
    return clipped


@_row("take_along_axis")
def _take_along_axis(call: NodeCall, arr: Any, indices: Any, axis: Any = -1) -> str:
    array, positions = operand_of(call, arr), operand_of(call, indices)
    if axis is None:
        array = array._replace(text=flattened(call, array), shape=(array.size,), value=None)
        axis = 0
    at = axis_of(axis, array.ndim)
    names = [call.array(array), call.array(positions, numpy.int64)]
    for place, each in enumerate((array, positions)):
        shape = (*call.shape[:at], each.shape[at], *call.shape[at + 1 :])
        if each.shape != shape:
            names[place] = expanded(call, names[place], shape)
    name: str = call.node("GatherElements", *names, axis=at)
    return name


@_row("compress extract")
def _compress(call: NodeCall, condition: Any, a: Any = None, axis: Any = None, arr: Any = None) -> str:
    mask = operand_of(call, condition)
    if mask.value is None:
        raise call.refuse("a condition that is not constant: how many elements there are depends on its values")
    array = operand_of(call, arr if a is None else a)
    at = 0 if axis is None else axis_of(axis, array.ndim)
    (positions,) = numpy.nonzero(mask.value.reshape(-1))
    row: Any = array if axis is not None else flattened(call, array)
    return gathered(call, row, positions, at)
