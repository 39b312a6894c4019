"""What is multiplied, how it lies, and how it is cut into tiles for registers and blocks for caches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from minpy.backends.native.codegen.matrix_products import collapsed
from minpy.backends.native.codegen.memory_layout import Allocation
from minpy.backends.native.convolutions.register_blocking import Processor
from minpy.backends.native.language import Product

__all__ = ["LINE", "Blocking", "Limits", "Matrices", "Tiles", "blocking_of", "in_bands", "matrices_of"]

# Bytes of a line of the caches.
LINE = 64

# Bytes of the columns of a result up to which threads share its rows.
NARROW = 4 * LINE

# A size of tiles, and how many there are.
Tiles = tuple[int, int]


@dataclass(frozen=True)
class Matrices:
    """A stack of products of matrices of one shape. The rows of the result are contiguous, and of what is added.

    Attributes
    ----------
    itemsize, rows, columns, depth : int
    first, second : (int, int)
        Strides from row to row, and from column to column, in elements.
    result : int
        Stride from row to row.
    added : int or None
        That of what is added, if anything is.
    stack : tuple of tuple of int
        The loops around it: the length, and the stride of each matrix, in the order of the kernel's pointers.
    is_transposed : bool
        Whether it is the product of the transposed matrices: `first` belongs to the second pointer.
    """

    itemsize: int
    rows: int
    columns: int
    depth: int
    first: tuple[int, int]
    second: tuple[int, int]
    result: int
    added: int | None = None
    stack: tuple[tuple[int, ...], ...] = ()
    is_transposed: bool = False

    @property
    def pointers(self) -> tuple[str, ...]:
        """What the pointers of a kernel are to."""
        operands = ("second", "first") if self.is_transposed else ("first", "second")
        return (*operands, "result") if self.added is None else (*operands, "added", "result")

    @property
    def count(self) -> int:
        """How many products it is."""
        return math.prod(axis[0] for axis in self.stack)

    @property
    def size(self) -> int:
        """How many products of numbers one of them is."""
        return self.rows * self.columns * self.depth

    @property
    def nbytes(self) -> int:
        """Bytes that are read and written at least."""
        sizes = self.rows * self.depth + self.depth * self.columns + self.rows * self.columns
        return self.count * sizes * self.itemsize


def matrices_of(product: Product, places: Sequence[Allocation], result: Allocation) -> Matrices | None:
    """Return a product of operands that lie in some places; None where the result has no contiguous rows or columns."""
    (*lead, rows, depth), columns = product.operands[0].shape, product.output.shape[-1]
    strides = [where.layout.strides for where in (*places, result)]
    stack = collapsed(list(zip(lead, *(steps[: len(lead)] for steps in strides), strict=True)))
    itemsize = product.output.dtype.itemsize
    first, second, *sums = ((down, right) for *_, down, right in strides)
    for is_transposed in (False, True):
        if is_transposed:  # the transposed result is the product of the transposed matrices, the other way round
            rows, columns = columns, rows
            first, second, *sums = (pair[::-1] for pair in (second, first, *sums))
        if all(right == 1 for _, right in sums):
            added = sums[0][0] if len(sums) == 2 else None
            return Matrices(itemsize, rows, columns, depth, first, second, sums[-1][0], added, stack, is_transposed)
    return None


def in_bands(matrices: Matrices) -> Matrices:
    """Return a product of few columns as a stack of bands of its rows, which threads can share."""
    bands = next(number for number in (4, 3, 2, 1) if matrices.rows % number == 0)
    if matrices.stack or bands == 1 or matrices.columns * matrices.itemsize > NARROW:
        return matrices
    rows = matrices.rows // bands
    strides = {"first": matrices.first[0], "second": 0, "added": matrices.added or 0, "result": matrices.result}
    return replace(matrices, rows=rows, stack=((bands, *(rows * strides[name] for name in matrices.pointers)),))


@dataclass(frozen=True)
class Limits:
    """What a blocking may have at most.

    Attributes
    ----------
    sums, wide, high : int
        Vectors of sums in a tile, its vectors, and its rows, of which there are twice as many in narrow tiles. Larger
        tiles are no faster where all lies in the caches, and by a tenth slower where it does not.
    panel : int
        Vectors of a panel.
    """

    sums: int = 16
    wide: int = 4
    high: int = 4
    panel: int = 8


@dataclass(frozen=True)
class Blocking:
    """How a product is cut.

    Attributes
    ----------
    width : int
        Elements of a vector.
    rows, columns : tuple of (int, int)
        Rows and vectors of tiles, and how many such tiles there are. The very last vector may overlap the one before.
    together : int
        Tiles of a panel, next to one another: what threads share are panels.
    packs : bool
        Whether panels of the second matrix, whose rows are not contiguous, are copied to the scratch memory.
    """

    width: int
    rows: tuple[Tiles, ...]
    columns: tuple[Tiles, ...]
    together: int
    packs: bool

    @property
    def panels(self) -> int:
        """How many panels there are."""
        return -(-sum(count for _, count in self.columns) // self.together)


@lru_cache(maxsize=4096)
def blocking_of(matrices: Matrices, processor: Processor, limits: Limits = Limits()) -> Blocking:
    """Return how a product is cut.

    >>> attention = Matrices(4, 128, 128, 32, (32, 1), (1, 32), 128, stack=((64, 4096, 4096, 16384),))
    >>> blocking_of(attention, Processor(64, 32))
    Blocking(width=16, rows=((4, 32),), columns=((4, 2),), together=2, packs=True)
    """
    columns = matrices.columns
    width = min(processor.lanes(matrices.itemsize), 1 << (columns.bit_length() - 1))
    vectors = -(-columns // width)
    # Where sums are added to what is there, of vectors that overlap both are read before one is written: in one tile.
    overlaps = columns % width > 0 and vectors > 1 and matrices.added is not None
    tiles = _evenly(vectors, max(limits.wide, 2 if overlaps else 1))
    wide = tiles[-1][0]
    # Beside the sums, registers hold the vectors that a step loads, and a number.
    registers = (processor.registers - 1 - wide) // wide
    high = limits.high * (2 if wide <= 2 else 1)
    rows = _evenly(matrices.rows, max(1, min(limits.sums // wide, registers, high)))
    # Two threads are to find two panels of a single product.
    count = sum(number for _, number in tiles)
    half = -(-count // 2) if matrices.count == 1 else count
    together = max(1, min(limits.panel // wide, half))
    return Blocking(width, rows, tiles, together, columns > 1 and matrices.second[1] != 1)


def _evenly(total: int, most: int) -> tuple[Tiles, ...]:
    """Return a number as a sum of as few numbers up to `most` as there can be: these, which differ by 1, and how often.

    >>> _evenly(128, 8), _evenly(17, 6)
    (((8, 16),), ((5, 1), (6, 2)))
    """
    terms = -(-total // most)
    small, larger = divmod(total, terms)
    return tuple((size, count) for size, count in ((small, terms - larger), (small + 1, larger)) if count)
