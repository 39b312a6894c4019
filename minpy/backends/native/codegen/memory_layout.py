"""Where arrays of schedules lie: one aligned block of memory for each context, shared by arrays of disjoint lifetimes.

Launches of all parts are numbered in the order in which they run, so that what backward reads of forward stays, and
memory that forward alone needs is used again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from minpy.backends.memory_planner import ALIGNMENT, MemoryPlan
from minpy.backends.native.fusing.loop_nest import Place
from minpy.backends.native.language import Array, Layout, contiguous
from minpy.backends.native.language.layout_algebra import composed

__all__ = ["Allocation", "Memory", "Uses", "allocation", "owner_of"]


class Allocation(NamedTuple):
    """The array in whose memory another lies, and its layout there."""

    owner: Array
    layout: Layout


class Uses(NamedTuple):
    """The memory that a launch uses.

    Arrays that it reads and writes, and temporary ones; bytes of scratch memory; pairs of arrays, one written
    and one read, that may lie in the same memory, element for element.
    """

    reads: Sequence[Array]
    writes: Sequence[Array]
    temporaries: Sequence[Array] = ()
    scratch: int = 0
    in_place: Sequence[tuple[Array, Array]] = ()


class Memory(MemoryPlan[Array]):
    """A plan of the memory of all parts, of what their launches take in the order in which they run.

    `places` are of arrays that lie in the memory of others; owners `elsewhere` have memory already: what callers give,
    what outlives the call, constants. What is `lasting` is needed until the end, whoever reads it; `preferred` owners
    lie in memory elsewhere, if what computes them can do so in place. Owners whose values outlive
    the call, `prepared`, have a block of their own, of `prepared_bytes`, where each has its own place.
    """

    def __init__(
        self,
        launches: Sequence[Uses],
        places: Mapping[Array, Place],
        elsewhere: Collection[Array],
        lasting: Iterable[Array] = (),
        preferred: Mapping[Array, Array] | None = None,
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
        for number, uses in enumerate(launches):
            for array in (*uses.reads, *uses.writes, *uses.temporaries):
                owner = self.owner(array)
                if owner not in elsewhere and owner not in self.prepared and not owner.is_constant:
                    spans[owner] = (spans.get(owner, (number, number))[0], number)
            for written, read in uses.in_place:
                is_preferred = preferred is not None and preferred.get(written) is read
                pair = (written, read) if is_preferred else (self.owner(written), self.owner(read))
                in_place.append((number, *pair))
        for array in lasting:
            owner = self.owner(array)
            if owner in spans:
                spans[owner] = (spans[owner][0], len(launches))
        scratch = {number: uses.scratch for number, uses in enumerate(launches) if uses.scratch}
        super().__init__(spans, attrgetter("nbytes"), in_place, (), preferred, scratch)

    def owner(self, array: Array) -> Array:
        """Return in whose memory an array lies."""
        return owner_of(array, self.places)

    def allocation(self, array: Array) -> Allocation:
        """Return in whose memory an array lies, and its layout there."""
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
        axes = zip(root.shape, contiguous(root.shape), place.layout.strides, strict=True)
        inside: Layout | None
        if all(length == 1 or step == stride for length, step, stride in axes):
            inside = Layout(place.layout.offset + layout.offset, layout.strides)
        else:
            inside = composed(array.shape, layout, root.shape, place.layout)
        if inside is None:
            raise ValueError(f"a view of {array.shape} at {tuple(layout)} of {root.shape} lies scattered.")
        root, layout = place.root, inside
    return Allocation(root, layout)
