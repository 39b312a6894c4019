"""The planner of memory: owners that are not needed at the same time share bytes of one block.

An owner is whatever has memory, such as an array, or the node that gives one. How long each is needed is known; the
planner lets owners take over the memory of others that end where they begin, and lays the rest into the block. A second
part can be planned when the first has been, whose owners stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy

__all__ = ["ALIGNMENT", "Block", "MemoryPlan", "new_block", "offsets"]

# Of a block of memory, and of each array in it, in bytes.
ALIGNMENT = 64

Owner = TypeVar("Owner")


class Block(NamedTuple):
    """Bytes that are needed from one time to another, both included."""

    size: int
    first: int
    last: int


def offsets(
    blocks: Sequence[Block], alignment: int = ALIGNMENT, placed: Sequence[tuple[Block, int]] = ()
) -> tuple[list[int], int]:
    """Return where in one piece of memory each block lies, and how many bytes that has.

    Blocks that are needed at the same time do not overlap. The largest are placed first, each at the lowest offset
    that is free as long as it is needed ("greedy by size", Pisarchyk and Lee, Efficient Memory Management for Deep
    Neural Net Inference, 2020, section 4).

    Parameters
    ----------
    blocks : sequence of Block
    alignment : int
        Of every offset, in bytes.
    placed : sequence of (Block, int)
        Those that lie somewhere already, and where. One without bytes is a wall: no block lies across it.

    Returns
    -------
    list of int, int

    Examples
    --------
    >>> offsets([Block(100, 0, 1), Block(50, 1, 2), Block(100, 2, 3)])
    ([0, 128, 0], 192)
    >>> offsets([Block(100, 2, 3)], placed=[(Block(0, 0, 9), 64)])
    ([64], 192)
    """
    count = len(blocks)
    sizes = [_rounded_up(max(block.size, 1), alignment) for block in blocks]
    starts = [0] * count
    # What has been placed: first, last, begin, end.
    ranges = numpy.empty((4, len(placed) + count), numpy.int64)
    total = 0
    for position, (block, begin) in enumerate(placed):
        end = begin + _rounded_up(block.size, alignment)
        ranges[:, position] = block.first, block.last, begin, end
        total = max(total, end)
    order = sorted(range(count), key=lambda number: (-sizes[number], blocks[number].first))
    for position, number in enumerate(order, len(placed)):
        _, first, last = blocks[number]
        before = ranges[:, :position]
        meets = (before[0] <= last) & (before[1] >= first)
        begin = _lowest_free(before[2, meets], before[3, meets], sizes[number])
        starts[number] = begin
        ranges[:, position] = first, last, begin, begin + sizes[number]
        total = max(total, begin + sizes[number])
    return starts, total


def new_block(size: int) -> numpy.ndarray:
    """Return new memory of at least one byte that begins at a multiple of `ALIGNMENT`.

    >>> new_block(100).shape
    (100,)
    """
    size = max(size, 1)
    memory = numpy.empty(size + ALIGNMENT, numpy.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]


def _rounded_up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _lowest_free(begins: numpy.ndarray, ends: numpy.ndarray, size: int) -> int:
    """Return the lowest offset at which `size` bytes touch none of some ranges."""
    if not begins.size:
        return 0
    order = numpy.argsort(begins, kind="stable")
    begins = begins[order]
    reached = numpy.concatenate([[0], numpy.maximum.accumulate(ends[order])])
    fits = numpy.flatnonzero(begins - reached[:-1] >= size)
    return int(reached[fits[0]] if fits.size else reached[-1])


class MemoryPlan(Generic[Owner]):
    """Where owners lie.

    Parameters
    ----------
    spans : mapping of Owner to (int, int)
        From when to when each is needed, both included.
    size : callable
        Returns the bytes of an owner.
    in_place : iterable of (int, Owner, Owner)
        What may lie where another did: the time when one begins and the other ends, the new owner, the old one. The
        first pair that can be is taken.
    outside : collection of Owner
        Those that are to have memory of their own, not in the block, and may leave it to others.
    preferred : mapping of Owner to object, optional
        Owners that are to lie in memory that is elsewhere, if they begin where they can: then this is the old owner.
    scratch : mapping of int to int, optional
        Bytes that are needed at one time only.
    before : MemoryPlan, optional
        That of a first part, whose owners stay where they are; `spans` has them, too, and `in_place` only what is new.

    Attributes
    ----------
    offsets : dict of Owner to int
        Where in the block the owners lie, in bytes.
    scratch : dict of int to int
        Where the scratch memory of each time lies.
    heirs : dict of Owner to Owner
        Owners that lie where another did, the first there, which is not needed any more.
    nbytes : int
        The size of the block.
    least_bytes : int
        The most bytes that are needed at once: no block could be smaller.
    unshared_bytes : int
        What it would be without sharing.

    Examples
    --------
    >>> plan = MemoryPlan({'a': (0, 1), 'b': (1, 2), 'c': (2, 3)}, lambda owner: 100, [(1, 'b', 'a')])
    >>> plan.heirs, plan.offsets, plan.nbytes
    ({'b': 'a'}, {'a': 0, 'c': 128, 'b': 0}, 256)
    """

    def __init__(
        self,
        spans: Mapping[Owner, tuple[int, int]],
        size: Callable[[Owner], int],
        in_place: Iterable[tuple[int, Owner, Owner]] = (),
        outside: Collection[Owner] = (),
        preferred: Mapping[Owner, Owner] | None = None,
        scratch: Mapping[int, int] | None = None,
        before: MemoryPlan[Owner] | None = None,
    ) -> None:
        self.spans = dict(spans)
        self.heirs: dict[Owner, Owner] = {}
        self._size = size
        self._outside = outside
        self._replaced: set[Owner] = set()
        scratch = scratch or {}
        own_spans = {owner: span for owner, span in self.spans.items() if owner not in outside}
        self.unshared_bytes = sum(map(size, own_spans)) + sum(scratch.values())
        if before is not None:
            self._adopt_heirs(before, own_spans)
        for time, heir, owner in in_place:
            if preferred and preferred.get(heir) is owner and self.spans.get(heir, (-1,))[0] == time:
                self.heirs[heir] = owner
                own_spans.pop(heir, None)
            else:
                self._reuse_memory(time, heir, owner, own_spans)
        blocks = {owner: Block(size(owner), first, last) for owner, (first, last) in own_spans.items()}
        placed: list[tuple[Block, int]] = []
        self.offsets: dict[Owner, int] = {}
        self.nbytes: int
        if before is not None:
            self.offsets = {owner: before.offsets[owner] for owner in blocks if owner in before.offsets}
            placed = [(blocks[owner], offset) for owner, offset in self.offsets.items()]
            wall = max((block.last for block in blocks.values()), default=0)
            placed.append((Block(0, 0, wall), before.nbytes))
        new = [owner for owner in blocks if owner not in self.offsets]
        spare = [Block(count, time, time) for time, count in scratch.items()]
        starts, self.nbytes = offsets([*(blocks[owner] for owner in new), *spare], placed=placed)
        self.least_bytes = _least_bytes([*blocks.values(), *spare])
        self.offsets.update(zip(new, starts, strict=False))
        self.scratch = dict(zip(scratch, starts[len(new) :], strict=True))
        for heir, owner in self.heirs.items():
            if owner in self.offsets:
                self.offsets[heir] = self.offsets[owner]

    def _adopt_heirs(self, before: MemoryPlan[Owner], own_spans: dict[Owner, tuple[int, int]]) -> None:
        """Keep the reuse of memory that an earlier plan has decided."""
        self._replaced |= before._replaced
        self.heirs.update(before.heirs)
        for heir, first in before.heirs.items():
            own_spans.pop(heir, None)
            if first in own_spans:
                begin, end = own_spans[first]
                own_spans[first] = begin, max(end, self.spans[heir][1])

    def _reuse_memory(self, time: int, heir: Owner, owner: Owner, own_spans: dict[Owner, tuple[int, int]]) -> None:
        """Let an owner reuse the memory of another that ends when it begins, if their sizes are equal."""
        spans, first = self.spans, self.heirs.get(owner, owner)
        if (
            heir in spans
            and heir not in self.heirs
            and owner in spans
            and spans[heir][0] == spans[owner][1] == time
            and self._size(heir) == self._size(owner)
            and owner not in self._replaced
            and (first in self._outside or (first in own_spans and heir not in self._outside))
        ):
            self._replaced.add(owner)
            self.heirs[heir] = first
            own_spans.pop(heir, None)
            if first in own_spans:
                own_spans[first] = (own_spans[first][0], spans[heir][1])

    def kept_bytes(self, time: int) -> int:
        """Return how many bytes are needed both up to some time and later: those that a part keeps for another one."""
        inside = {owner: span for owner, span in self.spans.items() if owner in self.offsets}
        return sum(self._size(owner) for owner, (first, last) in inside.items() if first <= time < last)


def _least_bytes(blocks: Sequence[Block]) -> int:
    """Return the most bytes that blocks need at once."""
    change = numpy.zeros(max((block.last for block in blocks), default=0) + 2, numpy.int64)
    for size, first, last in blocks:
        rounded = _rounded_up(max(size, 1), ALIGNMENT)
        change[first] += rounded
        change[last + 1] -= rounded
    return int(change.cumsum().max())
