"""The loops of a nest: which axes are one loop, in which order they run, and along which one vectors lie.

Vectors lie along the *lane*: the axis along which most of what is read and written is contiguous. Either it is inner,
and each outer point has vectors of its own, or it is outer (a sum along the first axis): then points of a *tile* of the
lane are done together, and what a reduction gives is one vector of the tile.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy

from minpy.backends.native.fusing.loop_nest import Level, Nest, Place, aligned_strides, reduced_axes
from minpy.backends.native.language import Array, Layout, Reduce, contiguous

__all__ = ["Access", "Dim", "Geometry", "geometry_of", "is_of_rows", "normalised"]


def normalised(nest: Nest) -> Nest:
    """Return a nest with inner axes longer than 1, or none: then what it gives per outer point is at every point."""
    if any(nest.shape[axis] != 1 for axis in nest.inner):
        return nest
    levels: dict[Array, Level] = {
        array: Level.FULL if level is Level.ROW else level for array, level in nest.levels.items()
    }
    return Nest(nest.shape, frozenset(), nest.steps, levels, dict.fromkeys(nest.phases, 0), nest.stored)


@dataclass(eq=False, slots=True)
class Dim:
    """A loop: one axis, or several that are one in memory. `axis` is the innermost of them."""

    length: int
    axis: int


@dataclass(eq=False, slots=True)
class Access:
    """How an array is read or written in a nest, or, without a pointer, what index an 'argmax' gives."""

    dtype: numpy.dtype
    strides: Mapping[int, int]  # in elements, by axis of the iteration space
    root: Array | None = None  # in whose memory it is
    offset: int = 0  # in elements
    written: bool = False

    is_index: bool = False

    def moves(self, dims: Iterable[Dim]) -> bool:
        """Tell whether it depends on some of the loops."""
        return any(self.strides.get(dim.axis, 0) for dim in dims)


@dataclass(slots=True)
class Geometry:
    """The loops of a nest, from the outside to the inside: `free`, `scope`, then `inner` and `lane`, or tiles of it.

    Attributes
    ----------
    rows, columns : dict of Array to frozenset of int
        The reductions that are done along all inner axes in registers; those that are summed up in memory, and along
        which outer axes. A reduction may be both: first along the inner axes, then along outer ones.
    """

    free: list[Dim]  # outer loops along which no `COLUMN` reduction runs: threads can share them
    scope: list[Dim]  # the other outer loops: what `COLUMN` reductions give is complete when they are done
    inner: list[Dim]  # the inner loops; the last of them is the lane, if that is an inner one
    lane: Dim | None  # None if there is only one element
    across: bool  # whether the lane is an outer axis, though there are inner ones
    rows: dict[Array, None]
    columns: dict[Array, frozenset[int]]
    reads: dict[Array, Access] = field(default_factory=dict)  # what is read from memory, views as they are
    stores: dict[Array, Access] = field(default_factory=dict)  # what is written, `COLUMN` results among it
    indices: dict[Array, Access] = field(default_factory=dict)  # of 'argmax' and 'argmin'

    @property
    def outer(self) -> list[Dim]:
        """All outer loops but that of the lane."""
        return self.free + self.scope


def geometry_of(nest: Nest, places: Mapping[Array, Place]) -> Geometry:
    """Return the loops of a nest; `places` say what of its reads lies in the memory of others."""
    space = nest.shape
    reads, stores, indices = _accesses(nest, places)
    every = [*reads.values(), *stores.values(), *indices.values()]
    longer = [axis for axis, length in enumerate(space) if length != 1]
    lane_axis = _lane(longer, every, space)
    sets = {
        step.output: reduced_axes(step, space) & frozenset(longer) for step in nest.steps if isinstance(step, Reduce)
    }
    inner = _inner(nest, sets, lane_axis, space, longer)
    rows = {array: None for array, axes in sets.items() if _is_row(nest, array, axes, inner)}
    columns = {
        array: axes - inner for array, axes in sets.items() if nest.levels[array] is Level.COLUMN or axes - inner
    }
    columns = {array: axes for array, axes in columns.items() if array not in rows or axes}
    along_columns = frozenset(axis for axes in columns.values() for axis in axes)

    across = bool(inner) and lane_axis is not None and lane_axis not in inner and lane_axis not in along_columns
    if inner and not across:
        lane_axis = _lane(sorted(inner), every, space)
    elif not inner and lane_axis in along_columns:  # what moves along the lane is summed up one by one
        lane_axis = None

    def weight(axis: int) -> tuple[int, int]:
        return (-sum(abs(access.strides[axis]) * access.dtype.itemsize for access in every), axis)

    def pattern(axis: int) -> tuple[bool, ...]:
        return (axis in inner, *(axis in axes for axes in columns.values()))

    def merged(axes: Sequence[int]) -> list[Dim]:
        dims: list[Dim] = []
        for axis in axes:
            length = space[axis]
            if (
                dims
                and pattern(dims[-1].axis) == pattern(axis)
                and all(access.strides[dims[-1].axis] == access.strides[axis] * length for access in every)
            ):
                dims[-1].length *= length
                dims[-1].axis = axis
            else:
                dims.append(Dim(length, axis))
        return dims

    free_axes = sorted((a for a in longer if a not in inner and a not in along_columns), key=weight)
    scope_axes = sorted((a for a in longer if a in along_columns), key=weight)
    inner_axes = sorted(inner, key=weight)
    if lane_axis is not None:
        for axes in (free_axes, inner_axes):
            if lane_axis in axes:
                axes.remove(lane_axis)
                axes.append(lane_axis)
    free, scope, within = merged(free_axes), merged(scope_axes), merged(inner_axes)
    lane: Dim | None = None
    if across:
        lane = free.pop()
    elif within:
        lane = within[-1]
    elif not inner and free and lane_axis is not None:
        lane = free.pop()
        within = [lane]
    return Geometry(free, scope, within, lane, across, rows, columns, reads, stores, indices)


def _accesses(
    nest: Nest, places: Mapping[Array, Place]
) -> tuple[dict[Array, Access], dict[Array, Access], dict[Array, Access]]:
    space = nest.shape

    def access(array: Array, root: Array, offset: int, strides: Sequence[int], written: bool) -> Access:
        return Access(array.dtype, dict(enumerate(strides)), root, offset, written)

    reads: dict[Array, Access] = {}
    seen: dict[tuple[Array, int, tuple[int, ...]], Access] = {}
    for array in nest.reads():
        root, layout = array.root, array.layout
        if root in places:
            root, layout = places[root].root, _layout_in(array, places[root].layout)
        strides = aligned_strides(array.shape, layout.strides, space)
        strides = tuple(0 if length == 1 else stride for length, stride in zip(space, strides, strict=True))
        key = (root, layout.offset, strides)
        if key not in seen:
            seen[key] = access(array, root, layout.offset, strides, False)
        reads[array] = seen[key]
    stores: dict[Array, Access] = {}
    indices: dict[Array, Access] = {}
    for step in nest.steps:
        array = step.output
        if array in nest.stored or nest.levels[array] is Level.COLUMN:
            place = nest.stored.get(array)
            layout = place.layout if place is not None else array.layout
            strides = aligned_strides(array.shape, layout.strides, space)
            strides = tuple(0 if length == 1 else stride for length, stride in zip(space, strides, strict=True))
            stores[array] = access(array, place.root if place is not None else array, layout.offset, strides, True)
        if isinstance(step, Reduce) and step.function.startswith("arg"):
            (operand,) = step.operands
            lead = len(space) - len(operand.shape)
            index_shape = [length if axis in step.axes else 1 for axis, length in enumerate(operand.shape)]
            result = dict.fromkeys(range(len(space)), 0)
            for axis, stride in enumerate(contiguous(index_shape)):
                if index_shape[axis] != 1:
                    result[axis + lead] = stride
            indices[array] = Access(numpy.dtype("int64"), result, is_index=True)
    return reads, stores, indices


def _layout_in(array: Array, place: Layout) -> Layout:
    """Return where a view, or an array, lies whose root has a place in other memory."""
    root = array.root
    if array is root:
        return place
    offset, strides = array.layout
    steps = contiguous(root.shape)
    start = [offset // step % length if length else 0 for step, length in zip(steps, root.shape, strict=True)]
    moved = place.offset + sum(index * stride for index, stride in zip(start, place.strides, strict=True))
    result = []
    for length, stride in zip(array.shape, strides, strict=True):
        if length == 1 or not stride:
            result.append(0)
            continue
        for axis, step in enumerate(steps):
            count = stride // step if stride % step == 0 else 0
            reach = start[axis] + count * (length - 1)
            if count and root.shape[axis] > 1 and 0 <= reach < root.shape[axis]:
                result.append(count * place.strides[axis])
                break
        else:
            raise ValueError(
                f"a view {array.shape} at {tuple(array.layout)} of {root.shape} cannot be read where that lies, at "
                f"{tuple(place)} of another array."
            )
    return Layout(moved, tuple(result))


def _lane(axes: Sequence[int], accesses: Sequence[Access], space: Sequence[int]) -> int | None:
    """Return the axis along which most bytes are contiguous, the last of equals."""
    best, result = -1.0, None
    for axis in axes:
        score = 0.0
        for access in accesses:
            if access.root is None:
                continue
            size = math.prod(space[other_axis] for other_axis, stride in access.strides.items() if stride)
            weight = access.dtype.itemsize * (2 if access.written else 1) * size
            stride = abs(access.strides[axis])
            score += weight if stride == 1 else weight / 4 if not stride else 0
        if space[axis] < 4:  # too few for a vector
            score *= space[axis] / 16
        if score >= best:
            best, result = score, axis
    return result


def _inner(
    nest: Nest,
    sets: Mapping[Array, frozenset[int]],
    lane_axis: int | None,
    space: Sequence[int],
    longer: Sequence[int],
) -> frozenset[int]:
    """Return the inner axes: those of the nest, or better ones, where nothing is read that a reduction gives."""
    own = nest.inner & frozenset(longer)
    arrays = set(sets)
    indexed = any(isinstance(array.step, Reduce) and array.step.function.startswith("arg") for array in arrays)
    inside = any(operand.root in arrays for step in nest.steps for operand in step.operands)
    if (
        inside
        or indexed
        or not arrays
        or any(level is Level.ROW and a not in arrays for a, level in nest.levels.items())
        or any(isinstance(array.step, Reduce) and is_of_rows(nest, array.step) for array in arrays)
    ):
        return own
    groups: dict[tuple[bool, ...], list[int]] = {}
    for axis in longer:
        groups.setdefault(tuple(axis in axes for axes in sets.values()), []).append(axis)
    if lane_axis is not None:
        for pattern, axes in groups.items():
            if lane_axis in axes and any(pattern):
                return frozenset(axes)
    reduced = [axes for pattern, axes in groups.items() if any(pattern)]
    if not reduced:
        return frozenset()
    return frozenset(max(reduced, key=lambda axes: math.prod(space[axis] for axis in axes)))


def _is_row(nest: Nest, array: Array, axes: frozenset[int], inner: frozenset[int]) -> bool:
    """Tell whether a reduction runs along the inner axes in registers."""
    step = array.step
    assert isinstance(step, Reduce)
    if inner & axes and not inner <= axes:
        raise ValueError(f"{step.label()} is along some inner axes, and not along others: {sorted(inner)}.")
    if is_of_rows(nest, step):
        return False
    return bool(inner & axes) or (not axes and nest.levels[array] is Level.ROW)


def is_of_rows(nest: Nest, step: Reduce) -> bool:
    """Tell whether a reduction takes in something once an outer point: what is not repeated along inner axes."""
    (operand,) = step.operands
    if nest.levels.get(operand.root, Level.ROW) is not Level.ROW:
        return False
    inner = [axis for axis in nest.inner if nest.shape[axis] != 1 or operand.root in nest.levels]
    lead = len(nest.shape) - len(operand.shape)
    lengths = [operand.shape[axis - lead] for axis in inner if axis >= lead]
    return (bool(inner) or operand.root in nest.levels) and all(length == 1 for length in lengths)
