"""Where arrays of schedules lie: one aligned block of memory for each runner, shared by arrays that never meet.

A work is an item of a schedule with the memory that it takes. Works of all parts are numbered in the order in which
they run, so that what backward reads of forward stays, and what forward alone needs is taken again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy

from minpy.graph.native.fusing.nest import Place
from minpy.graph.native.language import Array, Layout, contiguous

__all__ = ["ALIGNMENT", "Block", "Memory", "Uses", "Whereabouts", "offsets", "owner_of", "whereabouts"]

ALIGNMENT = 64


class Block(NamedTuple):
    """Bytes that are needed from one work to another, both included."""

    size: int
    first: int
    last: int


def offsets(blocks: Sequence[Block], alignment: int = ALIGNMENT) -> tuple[list[int], int]:
    """Return where in one piece of memory each block lies, and how many bytes that has.

    Blocks that are needed at the same time do not overlap. The largest are placed first, each at the lowest offset
    that is free as long as it is needed ("greedy by size", Pisarchyk and Lee, Efficient Memory Management for Deep
    Neural Net Inference, 2020, section 4).

    Parameters
    ----------
    blocks : sequence of Block
    alignment : int
        Of every offset, in bytes.

    Returns
    -------
    list of int, int

    Examples
    --------
    >>> offsets([Block(100, 0, 1), Block(50, 1, 2), Block(100, 2, 3)])
    ([0, 128, 0], 192)
    """
    count = len(blocks)
    sizes = [-(-max(block.size, 1) // alignment) * alignment for block in blocks]
    found = [0] * count
    # What has been placed: first, last, begin, end.
    placed = numpy.empty((4, count), numpy.int64)
    whole = 0
    order = sorted(range(count), key=lambda number: (-sizes[number], blocks[number].first))
    for position, number in enumerate(order):
        _, first, last = blocks[number]
        known = placed[:, :position]
        meets = (known[0] <= last) & (known[1] >= first)
        begin = _gap(known[2, meets], known[3, meets], sizes[number])
        found[number] = begin
        placed[:, position] = first, last, begin, begin + sizes[number]
        whole = max(whole, begin + sizes[number])
    return found, whole


def _gap(begins: numpy.ndarray, ends: numpy.ndarray, size: int) -> int:
    """Return the lowest offset at which `size` bytes touch none of some ranges."""
    if not begins.size:
        return 0
    order = numpy.argsort(begins, kind="stable")
    begins = begins[order]
    reached = numpy.concatenate([[0], numpy.maximum.accumulate(ends[order])])
    fits = numpy.flatnonzero(begins - reached[:-1] >= size)
    return int(reached[fits[0]] if fits.size else reached[-1])


class Whereabouts(NamedTuple):
    """In which array's memory another lies, and its layout there."""

    owner: Array
    layout: Layout


class Uses(NamedTuple):
    """What a work takes: arrays that it reads and writes, those that only it uses, and bytes of scratch memory."""

    reads: Sequence[Array]
    writes: Sequence[Array]
    spare: Sequence[Array] = ()
    scratch: int = 0


@dataclass(slots=True)
class _Span:
    first: int
    last: int


class Memory:
    """A plan of the memory of all parts.

    Parameters
    ----------
    works : sequence of Uses
        Of all parts, in the order in which they run.
    places : mapping of Array to Place
        Arrays that lie in the memory of others.
    elsewhere : collection of Array
        Owners that have memory already: what callers give, what outlives the call, constants.
    lasting : iterable of Array
        What is needed until the end, whoever reads it.

    Attributes
    ----------
    offsets : dict of Array to int
        Where in the block the owners lie, in bytes.
    scratch : dict of int to int
        Where the scratch memory of works lies.
    nbytes : int
        The size of the block.
    unshared_bytes : int
        What it would be without sharing.
    """

    def __init__(
        self,
        works: Sequence[Uses],
        places: Mapping[Array, Place],
        elsewhere: Collection[Array],
        lasting: Iterable[Array] = (),
    ) -> None:
        self.places = places
        spans: dict[Array, _Span] = {}
        scratch: dict[int, int] = {}
        for number, work in enumerate(works):
            for array in (*work.reads, *work.writes, *work.spare):
                owner = self.owner(array)
                if owner not in elsewhere and not owner.is_constant:
                    spans.setdefault(owner, _Span(number, number)).last = number
            if work.scratch:
                scratch[number] = work.scratch
        for array in lasting:
            owner = self.owner(array)
            if owner in spans:
                spans[owner].last = len(works)
        blocks = [Block(owner.nbytes, span.first, span.last) for owner, span in spans.items()]
        blocks += [Block(size, number, number) for number, size in scratch.items()]
        found, self.nbytes = offsets(blocks)
        self.spans = {owner: (span.first, span.last) for owner, span in spans.items()}
        self.offsets = dict(zip(spans, found, strict=False))
        self.scratch = dict(zip(scratch, found[len(spans) :], strict=True))
        self.unshared_bytes = sum(block.size for block in blocks)

    def owner(self, array: Array) -> Array:
        """Return in whose memory an array lies."""
        return owner_of(array, self.places)

    def whereabouts(self, array: Array) -> Whereabouts:
        """Return in whose memory an array lies, and how."""
        return whereabouts(array, self.places)


def owner_of(array: Array, places: Mapping[Array, Place]) -> Array:
    """Return in whose memory an array lies."""
    root = array.root
    while root in places:
        root = places[root].root.root
    return root


def whereabouts(array: Array, places: Mapping[Array, Place]) -> Whereabouts:
    """Return in whose memory an array lies, and its layout there.

    Raises
    ------
    ValueError
        If it is a view of an array that lies scattered in another, and its elements have no layout there.
    """
    root, layout = array.root, array.layout
    while root in places:
        place = places[root]
        layout = _inside(array.shape, layout, root, place.layout)
        root = place.root
    return Whereabouts(root, layout)


def _inside(shape: Sequence[int], layout: Layout, root: Array, place: Layout) -> Layout:
    """Return a layout in the memory in which `root` lies by `place`, for one in the memory that `root` would have."""
    steps = contiguous(root.shape)
    axes = list(zip(root.shape, steps, place.strides, strict=True))
    if all(length == 1 or step == stride for length, step, stride in axes):
        return Layout(place.offset + layout.offset, layout.strides)
    offset, rest, free = place.offset, layout.offset, []
    for length, step, stride in axes:
        index, rest = divmod(rest, max(step, 1))
        offset += index * stride
        if length > 1:
            free.append((step, stride, index, length))
    strides = []
    for length, step in zip(shape, layout.strides, strict=True):
        if length == 1 or step == 0:
            strides.append(0)
            continue
        for axis in free:  # each axis of the view goes along one of the root's, and stays on it
            whole, stride, index, room = axis
            times, rest = divmod(step, whole)
            if rest == 0 and 0 <= index + (length - 1) * times < room:
                break
        else:
            raise ValueError(f"a view of {tuple(shape)} at {tuple(layout)} of {root.shape} lies scattered.")
        free.remove(axis)
        strides.append(times * stride)
    return Layout(offset, tuple(strides))
