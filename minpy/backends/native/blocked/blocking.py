"""What is multiplied, how it lies, and how it is cut into tiles for registers and blocks for caches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from minpy.backends.native.convolutions.registers import Processor
from minpy.backends.native.language import Product
from minpy.backends.native.memory import Allocation
from minpy.backends.native.products import collapsed

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
    operands = (matrices.first[0], 0) if not matrices.is_transposed else (0, matrices.first[0])
    strides = [*operands, *([] if matrices.added is None else [matrices.added]), matrices.result]
    return replace(matrices, rows=rows, stack=((bands, *(rows * stride for stride in strides)),))


@dataclass(frozen=True)
class Limits:
    """What a blocking may have at most.

    Attributes
    ----------
    sums, wide, high : int
        Vectors of sums in a tile, its vectors, and its rows, of which there are twice as many in a tile of one vector.
        Larger tiles are no faster where all lies in the caches, and by a tenth slower where it does not.
    depth, panel : int
        Steps of the depth that are done for all tiles of a panel before the next, and vectors of a panel: with vectors
        of 64 bytes, 128 KiB of the second matrix; four times as much where the first matrix is packed.
    packed : int
        Rows of the first matrix that are packed at once.
    far : int
        Bytes from which on rows of a matrix lie too far apart to be read there again and again: at multiples of a page,
        few sets of a cache hold all of them. They are packed.
    """

    sums: int = 16
    wide: int = 4
    high: int = 4
    depth: int = 256
    panel: int = 8
    packed: int = 128
    far: int = 1024


@dataclass(frozen=True)
class Blocking:
    """How a product is cut.

    Attributes
    ----------
    width : int
        Elements of a vector.
    rows, columns : tuple of (int, int)
        Rows and vectors of tiles, and how many such tiles there are. The very last vector may overlap the one before.
    blocks : int
        Of how many blocks the depth is made, all of about as many steps.
    together : int
        Tiles of a panel, next to one another: what threads share are panels.
    packed : int
        Rows of the first matrix that are copied to the scratch memory at once, about; 0, if it is read where it lies.
    packs_second : bool
        Whether blocks of the second matrix are copied to the scratch memory.
    """

    width: int
    rows: tuple[Tiles, ...]
    columns: tuple[Tiles, ...]
    blocks: int
    together: int
    packed: int
    packs_second: bool

    @property
    def panels(self) -> int:
        """How many panels there are."""
        return -(-sum(count for _, count in self.columns) // self.together)

    def chunk(self, height: int, count: int) -> int:
        """Return how many of some tiles, one below the other, read the same rows of a packed first matrix."""
        return min(count, max(1, self.packed // height)) if self.packed else count


@lru_cache(maxsize=4096)
def blocking_of(matrices: Matrices, processor: Processor, limits: Limits = Limits()) -> Blocking:
    """Return how a product is cut.

    >>> attention = Matrices(4, 128, 128, 32, (32, 1), (1, 32), 128, stack=((64, 4096, 4096, 16384),))
    >>> blocking_of(attention, Processor(64, 32))
    Blocking(width=16, rows=((4, 32),), columns=((4, 2),), blocks=1, together=2, packed=0, packs_second=True)
    """
    columns, itemsize = matrices.columns, matrices.itemsize
    width = min(processor.lanes(itemsize), 1 << (columns.bit_length() - 1))
    vectors = -(-columns // width)
    blocks = -(-matrices.depth // limits.depth)
    # Where sums are added to what is there, of vectors that overlap both are read before one is written: in one tile.
    overlaps = columns % width > 0 and vectors > 1 and (matrices.added is not None or blocks > 1)
    tiles = _evenly(vectors, max(limits.wide, 2 if overlaps else 1))
    wide = tiles[-1][0]
    # Beside the sums, registers hold the vectors that a step loads, and a number.
    registers = (processor.registers - 1 - wide) // wide
    high = limits.high * (2 if wide <= 2 else 1)
    rows = _evenly(matrices.rows, max(1, min(limits.sums // wide, registers, high)))
    down, right = matrices.second
    packs_second = columns > 1 and (right != 1 or (matrices.rows >= 64 and down * itemsize >= limits.far))
    packs_first = matrices.first[0] == 1 and columns >= 64 and matrices.first[1] * itemsize >= limits.far
    # A packed first matrix is packed for every panel: they are wider, but two threads find two panels.
    count = sum(number for _, number in tiles)
    half = -(-count // 2) if matrices.count == 1 else count
    together = max(1, min((4 if packs_first else 1) * limits.panel // wide, half))
    return Blocking(width, rows, tiles, blocks, together, limits.packed if packs_first else 0, packs_second)


def _evenly(total: int, most: int) -> tuple[Tiles, ...]:
    """Return a number as a sum of as few numbers up to `most` as there can be: these, which differ by 1, and how often.

    >>> _evenly(128, 8), _evenly(17, 6)
    (((8, 16),), ((5, 1), (6, 2)))
    """
    terms = -(-total // most)
    small, larger = divmod(total, terms)
    return tuple((size, count) for size, count in ((small, terms - larger), (small + 1, larger)) if count)
