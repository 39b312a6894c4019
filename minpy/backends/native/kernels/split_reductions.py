"""`Pieces`: a loop of reductions, cut so that two threads can share it.

Each piece has results of its own, in memory that is planned; when all are done, one thread puts them together, in
order. Which pieces there are follows from the nest alone, not from the number of threads: results are the same in one
thread and in two, to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from minpy.backends.native.kernels.cursor import Cursor
from minpy.backends.native.kernels.function_writer import Writer
from minpy.backends.native.kernels.nest_geometry import Access, Dim

__all__ = ["AXIS", "Partials", "Pieces", "cut"]

# What stands for the number of a piece among the axes of accesses.
AXIS = -1
# As many as the helper thread and its caller take turns in.
_MOST = 8
_LINE = 64


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of a loop."""

    loop: Dim  # which loop is cut
    length: int  # how far its pieces reach together, from 0 on
    unit: int  # they begin at multiples of it
    dim: Dim  # the loop over them

    @property
    def count(self) -> int:
        """How many there are."""
        return self.dim.length

    def bounds(self, writer: Writer, number: str) -> tuple[str, str]:
        """Write where a piece begins and ends."""
        units = -(-self.length // self.unit)

        def edge(of: str) -> str:
            if units != self.count:
                of = writer.put(f"udiv i64 {writer.put(f'mul i64 {of}, {units}')}, {self.count}")
            return of if self.unit == 1 else writer.put(f"mul i64 {of}, {self.unit}")

        begin, end = edge(number), edge(writer.put(f"add nuw nsw i64 {number}, 1"))
        if self.length % self.unit:
            end = writer.intrinsic("llvm.umin.i64", "i64", ("i64", end), ("i64", str(self.length)))
        return begin, end


def cut(loop: Dim, length: int, unit: int, most: int = _MOST) -> Pieces | None:
    """Return the pieces of a loop, all of about the same length; None, if there would be only one.

    `length`: how much of it is cut, from 0 on. `unit`: where pieces may begin: at its multiples. `most`: how many
    pieces are worth what they cost.

    Examples
    --------
    >>> cut(Dim(1000, 0), 1000, 16).count, cut(Dim(40, 0), 40, 16).count, cut(Dim(16, 0), 16, 16)
    (8, 3, None)
    """
    count = min(-(-length // unit), most, _MOST)
    return Pieces(loop, length, unit, Dim(count, AXIS)) if count > 1 else None


@dataclass(eq=False)
class Partials:
    """Memory for partial results of pieces: those of one piece lie together, 64 bytes apart from others.

    `pointer`: where it begins.
    """

    writer: Writer
    cursor: Cursor
    pointer: str
    nbytes: int = 0  # how much there is

    def place(
        self, pieces: Pieces, dtype: numpy.dtype, strides: Mapping[int, int], count: int, local: bool = False
    ) -> Access:
        """Return a new place for some elements of each piece, with strides for their axes."""
        step = -(-count * dtype.itemsize // _LINE) * _LINE
        access = Access(dtype, {**strides, AXIS: step // dtype.itemsize})
        self.cursor.start(access, self.writer.offset(self.pointer, "i8", str(self.nbytes)), local=local)
        self.nbytes += step * pieces.count
        return access

    def read(self, pieces: Pieces, access: Access, kind: str) -> list[str]:
        """Load the partial result of each piece, and return them in order."""
        result = []
        for number in range(pieces.count):
            with self.cursor.inside(pieces.dim, str(number), []):
                result.append(self.writer.put(f"load {kind}, ptr {self.cursor.at(access)}{self.writer.mark()}"))
        return result
