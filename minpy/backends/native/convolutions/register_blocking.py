"""How sums are laid out in a CPU's vector registers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from minpy.backends.native.convolutions.vector_writer import Emitter, Integer

__all__ = ["Block", "Lanes", "Processor", "VectorsOfBatch", "batch_lanes", "block_of"]


@dataclass(frozen=True)
class Processor:
    """What generators need to know of a CPU.

    Attributes
    ----------
    vector_bytes : int
        Of a register.
    registers : int
        How many vectors they hold.
    first_cache, second_cache : int
        Bytes, for one core.

    Examples
    --------
    >>> Processor.of("+avx512f,+avx512vl,+avx2")
    Processor(vector_bytes=64, registers=32, first_cache=32768, second_cache=524288)
    """

    vector_bytes: int
    registers: int
    first_cache: int = 32 << 10
    second_cache: int = 512 << 10

    @classmethod
    def of(cls, features: str) -> Processor:
        """Return what a CPU with these features has, written as LLVM writes them; of others, what AArch64 has."""
        names = set(features.split(","))
        if {"+avx512f", "+avx512vl"} <= names:
            return cls(64, 32)
        if "+avx2" in names or "+avx" in names:
            return cls(32, 16)
        if "+sse2" in names:
            return cls(16, 16)
        return cls(16, 32)

    def lanes(self, itemsize: int) -> int:
        """Return how many numbers of so many bytes a register holds."""
        return self.vector_bytes // itemsize


@dataclass(frozen=True)
class Lanes:
    """How an axis of contiguous elements is cut into vectors, which may overlap, and these into blocks.

    Attributes
    ----------
    width : int
        Elements of a vector.
    starts : tuple of int
        Where the vectors of a block begin, from its beginning on.
    blocks : tuple of int
        Where the blocks begin.
    covered : int
        Elements from the beginning of a block to its end.
    """

    width: int
    starts: tuple[int, ...]
    blocks: tuple[int, ...]
    covered: int

    @property
    def spacing(self) -> int:
        """How far apart blocks begin, but for the last."""
        return self.blocks[1] - self.blocks[0] if len(self.blocks) > 1 else 0

    @property
    def last(self) -> int:
        """Where the last block begins."""
        return self.blocks[-1]


def batch_lanes(batch: int, lanes: int, together: int) -> Lanes:
    """Return how a batch is cut into blocks of at most `together` vectors of at most `lanes` elements.

    >>> batch_lanes(40, 16, 4)
    Lanes(width=16, starts=(0, 16, 24), blocks=(0,), covered=40)
    >>> batch_lanes(5, 16, 4)
    Lanes(width=4, starts=(0, 1), blocks=(0,), covered=5)
    >>> batch_lanes(100, 16, 2)
    Lanes(width=16, starts=(0, 16), blocks=(0, 32, 64, 68), covered=32)
    """
    width = min(lanes, 1 << (batch.bit_length() - 1))
    vectors = -(-batch // width)
    if vectors <= together:
        starts = tuple(min(number * width, batch - width) for number in range(vectors))
        return Lanes(width, starts, (0,), batch)
    covered = together * width
    count = -(-batch // covered)
    blocks = tuple(min(number * covered, batch - covered) for number in range(count))
    return Lanes(width, tuple(number * width for number in range(together)), blocks, covered)


@dataclass(frozen=True)
class Block:
    """A block of sums in registers: `rows` numbers by `columns` vectors, and what it costs.

    Attributes
    ----------
    rows, columns : int
    cycles : float
        Per step of the sums and per result vector, as the model has it: 1 is what one multiplication takes.
    """

    rows: int
    columns: int
    cycles: float


def _cycles(rows: int, columns: int) -> float:
    """Return the cycles of one step: a product a cycle, a vector loaded a cycle, two numbers, and the loop itself."""
    products = rows * columns
    return max(products, columns + rows / 2, 4) + 1


@lru_cache(maxsize=4096)
def block_of(rows: int, batch: int, lanes: int, processor: Processor) -> Block:
    """Return the block of sums for which the model says the fewest cycles: `rows` results read the same data.

    >>> block_of(64, 32, 16, Processor(64, 32))
    Block(rows=13, columns=2, cycles=1.05...)
    """
    best = None
    for columns in range(1, 7):
        cut = batch_lanes(batch, lanes, columns)
        count = len(cut.starts)
        # One register for each vector of data, and one for a number that meets them.
        max_height = min(rows, (processor.registers - 2 - count) // count)
        for height in range(1, max_height + 1):
            steps = -(-rows // height) * len(cut.blocks)
            cycles = steps * _cycles(height, count) * cut.width / (rows * batch)
            if best is None or cycles < best.cycles - 1e-9:
                best = Block(height, columns, cycles)
    assert best is not None
    return best


@dataclass(frozen=True)
class VectorsOfBatch:
    """All vectors of a batch, in a loop: the last may overlap the one before.

    Attributes
    ----------
    batch, width, count : int
        Elements, elements of a vector, and vectors.
    """

    batch: int
    width: int
    count: int

    @classmethod
    def of(cls, batch: int, lanes: int) -> VectorsOfBatch:
        """Return the vectors of at most `lanes` elements.

        >>> VectorsOfBatch.of(40, 16)
        VectorsOfBatch(batch=40, width=16, count=3)
        """
        width = min(lanes, 1 << (batch.bit_length() - 1))
        return cls(batch, width, -(-batch // width))

    def start(self, code: Emitter, vector: Integer) -> Integer:
        """Return where a vector begins."""
        return code.smaller(code.multiply(vector, self.width), self.batch - self.width)

    def fresh(self, code: Emitter, vector: Integer) -> str | None:
        """Return which lanes of a vector no vector before it holds; None, if all vectors are whole."""
        if self.batch % self.width == 0:
            return None
        shared = self.count * self.width - self.batch
        tail = ", ".join("i1 true" if lane >= shared else "i1 false" for lane in range(self.width))
        is_last = code.compare("eq", vector, self.count - 1)
        kind = f"<{self.width} x i1>"
        return code.put(f"select i1 {is_last}, {kind} <{tail}>, {kind} splat (i1 true)")
