"""Functions of NumPy's that change their first argument, as copies of it: captures note them so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.frameworks.row_parts import axis_of
from minpy.onnx.exporting.array_parts import (
    absolute_positions,
    chosen,
    counted,
    expanded,
    flattened,
    gathered,
    in_dtype,
    is_open,
    length_of,
    lengths_value,
    operand_of,
    scalar,
    size_of,
    sum_of,
)
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.scattering import reshaped_as, scattered

__all__ = ["ROWS"]

ROWS = Rows()
_row = ROWS.enter


@_row("changed")
def _changed(call: NodeCall, function: Any, target: Operand, arguments: Any, keywords: Any) -> str:
    change = _CHANGES.get(function.__name__)
    if change is None:
        raise call.refuse(f"numpy.{function.__name__}")
    return change(call, target, *arguments, **keywords)


def _copyto(call: NodeCall, target: Operand, src: Any, casting: Any = None, where: Any = True) -> str:
    source = in_dtype(call, src, target.dtype)
    if where is True:
        return call.array(source) if source.shape == target.shape else _as_large(call, source, target)
    return chosen(call, call.array(where, bool), source, target, target.dtype)


def _as_large(call: NodeCall, value: Operand, target: Operand) -> str:
    return expanded(call, value, lengths_value(call, target))


def _putmask(call: NodeCall, target: Operand, mask: Any, values: Any) -> str:
    new = in_dtype(call, values, target.dtype)
    if new.size == 1:
        new = Operand(call.reshape(new, []), (), new.dtype)
    elif new.shape != target.shape:
        new = Operand(reshaped_as(call, _repeated(call, new, size_of(call, target)), target), target.shape, new.dtype)
    return chosen(call, call.array(mask, bool), new, target, target.dtype)


def _repeated(call: NodeCall, value: Operand, count: Any) -> str:
    """Return the elements of a value in a row, from the first again behind the last, until there are enough."""
    row = flattened(call, value)
    if count == value.size and not is_open(call):
        return row
    positions = call.node("Mod", counted(call, 0, count), scalar(call, size_of(call, value)))
    return gathered(call, row, positions, 0)


def _put(call: NodeCall, target: Operand, ind: Any, v: Any, mode: str = "raise") -> str:
    indices, value = operand_of(call, ind), in_dtype(call, v, target.dtype)
    if not indices.size:
        return call.array(target)
    size = size_of(call, target)
    positions = call.array(indices, numpy.int64)
    positions = positions if indices.ndim == 1 else call.reshape(positions, [-1])
    if mode == "wrap":
        positions = call.node("Mod", positions, scalar(call, size))
    elif mode == "clip":
        last = scalar(call, sum_of(call, size, -1))
        positions = call.node("Min", call.node("Max", positions, call.ints(0)), last)
    row = Operand(flattened(call, target), (target.size,), target.dtype)
    where = Operand(positions, (indices.size,), numpy.dtype(numpy.int64))
    count = size_of(call, indices)
    new = Operand(_repeated(call, value, count), (indices.size,), target.dtype)
    changed = scattered(call, row, [where], new, value.size == 1)
    return changed if target.ndim == 1 else reshaped_as(call, changed, target)


def _put_along_axis(call: NodeCall, target: Operand, indices: Any, values: Any, axis: Any) -> str:
    where, new = operand_of(call, indices), in_dtype(call, values, target.dtype)
    array = target
    if axis is None:
        array = Operand(flattened(call, target), (target.size,), target.dtype)
    at = axis_of(0 if axis is None else axis, array.ndim)
    count = where.shape[at]
    shape = (*array.shape[:at], count, *array.shape[at + 1 :])
    is_single = new.size == 1 or (count == 1 and not is_open(call))
    positions = absolute_positions(call, where, length_of(call, array, at))
    positions = positions if where.shape == shape else expanded(call, positions, shape)
    value = call.array(new) if new.shape == shape else expanded(call, new, shape)
    if is_single:
        changed = call.node("ScatterElements", array, positions, value, axis=at)
    else:
        if call.opset < 18:
            raise call.refuse("numpy.put_along_axis of several values below opset 18")
        lengths = [1] * array.ndim
        lengths[at] = -1
        numbers = call.reshape(counted(call, 0, length_of(call, where, at)), lengths)
        none = call.node("ConstantOfShape", lengths_value(call, array), value=numpy.array([-1]))
        last = call.node("ScatterElements", none, positions, expanded(call, numbers, shape), axis=at, reduction="max")
        taken_values = call.node("GatherElements", value, call.node("Max", last, call.ints(0)), axis=at)
        is_stored = call.node("GreaterOrEqual", last, call.ints(0))
        changed = chosen(call, is_stored, taken_values, array, array.dtype)
    return str(changed) if axis is not None or target.ndim == 1 else reshaped_as(call, changed, target)


def _fill_diagonal(call: NodeCall, target: Operand, val: Any, wrap: bool = False) -> str:
    value = in_dtype(call, val, target.dtype)
    if value.size != 1 or (wrap and target.ndim == 2 and target.shape[0] > target.shape[1]):
        raise call.refuse("numpy.fill_diagonal with several values, or with wrap=True")
    if value.ndim:
        value = Operand(call.reshape(value, []), (), value.dtype)
    mask = None
    first = counted(call, 0, length_of(call, target, 0))
    for axis in range(1, target.ndim):
        rows = call.unsqueeze(first, list(range(1, target.ndim)))
        behind = list(range(1, target.ndim - axis))
        along = counted(call, 0, length_of(call, target, axis))
        along = call.unsqueeze(along, behind) if behind else along
        is_equal = call.node("Equal", rows, along)
        mask = is_equal if mask is None else call.node("And", mask, is_equal)
    assert mask is not None
    return chosen(call, mask, value, target, target.dtype)


def _place(call: NodeCall, target: Operand, mask: Any, vals: Any) -> str:
    new = in_dtype(call, vals, target.dtype)
    if new.size != 1:
        raise call.refuse("numpy.place of several values")
    value = Operand(call.reshape(new, []), (), new.dtype)
    return chosen(call, call.array(mask, bool), value, target, target.dtype)


_CHANGES: dict[str, Callable[..., str]] = {
    "copyto": _copyto,
    "putmask": _putmask,
    "put": _put,
    "put_along_axis": _put_along_axis,
    "fill_diagonal": _fill_diagonal,
    "place": _place,
}
