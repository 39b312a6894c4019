"""Where arrays of schedules lie: one aligned block of memory for each runner, shared by arrays that never meet.

A work is an item of a schedule with the memory that it takes. Works of all parts are numbered in the order in which
they run, so that what backward reads of forward stays, and what forward alone needs is taken again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy

from minpy.backends.native.fusing.nest import Place
from minpy.backends.native.language import Array, Layout, contiguous
from minpy.backends.native.running import ALIGNMENT

__all__ = ["ALIGNMENT", "Block", "Memory", "Uses", "Whereabouts", "offsets", "owner_of", "whereabouts"]


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
    """What a work takes.

    Arrays that it reads and writes, and those that only it uses; bytes of scratch memory; pairs of arrays, one written
    and one read, that may lie in the same memory, element for element.
    """

    reads: Sequence[Array]
    writes: Sequence[Array]
    spare: Sequence[Array] = ()
    scratch: int = 0
    in_place: Sequence[tuple[Array, Array]] = ()


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
    wanted : mapping of Array to Array, optional
        Owners that are to lie where others do that are elsewhere, if what gives them can compute them in place.
    prepared : iterable of Array
        Owners whose values outlive the call: they have a block of their own, where each has a place that nothing else
        takes.

    Attributes
    ----------
    offsets : dict of Array to int
        Where in the block the owners lie, in bytes.
    scratch : dict of int to int
        Where the scratch memory of works lies.
    spans : dict of Array to (int, int)
        From which work to which each owner is needed.
    heirs : dict of Array to Array
        Owners that lie where another did, which is not needed any more; or those that are wanted there, elsewhere.
    prepared : dict of Array to int
        Where in the block of what outlives the call its owners lie, in bytes.
    prepared_bytes : int
        The size of that block.
    nbytes : int
        The size of the block.
    least_bytes : int
        The most bytes that are needed at once: no block could be smaller.
    unshared_bytes : int
        What it would be without sharing.
    """

    def __init__(
        self,
        works: Sequence[Uses],
        places: Mapping[Array, Place],
        elsewhere: Collection[Array],
        lasting: Iterable[Array] = (),
        wanted: Mapping[Array, Array] | None = None,
        prepared: Iterable[Array] = (),
    ) -> None:
        self.places = places
        self.prepared: dict[Array, int] = {}
        self.prepared_bytes = 0
        for owner in prepared:
            self.prepared[owner] = self.prepared_bytes
            self.prepared_bytes += -(-owner.nbytes // ALIGNMENT) * ALIGNMENT
        self.spans: dict[Array, tuple[int, int]] = {}
        self.heirs: dict[Array, Array] = {}
        scratch = {number: work.scratch for number, work in enumerate(works) if work.scratch}
        for number, work in enumerate(works):
            for array in (*work.reads, *work.writes, *work.spare):
                owner = self.owner(array)
                if owner not in elsewhere and owner not in self.prepared and not owner.is_constant:
                    self.spans[owner] = (self.spans.get(owner, (number, number))[0], number)
        for array in lasting:
            owner = self.owner(array)
            if owner in self.spans:
                self.spans[owner] = (self.spans[owner][0], len(works))
        self.unshared_bytes = sum(owner.nbytes for owner in self.spans) + sum(scratch.values())
        whole = dict(self.spans)
        self._taken: set[Array] = set()
        for number, work in enumerate(works):
            for written, read in work.in_place:
                if wanted and wanted.get(written) is read and self.spans.get(written, (-1,))[0] == number:
                    self.heirs[written] = read
                    whole.pop(written, None)
                    continue
                self._hand_over(number, self.owner(written), self.owner(read), whole)
        blocks = [Block(owner.nbytes, first, last) for owner, (first, last) in whole.items()]
        blocks += [Block(size, number, number) for number, size in scratch.items()]
        found, self.nbytes = offsets(blocks)
        self.least_bytes = _least_bytes(blocks, len(works) + 1)
        self.offsets = dict(zip(whole, found, strict=False))
        self.scratch = dict(zip(scratch, found[len(whole) :], strict=True))
        for heir, owner in self.heirs.items():
            if owner in self.offsets:
                self.offsets[heir] = self.offsets[owner]

    def _hand_over(self, number: int, heir: Array, owner: Array, whole: dict[Array, tuple[int, int]]) -> None:
        """Let an array lie where another did that is not needed after a work, if that is so, and it begins there."""
        if (
            heir in whole
            and owner in self.spans
            and self.spans[heir][0] == self.spans[owner][1] == number
            and heir.nbytes == owner.nbytes
            and owner not in self._taken
        ):
            self._taken.add(owner)
            first = self.heirs.get(owner, owner)
            self.heirs[heir] = first
            whole[first] = (whole[first][0], whole.pop(heir)[1])

    def kept_bytes(self, number: int) -> int:
        """Return how many bytes are needed both up to some work and later: those that a part keeps for another one.

        Parameters
        ----------
        number : int
            Of the work.
        """
        inside = {owner: span for owner, span in self.spans.items() if owner in self.offsets}
        return sum(owner.nbytes for owner, (first, last) in inside.items() if first <= number < last)

    def owner(self, array: Array) -> Array:
        """Return in whose memory an array lies."""
        return owner_of(array, self.places)

    def whereabouts(self, array: Array) -> Whereabouts:
        """Return in whose memory an array lies, and how."""
        return whereabouts(array, self.places)


def _least_bytes(blocks: Sequence[Block], times: int) -> int:
    """Return the most bytes that blocks need at once."""
    change = numpy.zeros(times + 1, numpy.int64)
    for size, first, last in blocks:
        whole = -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
        change[first] += whole
        change[last + 1] -= whole
    return int(change.cumsum().max())


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
