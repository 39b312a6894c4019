"""Indices of arrays, as parts of which each is for one axis; the elements that they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.array_parts import FIRST, LAST, expanded, gathered, is_open, operand_of, sliced
from minpy.onnx.exporting.calls import NodeCall

__all__ = ["FULL", "Index", "index_of", "index_tuples", "is_full", "restricted", "taken"]

FULL = slice(None)


@dataclass(frozen=True)
class Index:
    """An index of an array.

    Attributes
    ----------
    parts : tuple
        For each axis a number, a slice, or an array of whole numbers; None for a new axis. Where there are arrays,
        numbers are arrays without axes.
    """

    parts: tuple[Any, ...]

    @property
    def by_axis(self) -> list[Any]:
        """The parts but those for new axes: one for each axis."""
        return [part for part in self.parts if part is not None]

    @property
    def arrays(self) -> list[tuple[int, Operand]]:
        """The arrays, each with the axis that it is for."""
        return [(axis, part) for axis, part in enumerate(self.by_axis) if isinstance(part, Operand)]

    def block(self) -> tuple[int, int]:
        """Return (where the axes of the arrays stand in the result, how many these are)."""
        ndim = len(numpy.broadcast_shapes(*(part.shape for _, part in self.arrays)))
        places = [place for place, part in enumerate(self.parts) if isinstance(part, Operand)]
        if places[-1] - places[0] + 1 > len(places):
            return 0, ndim
        return places[0], ndim


def index_of(call: NodeCall, ndim: int, index: Any) -> Index:
    """Return an index, as it stands between brackets, of an array with so many axes."""
    given = list(index) if isinstance(index, tuple) and not isinstance(index, Operand) else [index]
    parts: list[Any] = []
    for part in given:
        parts += _parts(call, part)
    count = sum(part is not None and part is not Ellipsis for part in parts)
    if not any(part is Ellipsis for part in parts):
        parts.append(Ellipsis)
    place = next(place for place, part in enumerate(parts) if part is Ellipsis)
    parts[place : place + 1] = [FULL] * (ndim - count)
    if any(isinstance(part, Operand) for part in parts):
        parts = [operand_of(call, part) if isinstance(part, int) else part for part in parts]
    return Index(tuple(parts))


def _parts(call: NodeCall, part: Any) -> list[Any]:
    if part is None or part is Ellipsis:
        return [part]
    if isinstance(part, slice):
        return [
            slice(*(None if bound is None else _whole(call, bound) for bound in (part.start, part.stop, part.step)))
        ]
    if isinstance(part, (bool, numpy.bool_)):
        raise call.refuse("an index that is True or False")
    if isinstance(part, (int, numpy.integer)):
        return [int(part)]
    array = operand_of(call, part)
    if array.dtype.kind == "b":
        if array.value is None or not array.ndim:
            raise call.refuse("an index that is a mask, whose values are not known")
        return [call.emitter.constant(each) for each in numpy.nonzero(array.value)]
    if array.size == 0 and array.dtype.kind == "f":  # an empty list
        array = call.emitter.constant(numpy.zeros(array.shape, numpy.int64))
    if array.ndim == 0 and array.value is not None:
        return [int(array.value)]
    return [array]


def _whole(call: NodeCall, bound: Any) -> int:
    if isinstance(bound, Operand):
        if bound.value is None:
            raise call.refuse("a slice whose bounds are computed")
        bound = bound.value
    return int(bound)


def is_full(part: Any) -> bool:
    """Tell whether a part of an index takes a whole axis as it is."""
    return isinstance(part, slice) and part.start in (None, 0) and part.stop is None and part.step in (None, 1)


def restricted(call: NodeCall, array: Any, by_axis: Sequence[Any]) -> str:
    """Return an array with the slices of an index taken; other parts stay whole axes."""
    slices = [(axis, part) for axis, part in enumerate(by_axis) if isinstance(part, slice) and not is_full(part)]
    name = call.array(array)
    # A slice that goes backwards from before the first element takes nothing, and ONNX's takes the first: what is
    # from the start on is taken before.
    behind = [(axis, part) for axis, part in slices if (part.step or 1) < 0 and (part.start or 0) < -1]
    if behind:
        name = sliced(call, name, [0] * len(behind), [part.start + 1 for _, part in behind], [at for at, _ in behind])
    if not slices:
        return name
    starts, stops, steps = [], [], []
    for _, part in slices:
        start, stop, step = part.start, part.stop, part.step or 1
        if step < 0 and (start or 0) < -1:
            stop = min(stop - start - 1, -1) if stop is not None and stop < 0 else stop
            start = None
        starts.append((0 if step > 0 else LAST) if start is None else start)
        stops.append((LAST if step > 0 else FIRST) if stop is None else stop)
        steps.append(step)
    axes = [axis for axis, _ in slices]
    return sliced(call, name, starts, stops, axes, None if all(step == 1 for step in steps) else steps)


def index_tuples(call: NodeCall, arrays: Sequence[Operand]) -> str:
    """Return the name of arrays of whole numbers, broadcast, along a new last axis: what `GatherND` takes."""
    shape = numpy.broadcast_shapes(*(each.shape for each in arrays))
    if all(each.value is not None for each in arrays) and not is_open(call):
        values = numpy.broadcast_arrays(*(each.value for each in arrays if each.value is not None))
        return call.emitter.stored(numpy.stack(values, axis=-1).astype(numpy.int64))
    rows = []
    for each in arrays:
        name = call.array(each, numpy.int64)
        if each.shape != shape:
            name = expanded(call, name, shape)
        rows.append(call.unsqueeze(name, [-1]))
    return rows[0] if len(rows) == 1 else str(call.node("Concat", *rows, axis=-1))


def taken(call: NodeCall, array: Any, index: Index) -> str:
    """Return the elements that an index takes."""
    name = restricted(call, array, index.by_axis)
    if not index.arrays:
        for axis, part in reversed(list(enumerate(index.by_axis))):
            if isinstance(part, int):
                name = call.node("Gather", name, call.ints(part), axis=axis)
        remaining = [part for part in index.parts if not isinstance(part, int)]
        added = [place for place, part in enumerate(remaining) if part is None]
        return call.unsqueeze(name, added) if added else name
    start, ndim = index.block()
    others = [part for part in index.parts if not isinstance(part, Operand)]
    if len(index.arrays) == 1:
        ((axis, positions),) = index.arrays
        name = gathered(call, name, positions, axis)
    else:
        axes = [axis for axis, _ in index.arrays]
        count = len(index.by_axis)
        order = axes + [axis for axis in range(count) if axis not in axes]
        if order != list(range(count)):
            name = call.transpose(name, order)
        name = call.node("GatherND", name, index_tuples(call, [part for _, part in index.arrays]))
        before = sum(part is not None for part in others[:start])
        rest = len(order) - len(axes)
        if before:
            name = call.transpose(name, [*range(ndim, ndim + before), *range(ndim), *range(ndim + before, ndim + rest)])
    added = [place if place < start else place + ndim for place, part in enumerate(others) if part is None]
    return call.unsqueeze(name, added) if added else name
