"""Elements stored at positions: of positions that are equal the last one counts, which ONNX leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.array_parts import (
    absolute_positions,
    chosen,
    counted,
    expanded,
    gathered,
    is_open,
    length_of,
    product_of,
    reshaped,
    scalar,
    vector,
)
from minpy.onnx.exporting.calls import NodeCall
from minpy.onnx.exporting.indices import Index, index_tuples

__all__ = ["filling_positions", "reshaped_as", "scattered", "transposed"]


def transposed(call: NodeCall, array: Operand, order: Sequence[int]) -> Operand:
    """Return an array with its axes in another order."""
    return Operand(call.transpose(array, order), tuple(array.shape[axis] for axis in order), array.dtype)


def filling_positions(call: NodeCall, array: Operand, index: Index, value: Operand) -> Operand:
    """Return a value as large as what an index takes, the axes of its arrays first."""
    start, ndim = index.block()
    block = numpy.broadcast_shapes(*(part.shape for _, part in index.arrays))
    others = [part for part in index.parts if not isinstance(part, Operand)]
    lengths = iter([length for length, part in zip(array.shape, index.by_axis, strict=True) if isinstance(part, slice)])
    rest = [1 if part is None else next(lengths) for part in others]
    shape = (*rest[:start], *block, *rest[start:])
    if value.ndim > len(shape):
        dropped = list(range(value.ndim - len(shape)))
        value = Operand(call.squeeze(value, dropped), value.shape[len(dropped) :], value.dtype)
    if value.shape != shape:
        value = Operand(expanded(call, value, shape), shape, value.dtype)
    added = [place if place < start else place + ndim for place, part in enumerate(others) if part is None]
    if added:
        shape = tuple(length for axis, length in enumerate(shape) if axis not in added)
        value = Operand(call.squeeze(value, added), shape, value.dtype)
    before = sum(part is not None for part in others[:start])
    if before:
        order = [*range(before, before + ndim), *range(before), *range(before + ndim, len(shape))]
        value = transposed(call, value, order)
    return value


def scattered(
    call: NodeCall, target: Operand, arrays: Sequence[Operand], value: Operand, is_uniform: bool, reduction: Any = None
) -> str:
    """Return an array with a value at positions along its first axes."""
    values = [each.value for each in arrays]
    is_constant = all(each is not None for each in values)
    if reduction is None and not is_uniform and not _are_apart(values if is_constant else None, target.shape):
        return _scattered_in_order(call, target, arrays, value)
    name: str = call.node("ScatterND", target, index_tuples(call, arrays), value, reduction=reduction)
    return name


def _are_apart(values: Sequence[Any] | None, shape: Sequence[int]) -> bool:
    """Tell whether no two positions are the same."""
    if values is None:
        return False
    rows = [
        numpy.where(each < 0, each + length, each)
        for each, length in zip(numpy.broadcast_arrays(*values), shape, strict=False)
    ]
    flat = numpy.stack([row.reshape(-1) for row in rows], axis=-1)
    return len(numpy.unique(flat, axis=0)) == len(flat)


def _scattered_in_order(call: NodeCall, target: Operand, arrays: Sequence[Operand], value: Operand) -> str:
    """Return an array with a value at positions along its first axes, the last of those that are equal."""
    count = len(arrays)
    block = numpy.broadcast_shapes(*(each.shape for each in arrays))
    total: str | None = None
    for axis, each in enumerate(arrays):
        length = length_of(call, target, axis)
        name = absolute_positions(call, each, length)
        total = name if total is None else call.node("Add", call.node("Mul", total, scalar(call, length)), name)
    assert total is not None
    rest = target.shape[count:]
    positions = call.reshape(total, [-1])
    rows = call.reshape(target, [-1, *rest]) if count > 1 else call.array(target)
    values = call.reshape(value, [-1, *rest]) if len(block) != 1 else call.array(value)
    length = length_of(call, target, 0)
    for axis in range(1, count):
        length = product_of(call, length, length_of(call, target, axis))
    changed = _last_stored(call, rows, length, positions, values, len(rest), target.dtype)
    return changed if count == 1 else reshaped_as(call, changed, target)


def reshaped_as(call: NodeCall, name: str, like: Operand) -> str:
    """Return the name of a value in the shape of an array."""
    if not is_open(call):
        return reshaped(call, name, like.shape)
    result: str = call.node("Reshape", name, call.node("Shape", like))
    return result


def _last_stored(
    call: NodeCall, rows: str, length: Any, positions: str, values: str, ndim: int, dtype: numpy.dtype
) -> str:
    """Return rows with values at positions that may be equal: for each row the last of its values is found."""
    count = call.node("Size", positions)
    numbers = call.node("Range", call.ints(0), count, call.ints(1))
    if call.opset >= 18:
        none = call.node("ConstantOfShape", vector(call, [length]), value=numpy.array([-1]))
        last = call.node("ScatterElements", none, positions, numbers, axis=0, reduction="max")
    else:
        every = call.unsqueeze(counted(call, 0, length), [1])
        is_there = call.node("Equal", every, call.unsqueeze(positions, [0]))
        last = call.reduce("ReduceMax", call.node("Where", is_there, numbers, call.ints(-1)), [1], False)
    is_stored = call.node("GreaterOrEqual", last, call.ints(0))
    new = gathered(call, values, call.node("Max", last, call.ints(0)), 0)
    if ndim:
        is_stored = call.unsqueeze(is_stored, list(range(1, ndim + 1)))
    return chosen(call, is_stored, new, rows, dtype)
