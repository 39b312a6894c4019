"""Memory of the next row is asked for while this one is computed.

Where rows have several phases, the first one waits for memory, and in the others, which find the row in the cache,
memory waits. Processors see by themselves what is read next along a row, but not in time what comes after its end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from minpy.backends.native.kernels.cursor import Cursor
from minpy.backends.native.kernels.geometry import Access, Dim, Geometry
from minpy.backends.native.kernels.phases import Phase
from minpy.backends.native.kernels.writing import Writer

__all__ = ["Prefetching"]

_LINE = 64
# Of two phases, the second does not leave enough time: a softmax backward became slower.
_LEAST_PHASES = 3
# Of smaller arrays, in all, little is not in the caches; of longer rows, in all, the next one would push this one out.
_LEAST_BYTES = 1 << 20
_LONGEST_ROWS = 1 << 16


class Prefetching:
    """What is asked for in which phase.

    Parameters
    ----------
    writer, cursor, geometry
    phases : sequence of Phase
        All of them, in order.
    """

    def __init__(self, writer: Writer, cursor: Cursor, geometry: Geometry, phases: Sequence[Phase]) -> None:
        self.writer = writer
        self.cursor = cursor
        self.next: Dim | None = None
        self._wanted: dict[int, list[Access]] = {}
        if len(phases) < _LEAST_PHASES or geometry.across or geometry.lane is None or not geometry.outer:
            return
        self.next = following = geometry.outer[-1]
        lane = geometry.lane
        rows = [
            one
            for one in dict.fromkeys((*geometry.reads.values(), *geometry.stores.values()))
            if one.strides[lane.axis] == 1 and one.strides[following.axis]
        ]
        inner = math.prod(dim.length for dim in geometry.inner)
        nbytes = sum(one.dtype.itemsize for one in rows) * inner
        if nbytes * math.prod(dim.length for dim in geometry.outer) < _LEAST_BYTES or nbytes > _LONGEST_ROWS:
            return
        # What is written comes last, so that there are not too many at once.
        for one in rows:
            number = phases[max(1, len(phases) - 2) if one.written else 1].number
            self._wanted.setdefault(number, []).append(one)

    def write(self, phase: Phase, length: int) -> None:
        """Ask for what a strip of some elements of this phase is in the next row."""
        w = self.writer
        for access in self._wanted.get(phase.number, ()):
            assert self.next is not None
            pointer = self.cursor.at(access)
            ahead = access.strides[self.next.axis] * access.dtype.itemsize
            w.declares.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
            for start in range(0, length * access.dtype.itemsize, _LINE):
                # After the last row this is beyond the array: nothing is read then, and nothing goes wrong.
                place = w.put(f"getelementptr i8, ptr {pointer}, i64 {ahead + start}")
                w.do(f"call void @llvm.prefetch.p0(ptr {place}, i32 {int(access.written)}, i32 3, i32 1)")
