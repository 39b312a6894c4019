"""Stores: copies of arrays in which some elements are others, as captures note what changes an array in place.

A part that slices take is put back between what is before and behind it (`Concat`), or, where it has a step, chosen by
a mask along each axis (`Where`). Elements at positions are scattered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.array_parts import (
    LAST,
    chosen,
    counted,
    expanded,
    gathered,
    in_dtype,
    is_open,
    length_of,
    lengths_value,
    moved,
    reversed_along,
    sliced,
    vector,
)
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.indices import FULL, Index, index_of, is_full, restricted, taken
from minpy.onnx.exporting.scattering import filling_positions, scattered, transposed

__all__ = ["ROWS"]

ROWS = Rows()
_row = ROWS.enter


@_row("with_item")
def _with_item(call: NodeCall, array: Operand, index: Any, value: Any) -> str:
    new = in_dtype(call, value, array.dtype)
    return _stored(call, array, index_of(call, array.ndim, index), new)


def _stored(call: NodeCall, array: Operand, index: Index, value: Operand) -> str:
    by_axis = index.by_axis
    if not index.arrays:
        return _stored_in_region(call, array, by_axis, _aligned(call, value, index.parts))
    inner_parts = [FULL if isinstance(part, Operand) else part for part in by_axis]
    outer_parts = list(index.parts)
    if all(map(is_full, inner_parts)):
        return _stored_at(call, array, index, value)
    # What the slices take is one array, in which elements are stored, and which is put back.
    region = Operand(restricted(call, array, inner_parts), _region_shape(array.shape, inner_parts), array.dtype)
    within = Index(tuple(FULL if isinstance(part, slice) else part for part in outer_parts))
    changed = region._replace(text=_stored_at(call, region, within, value))
    return _stored_in_region(call, array, inner_parts, changed)


def _region_shape(shape: Sequence[int], by_axis: Sequence[Any]) -> tuple[int, ...]:
    return tuple(
        len(range(*part.indices(length))) if isinstance(part, slice) else 1
        for part, length in zip(by_axis, shape, strict=True)
    )


def _aligned(call: NodeCall, value: Operand, parts: Sequence[Any]) -> Operand:
    """Return what is stored by numbers and slices with its axes as the array has them: 1 long for a number."""
    count = sum(not isinstance(part, int) for part in parts)
    if value.ndim > count:  # longer than the part by axes of length 1
        leading = list(range(value.ndim - count))
        value = Operand(call.squeeze(value, leading), value.shape[value.ndim - count :], value.dtype)
    result_places = [place for place, part in enumerate(parts) if not isinstance(part, int)]
    mine = result_places[count - value.ndim :]  # of the parts, those that the value has an axis for
    dropped = [axis for axis, place in enumerate(mine) if parts[place] is None]
    if dropped:
        shape = tuple(length for axis, length in enumerate(value.shape) if axis not in dropped)
        value = Operand(call.squeeze(value, dropped), shape, value.dtype)
    begin = mine[0] if mine else len(parts)
    own = [part for part in parts[begin:] if part is not None]
    added = [axis for axis, part in enumerate(own) if isinstance(part, int)]
    if added and value.ndim:
        shape_with = iter(value.shape)
        shape = tuple(1 if isinstance(part, int) else next(shape_with) for part in own)
        value = Operand(call.unsqueeze(value, added), shape, value.dtype)
    return value


def _value_length(value: Operand, axis: int, ndim: int) -> int:
    """Return how long a value is along an axis of the array that it is stored in; 1 where it has no such axis."""
    place = axis - (ndim - value.ndim)
    return value.shape[place] if place >= 0 else 1


# -- regions of slices -------------------------------------------------------------------------------------------------


def _stored_in_region(call: NodeCall, array: Operand, by_axis: Sequence[Any], value: Operand) -> str:
    """Return an array with a value, broadcast, in the part that numbers and slices take."""
    ndim = array.ndim
    if not is_open(call) and 0 in _region_shape(array.shape, by_axis):
        return call.array(array)
    parts: list[tuple[int, Any]] = []
    for axis, part in enumerate(by_axis):
        if is_full(part):
            continue
        if isinstance(part, slice) and (part.step or 1) < 0:
            is_whole = part == slice(None, None, -1)
            if is_whole or not is_open(call):
                place = axis - (ndim - value.ndim)
                if _value_length(value, axis, ndim) != 1:
                    value = value._replace(text=reversed_along(call, value, [place]), value=None)
                if is_whole:
                    continue
                positions = range(*part.indices(array.shape[axis]))
                part = slice(positions[-1], positions[0] + 1, -part.step)
                if part.step == 1 and is_full(part):
                    continue
        if isinstance(part, slice) and not is_open(call):
            start, stop, step = part.indices(array.shape[axis])
            if step == 1:
                if (start, stop) == (0, array.shape[axis]):
                    continue
                part = slice(start, None if stop == array.shape[axis] else stop)
        parts.append((axis, part))
    if not parts:
        return call.array(value) if _is_as_long(array, value) else expanded(call, value, lengths_value(call, array))
    if all(_is_between(call, part) for _, part in parts):
        return _put_between(call, array.text, array.shape, parts, value)
    return _put_by_masks(call, array, parts, value)


def _is_as_long(array: Operand, value: Operand) -> bool:
    return array.shape == value.shape


def _is_between(call: NodeCall, part: Any) -> bool:
    """Tell whether what is before a part and what is behind it are all else, however long the axis is."""
    if isinstance(part, int):
        return True
    if part.step not in (None, 1):
        return False
    if not is_open(call):
        return True
    start, stop = part.start or 0, part.stop
    if stop is None:
        return True
    if (start < 0) == (stop < 0):
        return bool(start <= stop)
    return bool(start >= 0)


def _put_between(
    call: NodeCall, name: str, shape: Sequence[int], parts: Sequence[tuple[int, Any]], value: Operand
) -> str:
    """Return an array of a shape with a value in a part of it, axis by axis."""
    (axis, part), *more = parts
    start, stop = (part, part + 1 or None) if isinstance(part, int) else (part.start or 0, part.stop)
    if not isinstance(part, int) and stop is not None and start > 0 > stop:
        # Counted from both ends: what is behind the start first, so that nothing is before and behind at once.
        more = [(axis, slice(0, stop)), *more]
        stop = None
    end = LAST if stop is None else stop
    before = None if start == 0 else sliced(call, name, [0], [start], [axis])
    behind = None if stop is None else sliced(call, name, [end], [LAST], [axis])
    inner_shape = list(shape)
    inner_shape[axis] = 1 if isinstance(part, int) else len(range(*slice(start, stop).indices(shape[axis])))
    inner = name
    if more or is_open(call):
        if isinstance(part, int):  # a number that is out of range is an error
            inner = gathered(call, name, numpy.asarray([part]), axis)
        elif before or behind:
            inner = sliced(call, name, [start], [end], [axis])
    if more:
        middle = _put_between(call, inner, inner_shape, more, value)
    elif is_open(call):
        middle = expanded(call, value, call.node("Shape", inner))
    else:
        middle = value.text if value.shape == tuple(inner_shape) else expanded(call, value, inner_shape)
    pieces = [piece for piece in (before, middle, behind) if piece is not None]
    result: str = pieces[0] if len(pieces) == 1 else call.node("Concat", *pieces, axis=axis)
    return result


def _put_by_masks(call: NodeCall, array: Operand, parts: Sequence[tuple[int, Any]], value: Operand) -> str:
    """Return an array with a value where masks along axes are True, each taken from the place that it has there."""
    name, mask = call.array(value), None
    for axis, part in parts:
        is_there, positions = _places_along(call, array, axis, part)
        behind = array.ndim - 1 - axis
        if behind:
            is_there = call.unsqueeze(is_there, list(range(1, behind + 1)))
        mask = is_there if mask is None else call.node("And", mask, is_there)
        if _value_length(value, axis, array.ndim) != 1:
            at = axis - (array.ndim - value.ndim)
            if is_open(call):  # where the part has no element, something is taken nevertheless, and stored nowhere
                pads = [0] * (2 * value.ndim)
                pads[value.ndim + at] = 1
                name = moved(call, "Pad", Operand(name, value.shape, value.dtype), call.ints(pads), dtype=value.dtype)
            name = gathered(call, name, positions, at)
    assert mask is not None
    return chosen(call, mask, name, array, array.dtype)


def _places_along(call: NodeCall, array: Operand, axis: int, part: Any) -> tuple[str, str]:
    """Return (which positions of an axis are in a part of it, as what element of it each; 0 for others)."""
    if not is_open(call):
        places = numpy.full(array.shape[axis], -1)
        positions = numpy.arange(array.shape[axis])[slice(part, part + 1 or None) if isinstance(part, int) else part]
        places[positions] = numpy.arange(len(positions))
        return call.emitter.stored(places >= 0), call.emitter.stored(numpy.maximum(places, 0))
    length = length_of(call, array, axis)
    numbers = counted(call, 0, length)
    if isinstance(part, int):
        there = gathered(call, numbers, numpy.asarray([part]), 0)
    else:
        there = restricted(call, Operand(numbers, (array.shape[axis],), numpy.dtype(numpy.int64)), [part])
    none = call.node("ConstantOfShape", vector(call, [length]), value=numpy.array([-1]))
    found = call.node("ScatterElements", none, there, counted(call, 0, call.node("Size", there)), axis=0)
    return call.node("GreaterOrEqual", found, call.ints(0)), call.node("Max", found, call.ints(0))


# -- positions ---------------------------------------------------------------------------------------------------------


def _stored_at(call: NodeCall, array: Operand, index: Index, value: Operand) -> str:
    """Return an array with a value at positions along some axes; other axes are whole."""
    axes = [axis for axis, _ in index.arrays]
    arrays = [part for _, part in index.arrays]
    if len(axes) == 1 and arrays[0].value is not None and not is_open(call) and arrays[0].ndim <= 1:
        return _stored_along(call, array, axes[0], arrays[0].value, index, value)
    order = axes + [axis for axis in range(array.ndim) if axis not in axes]
    target = array if order == list(range(array.ndim)) else transposed(call, array, order)
    new = filling_positions(call, array, index, value)
    changed = scattered(call, target, arrays, new, value.size == 1)
    return changed if target is array else call.transpose(changed, numpy.argsort(order).tolist())


def _stored_along(
    call: NodeCall, array: Operand, axis: int, positions: numpy.ndarray, index: Index, value: Operand
) -> str:
    """Return an array with a value at constant positions of one axis."""
    places = numpy.full(array.shape[axis], -1)
    places[positions] = numpy.arange(positions.size).reshape(positions.shape)  # the last of equal ones counts
    parts = [-1 if isinstance(part, Operand) and part.ndim == 0 else part for part in index.parts]
    value = _aligned(call, value, parts)
    name = call.array(value)
    if _value_length(value, axis, array.ndim) != 1:
        name = gathered(call, name, numpy.maximum(places, 0), axis - (array.ndim - value.ndim))
    mask = numpy.reshape(places >= 0, (-1, *(1,) * (array.ndim - 1 - axis)))
    return chosen(call, call.emitter.stored(mask), name, array, array.dtype)


# -- numbers added at positions ----------------------------------------------------------------------------------------

_REDUCTIONS = {"add": ("add", 16), "subtract": ("add", 16), "multiply": ("mul", 16)}
_REDUCTIONS |= {"maximum": ("max", 18), "minimum": ("min", 18)}


@_row("computed_at")
def _computed_at(call: NodeCall, ufunc: Any, target: Operand, index: Any, values: Any) -> str:
    where = index_of(call, target.ndim, index)
    if not where.arrays:  # each element once
        shape = _result_shape(where, target.shape)
        before = Operand(taken(call, target, where), shape, target.dtype)
        spec = type(call.results[0])(shape, target.dtype)
        after = call.emit(ufunc, (before, *values), {}, spec)
        return _stored(call, target, where, after)
    reduction, opset = _REDUCTIONS.get(ufunc.__name__, ("", 99))
    if not reduction or len(values) != 1:
        raise call.refuse(f"numpy.{ufunc.__name__}.at")
    if call.opset < opset:
        raise call.refuse(f"numpy.{ufunc.__name__}.at below opset {opset}")
    if reduction in ("max", "min") and target.dtype.kind == "f":
        raise call.refuse(f"numpy.{ufunc.__name__}.at of floating point, whose NaN onnxruntime passes over")
    value = in_dtype(call, values[0], target.dtype)
    if ufunc is numpy.subtract:
        value = Operand(call.node("Neg", value), value.shape, value.dtype)
    by_axis = where.by_axis
    inner_parts = [FULL if isinstance(part, Operand) else part for part in by_axis]
    is_part = not all(map(is_full, inner_parts))
    region = target
    if is_part:
        shape = _region_shape(target.shape, inner_parts)
        region = Operand(restricted(call, target, inner_parts), shape, target.dtype)
        where = Index(tuple(FULL if isinstance(part, slice) else part for part in where.parts))
    axes = [axis for axis, _ in where.arrays]
    order = axes + [axis for axis in range(region.ndim) if axis not in axes]
    in_order = order == list(range(region.ndim))
    turned = region if in_order else transposed(call, region, order)
    new = filling_positions(call, region, where, value)
    changed = scattered(call, turned, [part for _, part in where.arrays], new, False, reduction)
    changed = changed if in_order else call.transpose(changed, numpy.argsort(order).tolist())
    return _stored_in_region(call, target, inner_parts, region._replace(text=changed)) if is_part else changed


def _result_shape(index: Index, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of what numbers and slices take."""
    lengths = iter(_region_shape(shape, index.by_axis))
    result = []
    for part in index.parts:
        length = 1 if part is None else next(lengths)
        if not isinstance(part, int):
            result.append(length)
    return tuple(result)
