"""Loops over a few whole vectors, and metadata that makes LLVM's vectoriser take them as one iteration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from minpy.backends.native.kernels.cursor import Cursor
from minpy.backends.native.kernels.function_writer import Writer
from minpy.backends.native.kernels.nest_geometry import Dim
from minpy.backends.native.language import Elementwise, Reduce

__all__ = ["Lane", "Strips"]


class Lane(NamedTuple):
    """A lane in a loop over lanes: its number, and, if not all have elements, whether this one has."""

    number: str
    filled: str | None = None


class Strips:
    """Writes loops along lanes.

    `steps`: what is computed in them.
    """

    def __init__(self, writer: Writer, cursor: Cursor, steps: Sequence[Elementwise | Reduce]) -> None:
        self.writer = writer
        self.cursor = cursor
        sizes = [step.operands[-1].dtype.itemsize for step in steps]
        sizes += [step.output.dtype.itemsize for step in steps if isinstance(step, Elementwise)]
        # 64 bytes of the widest dtype: one vector of AVX-512, two of AVX2, four of AArch64.
        self.piece = 64 // max(sizes, default=4)

    def length(self, weight: int, available: int) -> int:
        """Return how many elements are worked on together: several vectors, if they are little work."""
        preferred = self.piece * (4 if weight <= 24 else 2 if weight <= 80 else 1)
        if available >= preferred or not available:
            return preferred
        return max(available // self.piece * self.piece, min(self.whole(available), self.piece))

    def whole(self, length: int) -> int:
        """Return how many lanes there are in the vectors that hold some elements."""
        if length >= self.piece:
            return -(-length // self.piece) * self.piece
        return 1 << (length - 1).bit_length()

    def parts(self, remaining: int, whole: bool) -> list[int]:
        """Return the lengths of the strips that do what remains of a lane: whole vectors first, then what is no vector.

        `whole`: whether all lanes of each must have elements: adding to memory only where they do would gather and
        scatter.
        """
        few = remaining % self.piece
        result = [remaining - few] if remaining > few else []
        powers = [1 << bit for bit in reversed(range(few.bit_length())) if few >> bit & 1]
        return result + (powers if whole or len(powers) <= 2 else [few])

    def hint(self, length: int | None) -> str:
        """Return metadata for a loop whose iterations are independent, so many of them, if it is known.

        Nothing is unrolled before there are vectors, unless there is too little for any.
        """
        if length is not None and length < 4:
            return self.writer.hint(parallel=True)
        if length is None or length % min(self.piece, length) or length > 8 * self.piece:
            return self.writer.hint("unroll.disable", parallel=True)
        width = min(self.piece, length)
        return self.writer.hint(
            f"vectorize.width i32 {width}",
            f"interleave.count i32 {length // width}",
            "unroll.disable",
            parallel=True,
        )

    @contextmanager
    def loop(self, dim: Dim, start: int | str, end: int | str) -> Iterator[Lane]:
        """Write a loop along a lane of any length."""
        length = end - start if isinstance(start, int) and isinstance(end, int) else None
        vector_loop = self.writer.loop(start, end, hint=self.hint(length))
        with vector_loop as variable, self.writer.independent(), self.cursor.inside(dim, variable, []):
            yield Lane(variable)

    @contextmanager
    def strip(self, dim: Dim | None, length: int) -> Iterator[Lane]:
        """Write a loop over the lanes of the vectors that hold some elements."""
        if dim is None or length == 1:
            with self.cursor.inside(dim, "0", []):
                yield Lane("0")
            return
        whole = self.whole(length)
        vector_loop = self.writer.loop(0, whole, hint=self.hint(whole))
        with vector_loop as variable, self.writer.independent(), self.cursor.inside(dim, variable, []):
            yield Lane(variable, self._filled(variable, length) if whole != length else None)

    def _filled(self, variable: str, length: int) -> str:
        """Write whether a lane is below a length.

        Squares are compared: where only the last lane is not, LLVM would see that a plain comparison is the end of the
        loop, move that, and not vectorise any more. Once there are vectors it knows them, and computes nothing.
        """
        square = self.writer.put(f"mul nuw nsw i64 {variable}, {variable}")
        return self.writer.put(f"icmp ult i64 {square}, {(length - 1) ** 2 + 1}")
