"""`Blocking`: how a product is cut into tiles for registers and blocks for caches, and what a model says it takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from minpy.backends.native.blocked.matrices import Matrices
from minpy.backends.native.convolutions.registers import Processor

__all__ = ["LINE", "Blocking", "Limits", "Part", "blocking_of"]

# Bytes of a line of the caches.
LINE = 64

# Products of vectors that are under way at once: two a cycle, which take four cycles.
LATENCY = 8

# A number, and how often it comes.
Part = tuple[int, int]


@dataclass(frozen=True)
class Limits:
    """What a blocking may have at most.

    Attributes
    ----------
    sums : int
        Vectors of sums in a tile. Tiles of more are no faster where all lies in the caches, and by a tenth slower where
        it does not, as more rows are written at once.
    wide, high, along : int
        Vectors of a tile, and its rows; and its rows where the first matrix is read along these, twice as many in a
        tile of one vector: what does not come from the caches comes sooner if few rows are read at a time.
    depth, panel : int
        Steps of the depth that are done for all tiles of a panel before the next, and vectors of a panel: with vectors
        of 64 bytes, 128 KiB of the second matrix; four times as much where the first matrix is packed.
    packed : int
        Rows of the first matrix that are packed at once.
    apart : int
        Bytes from which on rows of a matrix lie too far apart to be read there again and again: at multiples of a page,
        few sets of a cache hold all of them. They are packed.
    bands : int
        Bands of rows that threads share, where there is a single panel; each packs the second matrix for itself.
    """

    sums: int = 16
    wide: int = 4
    high: int = 16
    along: int = 4
    depth: int = 256
    panel: int = 8
    packed: int = 128
    apart: int = 1024
    bands: int = 4


@dataclass(frozen=True)
class Blocking:
    """How a product is cut.

    Attributes
    ----------
    width : int
        Elements of a vector.
    rows, columns : tuple of (int, int)
        Rows and vectors of tiles: a number, and how often it comes. The very last vector may overlap the one before.
    blocks : int
        Of how many blocks the depth is made, all of about as many steps.
    together : int
        Tiles of a panel, next to one another: what threads share are panels.
    bands : int
        Into how many bands of rows threads cut the product, about: 1, where they share panels.
    packed : int
        Rows of the first matrix that are copied to the scratch memory at once, at most; 0, if it is read where it lies.
    packs_second : bool
        Whether blocks of the second matrix are copied to the scratch memory.
    cycles : float
        Of one product, as the model has it: 1 is what one product of vectors takes.
    """

    width: int
    rows: tuple[Part, ...]
    columns: tuple[Part, ...]
    blocks: int
    together: int
    bands: int
    packed: int
    packs_second: bool
    cycles: float

    @property
    def vectors(self) -> int:
        """How many vectors a row of the result has."""
        return sum(size * count for size, count in self.columns)

    @property
    def panels(self) -> int:
        """How many panels there are."""
        return -(-sum(count for _, count in self.columns) // self.together)

    @property
    def packed_rows(self) -> int:
        """How many rows of the first matrix are packed at once, at most."""
        return max(tiles * height for height, count in self.rows for tiles, _ in self.groups(height, count))

    def groups(self, height: int, count: int) -> tuple[Part, ...]:
        """Return tiles of a height in groups: those of a band, or that read the same rows of a packed first matrix."""
        most = -(-sum(many for _, many in self.rows) // self.bands)
        return _evenly(count, max(1, min(most, self.packed // height)) if self.packed else most)

    @property
    def row_groups(self) -> int:
        """How many groups of rows there are."""
        return sum(often for height, count in self.rows for _, often in self.groups(height, count))

    @property
    def units(self) -> int:
        """How many parts of a product threads may do: panels, or groups of rows of a single one."""
        return self.panels if self.bands == 1 else self.row_groups

    @property
    def panel_vectors(self) -> int:
        """How many vectors a panel has at most."""
        return min(self.columns[-1][0] * self.together, self.vectors)


@lru_cache(maxsize=4096)
def blocking_of(matrices: Matrices, processor: Processor, limits: Limits = Limits()) -> Blocking:
    """Return the blocking for which the model says the fewest cycles.

    Parameters
    ----------
    matrices : Matrices
    processor : Processor
    limits : Limits, optional

    Examples
    --------
    >>> attention = Matrices(4, 128, 128, 32, (32, 1), (1, 32), 128, stack=((64, 4096, 4096, 16384),))
    >>> print(blocking_of(attention, Processor(64, 32)))
    Blocking(width=16, rows=((4, 32),), columns=((4, 2),), blocks=1, together=2, bands=1, packed=0, ...
    """
    columns, itemsize = matrices.columns, matrices.itemsize
    width = min(processor.lanes(itemsize), 1 << (columns.bit_length() - 1))
    vectors = -(-columns // width)
    blocks = -(-matrices.depth // limits.depth)
    is_summed = matrices.added is not None or blocks > 1
    # Where sums are added to what is there, of vectors that overlap both are read before one is written: in one tile.
    least = 2 if columns % width and is_summed and vectors > 1 else 1
    high = limits.along * (1 if vectors > 1 else 2) if matrices.first[1] == 1 else limits.high
    best: tuple[float, tuple[Part, ...], tuple[Part, ...]] | None = None
    for some in range(min(vectors, max(limits.wide, least)), least - 1, -1):
        # Beside the sums, registers hold the vectors that a step loads, and a number.
        most = min(limits.sums // some, (processor.registers - 1 - some) // some, high, matrices.rows)
        for height in range(1, max(most, 1) + 1):
            parts = _evenly(matrices.rows, height), _evenly(vectors, some)
            cycles = sum(
                _cycles(tall, wide, matrices.depth, blocks) * many * often
                for tall, many in parts[0]
                for wide, often in parts[1]
            )
            if best is None or cycles < best[0]:
                best = cycles, *parts
    assert best is not None
    cycles, rows, tiles = best
    down, right = matrices.second
    packs_second = columns > 1 and (right != 1 or (matrices.rows >= 64 and down * itemsize >= limits.apart))
    packs_first = matrices.first[0] == 1 and columns >= 64 and matrices.first[1] * itemsize >= limits.apart
    packed = limits.packed if packs_first else 0
    # A packed first matrix is packed for every panel: they are wider, but two threads find two panels.
    several = sum(count for _, count in tiles)
    half = -(-several // 2) if matrices.count == 1 else several
    together = max(1, min((4 if packed else 1) * limits.panel // tiles[-1][0], half))
    bands = limits.bands if matrices.count == 1 and together >= several else 1
    return Blocking(width, rows, tiles, blocks, together, bands, packed, packs_second, cycles)


def _evenly(total: int, most: int) -> tuple[Part, ...]:
    """Return a number as a sum of as few numbers up to `most` as there can be: these, which differ by 1, and how often.

    >>> _evenly(128, 8), _evenly(17, 6)
    (((8, 16),), ((5, 1), (6, 2)))
    """
    parts = -(-total // most)
    small, more = divmod(total, parts)
    return tuple((size, count) for size, count in ((small, parts - more), (small + 1, more)) if count)


def _cycles(rows: int, vectors: int, depth: int, blocks: int) -> float:
    """Return the cycles of a tile: a product, a vector or two numbers loaded in each; what is stored; the loops."""
    return depth * max(rows * vectors, vectors + rows / 2, LATENCY) + blocks * (2 * rows * vectors + 20)
