"""Functions of NumPy's that join arrays, take them apart, and repeat or move their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.frameworks.row_parts import axes_of, axis_of, only
from minpy.onnx.exporting.array_parts import (
    LAST,
    at_least,
    chosen,
    counted,
    difference_of,
    empty,
    expanded,
    flattened,
    gathered,
    is_open,
    length_of,
    moved,
    nothing,
    operand_of,
    product_of,
    remainder_of,
    reshaped,
    scalar,
    size_of,
    sliced,
    sum_of,
    vector,
)
from minpy.onnx.exporting.calls import NodeCall, Rows

__all__ = ["ROWS"]

ROWS = Rows()
_row = ROWS.enter


# -- joined ------------------------------------------------------------------------------------------------------------


def _parts(call: NodeCall, arrays: Any) -> list[Operand]:
    """Return the arrays to be joined: those in a list, or along the first axis of one array."""
    if isinstance(arrays, Operand):
        shape, dtype = arrays.shape[1:], arrays.dtype
        return [
            Operand(call.node("Gather", arrays, call.ints(index), axis=0), shape, dtype)
            for index in range(arrays.shape[0])
        ]
    return [part if isinstance(part, Operand) else operand_of(call, part) for part in arrays]


def _joined(call: NodeCall, parts: Sequence[Any], axis: int) -> str:
    names = [call.array(part, call.result_dtype) for part in parts]
    if len(names) == 1:
        return names[0]
    name: str = call.node("Concat", *names, axis=axis)
    return name


def _with_axes(call: NodeCall, part: Operand, before: int, after: int = 0) -> Operand:
    """Return an array with new axes before and after its own."""
    if not before and not after:
        return part
    added = [*range(before), *range(before + part.ndim, before + part.ndim + after)]
    name = call.unsqueeze(part, added)
    return Operand(name, (*(1,) * before, *part.shape, *(1,) * after), part.dtype)


def _in_a_row(call: NodeCall, part: Operand) -> Operand:
    return Operand(flattened(call, part), (part.size,), part.dtype)


@_row("concatenate concat")
def _concatenate(call: NodeCall, arrays: Any, axis: Any = 0, dtype: Any = None, casting: Any = None) -> str:
    parts = _parts(call, arrays)
    if axis is None:
        return _joined(call, [_in_a_row(call, part) for part in parts], 0)
    return _joined(call, parts, axis_of(axis, len(call.shape)))


@_row("stack")
def _stack(call: NodeCall, arrays: Any, axis: int = 0, dtype: Any = None, casting: Any = None) -> str:
    at = axis_of(axis, len(call.shape))
    parts = []
    for part in _parts(call, arrays):
        shape = (*part.shape[:at], 1, *part.shape[at:])
        parts.append(Operand(call.unsqueeze(part, [at]), shape, part.dtype))
    return _joined(call, parts, at)


@_row("vstack row_stack")
def _vstack(call: NodeCall, tup: Any, dtype: Any = None, casting: Any = None) -> str:
    return _joined(call, [_with_axes(call, part, max(2 - part.ndim, 0)) for part in _parts(call, tup)], 0)


@_row("hstack")
def _hstack(call: NodeCall, tup: Any, dtype: Any = None, casting: Any = None) -> str:
    parts = [_with_axes(call, part, max(1 - part.ndim, 0)) for part in _parts(call, tup)]
    return _joined(call, parts, 0 if parts[0].ndim == 1 else 1)


@_row("dstack")
def _dstack(call: NodeCall, tup: Any, dtype: Any = None, casting: Any = None) -> str:
    parts = [_with_axes(call, part, max(2 - part.ndim, 0), int(part.ndim < 3)) for part in _parts(call, tup)]
    return _joined(call, parts, 2)


@_row("column_stack")
def _column_stack(call: NodeCall, tup: Any) -> str:
    parts = [_with_axes(call, part, int(part.ndim < 1), int(part.ndim < 2)) for part in _parts(call, tup)]
    return _joined(call, parts, 1)


@_row("append")
def _append(call: NodeCall, arr: Any, values: Any, axis: Any = None) -> str:
    return _concatenate(call, [arr, values], axis)


@_row("block")
def _block(call: NodeCall, arrays: Any) -> str:
    ndim = len(call.shape)

    def joined(nest: Any, depth: int) -> str:
        if isinstance(nest, list):
            return _joined(call, [joined(part, depth - 1) for part in nest], ndim - depth)
        part = nest if isinstance(nest, Operand) else operand_of(call, nest)
        return call.array(_with_axes(call, part._replace(text=call.array(part, call.result_dtype)), ndim - part.ndim))

    depth, nest = 0, arrays
    while isinstance(nest, list):
        depth, nest = depth + 1, nest[0]
    return joined(arrays, depth)


@_row("insert")
def _insert(call: NodeCall, arr: Any, obj: Any, values: Any, axis: Any = None) -> str:
    if isinstance(obj, Operand) and obj.value is not None and obj.ndim == 0:
        obj = int(obj.value)
    if not isinstance(obj, (int, numpy.integer)):
        raise call.refuse("obj= that is not one position")
    array = _in_a_row(call, arr) if axis is None else arr
    at = 0 if axis is None else axis_of(axis, array.ndim)
    count = call.shape[at] - array.shape[at]
    # One position takes the values along its axis: it is the first of theirs.
    new = _with_axes(call, operand_of(call, values), max(array.ndim - len(call.spec(values).shape), 0))
    name = call.array(new, array.dtype)
    if at:
        lengths = numpy.moveaxis(numpy.empty(range(1, array.ndim + 1)), 0, at).shape
        name = call.transpose(name, [length - 1 for length in lengths])
    shape = [length_of(call, array, each) if each != at else count for each in range(array.ndim)]
    inserted = expanded(call, name, vector(call, shape))
    before = sliced(call, array, [0], [int(obj)], [at])
    after = sliced(call, array, [int(obj)], [LAST], [at])
    return str(call.node("Concat", before, inserted, after, axis=at))


@_row("delete")
def _delete(call: NodeCall, arr: Any, obj: Any, axis: Any = None) -> str:
    if isinstance(obj, Operand) and obj.value is None:
        raise call.refuse("obj= that is not constant")
    where: Any = obj.value if isinstance(obj, Operand) else obj
    array = _in_a_row(call, arr) if axis is None else arr
    at = 0 if axis is None else axis_of(axis, array.ndim)
    if isinstance(where, (int, numpy.integer)) or (isinstance(where, numpy.ndarray) and where.ndim == 0):
        position = int(where)
        before = sliced(call, array, [0], [position], [at])
        if position == -1:
            return before
        after = sliced(call, array, [position + 1], [LAST], [at])
        name: str = call.node("Concat", before, after, axis=at)
        return name
    return gathered(call, array, numpy.delete(numpy.arange(array.shape[at]), where), at)


@_row("resize")
def _resize(call: NodeCall, a: Any, new_shape: Any) -> str:
    if not a.size:
        raise call.refuse("an array without elements")
    size = int(numpy.prod(call.shape, dtype=numpy.int64))
    if is_open(call):
        positions = remainder_of(
            call, call.node("Range", call.ints(0), call.ints(size), call.ints(1)), size_of(call, a)
        )
    else:
        positions = call.emitter.stored(numpy.arange(size) % a.size)
    return reshaped(call, gathered(call, flattened(call, a), positions, 0), call.shape)


# -- taken apart -------------------------------------------------------------------------------------------------------


@_row("split array_split")
def _split(call: NodeCall, ary: Any, indices_or_sections: Any, axis: int = 0) -> tuple[str, ...]:
    sections = indices_or_sections
    at = axis_of(axis, ary.ndim)
    if isinstance(sections, Operand):
        sections = sections.value.tolist() if sections.value is not None else sections
    if isinstance(sections, Operand):
        raise call.refuse("sections that are not constant")
    lengths = [spec.shape[at] for spec in call.results]
    if isinstance(sections, (int, numpy.integer)):
        if len(lengths) == 1:
            return (call.array(ary),)
        if is_open(call):
            return _split_evenly(call, ary, at, len(lengths))
        return tuple(call.node("Split", ary, call.ints(lengths), outputs=len(lengths), axis=at))
    bounds = [int(each) for each in numpy.asarray(sections).tolist()]
    if len(lengths) > 1 and sum(lengths) == ary.shape[at] and not is_open(call):
        return tuple(call.node("Split", ary, call.ints(lengths), outputs=len(lengths), axis=at))
    starts, stops = [0, *bounds], [*bounds, LAST]
    return tuple(sliced(call, ary, [start], [stop], [at]) for start, stop in zip(starts, stops, strict=True))


def _split_evenly(call: NodeCall, array: Operand, axis: int, count: int) -> tuple[str, ...]:
    """Return parts of an axis with any length: what it cannot be divided by makes the first ones longer."""
    length = scalar(call, length_of(call, array, axis))
    size = call.node("Div", length, call.ints(count))
    sizes = [size] * count
    if call.key == "array_split":
        more = call.node("Mod", length, call.ints(count))
        longer = call.node("Add", size, call.ints(1))
        sizes = [call.node("Where", call.node("Less", call.ints(at), more), longer, size) for at in range(count)]
    return tuple(call.node("Split", array, vector(call, sizes), outputs=count, axis=axis))


@_row("hsplit")
def _hsplit(call: NodeCall, ary: Any, indices_or_sections: Any) -> tuple[str, ...]:
    return _split(call, ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


@_row("vsplit")
def _vsplit(call: NodeCall, ary: Any, indices_or_sections: Any) -> tuple[str, ...]:
    return _split(call, ary, indices_or_sections, 0)


@_row("dsplit")
def _dsplit(call: NodeCall, ary: Any, indices_or_sections: Any) -> tuple[str, ...]:
    return _split(call, ary, indices_or_sections, 2)


# -- repeated and moved ------------------------------------------------------------------------------------------------


@_row("tile")
def _tile(call: NodeCall, A: Any, reps: Any) -> str:
    counts = [
        int(count) for count in (reps if isinstance(reps, (tuple, list)) else numpy.atleast_1d(_plain(call, reps)))
    ]
    ndim = len(call.shape)
    array = A if isinstance(A, Operand) else operand_of(call, A)
    whole = _with_axes(call, array, ndim - array.ndim)
    name: str = call.node("Tile", whole, call.ints([1] * (ndim - len(counts)) + counts))
    return name


def _plain(call: NodeCall, value: Any) -> Any:
    """Return an argument that has to be constant."""
    if isinstance(value, Operand):
        if value.value is None:
            raise call.refuse("an argument that is not constant")
        return value.value
    return value


@_row("repeat")
def _repeat(call: NodeCall, a: Any, repeats: Any, axis: Any = None) -> str:
    array = _in_a_row(call, a) if axis is None else a
    at = 0 if axis is None else axis_of(axis, array.ndim)
    counts = numpy.asarray(_plain(call, repeats))
    if counts.size != 1:
        return gathered(call, array, numpy.repeat(numpy.arange(array.shape[at]), counts), at)
    if empty(call):
        return nothing(call)
    reps = [1] * (array.ndim + 1)
    reps[at + 1] = int(counts.reshape(-1)[0])
    tiled = call.node("Tile", call.unsqueeze(array, [at + 1]), call.ints(reps))
    return call.reshape(tiled, [*call.shape[:at], -1, *call.shape[at + 1 :]])


@_row("roll")
def _roll(call: NodeCall, a: Any, shift: Any, axis: Any = None) -> str:
    if empty(call):
        return nothing(call)
    if axis is None:
        shifts = [int(numpy.sum(_plain(call, shift)))]
        rolled = _rolled(call, _in_a_row(call, a), shifts[0], 0)
        return rolled if a.ndim == 1 else reshaped(call, rolled, call.shape)
    by_axis: dict[int, int] = {}
    pairs = numpy.broadcast(numpy.asarray(_plain(call, shift)), numpy.asarray(axis))
    for each, at in pairs:
        at = axis_of(int(at), a.ndim)
        by_axis[at] = by_axis.get(at, 0) + int(each)
    for at, each in by_axis.items():
        a = a._replace(text=_rolled(call, a, each, at), value=None)
    return call.array(a)


def _rolled(call: NodeCall, array: Operand, shift: int, axis: int) -> str:
    if is_open(call):
        length = length_of(call, array, axis)
        positions = counted(call, 0, length)
        return gathered(call, array, remainder_of(call, call.node("Sub", positions, call.ints(shift)), length), axis)
    shift %= array.shape[axis]
    if not shift:
        return call.array(array)
    parts = sliced(call, array, [-shift], [LAST], [axis]), sliced(call, array, [0], [-shift], [axis])
    name: str = call.node("Concat", *parts, axis=axis)
    return name


# -- padded ------------------------------------------------------------------------------------------------------------


@_row("pad")
def _pad(
    call: NodeCall,
    array: Any,
    pad_width: Any,
    mode: str = "constant",
    constant_values: Any = 0,
    reflect_type: str = "even",
) -> str:
    only(call, "mode", mode, ("constant", "edge", "reflect", "wrap", "symmetric"))
    only(call, "reflect_type", reflect_type, ("even",))
    array = array if isinstance(array, Operand) else operand_of(call, array)
    if not array.ndim:
        return call.array(array)
    widths = _widths(call, pad_width, array.ndim)
    if mode == "constant":
        return _padded_by_constants(call, array, widths, constant_values)
    lengths = array.shape
    if mode == "edge":
        return moved(call, "Pad", array, _pads(call, widths), dtype=array.dtype, mode=mode)
    if mode == "reflect" and not is_open(call) and all(max(pair) < n for pair, n in zip(widths, lengths, strict=True)):
        return moved(call, "Pad", array, _pads(call, widths), dtype=array.dtype, mode=mode)
    name = call.array(array)
    for axis, (before, after) in enumerate(widths):
        if before or after:
            positions = _padding_positions(call, array, axis, before, after, mode)
            name = gathered(call, name, positions, axis)
    return name


def _widths(call: NodeCall, pad_width: Any, ndim: int) -> list[list[int]]:
    if isinstance(pad_width, dict):
        widths = [[0, 0] for _ in range(ndim)]
        for axis, width in pad_width.items():
            widths[axis] = numpy.broadcast_to(width, (2,)).tolist()
        return widths
    given: list[list[int]] = numpy.broadcast_to(numpy.asarray(_plain(call, pad_width)), (ndim, 2)).tolist()
    return given


def _pads(call: NodeCall, widths: Sequence[Sequence[int]]) -> str:
    return call.ints([pair[0] for pair in widths] + [pair[1] for pair in widths])


def _padded_by_constants(call: NodeCall, array: Operand, widths: Sequence[Sequence[int]], values: Any) -> str:
    dtype = array.dtype
    if isinstance(values, Operand) and values.value is None:
        if values.size != 1:
            raise call.refuse("constant_values= that differ and are not constant")
        value = call.array(values, dtype)
        value = value if values.ndim == 0 else call.reshape(value, [])
        return _padded(call, array, widths, value)
    pairs = numpy.broadcast_to(numpy.asarray(_plain(call, values)), (array.ndim, 2)).astype(dtype)
    if not array.ndim or (pairs == pairs.flat[0]).all():
        return _padded(call, array, widths, pairs.flat[0] if array.ndim else 0)
    name = array
    for axis in range(array.ndim):
        for side in (0, 1):
            only_here = [[0, 0] for _ in range(array.ndim)]
            only_here[axis][side] = widths[axis][side]
            if widths[axis][side]:
                name = name._replace(text=_padded(call, name, only_here, pairs[axis, side]), value=None)
    return call.array(name)


def _padded(call: NodeCall, array: Operand, widths: Sequence[Sequence[int]], value: Any) -> str:
    if isinstance(value, str):
        name: str = call.node("Pad", array, _pads(call, widths), value)
        return name
    dtype = numpy.dtype(array.dtype)
    if dtype.name in ("int16", "uint16", "uint64", "bool"):
        moved_as = numpy.dtype({"bool": "uint8", "uint64": "int64"}.get(dtype.name, "int32"))
        name = call.node("Pad", call.cast(call.array(array), moved_as), _pads(call, widths), moved_as.type(value))
        return call.cast(name, dtype)
    return str(call.node("Pad", array, _pads(call, widths), numpy.asarray(value, dtype)))


def _padding_positions(call: NodeCall, array: Operand, axis: int, before: int, after: int, mode: str) -> str:
    """Return which elements of an axis stand where it is padded."""
    if not is_open(call):
        indices = numpy.arange(array.shape[axis])
        return call.emitter.stored(numpy.pad(indices, (before, after), mode=mode))  # type: ignore[call-overload]
    length = length_of(call, array, axis)
    places = counted(call, -before, sum_of(call, length, after))
    if mode == "wrap":
        return remainder_of(call, places, length)
    # There and back: of an axis of n elements that takes 2 n steps, or 2 n - 2 where ends are not repeated.
    last = difference_of(call, length, 1)
    period = product_of(call, length, 2)
    if mode == "reflect":
        period = at_least(call, difference_of(call, period, 2), 1)
    along = remainder_of(call, places, period)
    is_back = call.node("Greater", along, scalar(call, last))
    end = difference_of(call, period, 1 if mode == "symmetric" else 0)
    return chosen(call, is_back, call.node("Sub", scalar(call, end), along), along, numpy.int64)


# -- differences -------------------------------------------------------------------------------------------------------


def difference(call: NodeCall, left: str, right: str, dtype: numpy.dtype) -> str:
    """Return a difference, of whole numbers in a dtype of which there is one."""
    if dtype.name in ("int8", "int16", "uint8", "uint16"):
        name = call.node("Sub", call.cast(left, numpy.int32), call.cast(right, numpy.int32))
        return call.cast(name, dtype)
    return str(call.node("Sub", left, right))


@_row("ediff1d")
def _ediff1d(call: NodeCall, ary: Any, to_end: Any = None, to_begin: Any = None) -> str:
    row = flattened(call, ary)
    later, earlier = sliced(call, row, [1], [LAST], [0]), sliced(call, row, [0], [-1], [0])
    middle = difference(call, later, earlier, ary.dtype)
    ends = [None if end is None else call.reshape(call.array(end, ary.dtype), [-1]) for end in (to_begin, to_end)]
    parts = [part for part in (ends[0], middle, ends[1]) if part is not None]
    name: str = parts[0] if len(parts) == 1 else call.node("Concat", *parts, axis=0)
    return name


@_row("vander")
def _vander(call: NodeCall, x: Any, N: Any = None, increasing: bool = False) -> str:
    dtype = call.result_dtype
    powers = counted(call, 0, call.shape[1])
    if not increasing:
        powers = call.node("Sub", call.ints(call.shape[1] - 1), powers)
    column = call.unsqueeze(call.array(x, dtype), [1])
    name: str = call.node("Pow", column, call.cast(powers, dtype))
    return name


@_row("fft.fftshift fft.ifftshift")
def _fftshift(call: NodeCall, x: Any, axes: Any = None) -> str:
    array = x
    for axis in axes_of(axes, x.ndim):
        half = array.shape[axis] // 2
        shift = half if call.key == "fft.fftshift" else -half
        if is_open(call):
            length = length_of(call, array, axis)
            half_name = call.node("Div", scalar(call, length), call.ints(2))
            positions = counted(call, 0, length)
            moved_by = call.node("Sub" if shift > 0 else "Add", positions, half_name)
            name = gathered(call, array, remainder_of(call, moved_by, length), axis)
        else:
            name = _rolled(call, array, shift, axis)
        array = array._replace(text=name, value=None)
    return call.array(array)
