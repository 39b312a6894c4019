"""Where arrays of schedules lie: one aligned block of memory for each context, shared by arrays that never meet.

A work is an item of a schedule with the memory that it takes. Works of all parts are numbered in the order in which
they run, so that what backward reads of forward stays, and what forward alone needs is taken again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from minpy.backends.native.fusing.nest import Place
from minpy.backends.native.language import Array, Layout, contiguous
from minpy.backends.planning import ALIGNMENT, MemoryPlan

__all__ = ["Allocation", "Memory", "Uses", "allocation", "owner_of"]


class Allocation(NamedTuple):
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


class Memory(MemoryPlan[Array]):
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
    prepared : dict of Array to int
        Where in the block of what outlives the call its owners lie, in bytes.
    prepared_bytes : int
        The size of that block.
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
        spans: dict[Array, tuple[int, int]] = {}
        in_place: list[tuple[int, Array, Array]] = []
        for number, work in enumerate(works):
            for array in (*work.reads, *work.writes, *work.spare):
                owner = self.owner(array)
                if owner not in elsewhere and owner not in self.prepared and not owner.is_constant:
                    spans[owner] = (spans.get(owner, (number, number))[0], number)
            for written, read in work.in_place:
                is_wanted = wanted is not None and wanted.get(written) is read
                pair = (written, read) if is_wanted else (self.owner(written), self.owner(read))
                in_place.append((number, *pair))
        for array in lasting:
            owner = self.owner(array)
            if owner in spans:
                spans[owner] = (spans[owner][0], len(works))
        scratch = {number: work.scratch for number, work in enumerate(works) if work.scratch}
        super().__init__(spans, attrgetter("nbytes"), in_place, (), wanted, scratch)

    def owner(self, array: Array) -> Array:
        """Return in whose memory an array lies."""
        return owner_of(array, self.places)

    def allocation(self, array: Array) -> Allocation:
        """Return in whose memory an array lies, and how."""
        return allocation(array, self.places)


def owner_of(array: Array, places: Mapping[Array, Place]) -> Array:
    """Return in whose memory an array lies."""
    root = array.root
    while root in places:
        root = places[root].root.root
    return root


def allocation(array: Array, places: Mapping[Array, Place]) -> Allocation:
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
    return Allocation(root, layout)


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
