"""The loops of a blocked product: panels of columns, blocks of the depth, tiles of sums in registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from minpy.backends.native.blocked.blocking import LINE, Blocking, Matrices
from minpy.backends.native.blocked.packing import pack_columns, pack_rows
from minpy.backends.native.convolutions.emitter import Emitter, Integer

__all__ = ["product_body", "scratch_bytes"]

# Sums that a step adds to at least: what is shorter is unrolled, so that loops do not count.
UNROLLED = 16


def _leading(matrices: Matrices, blocking: Blocking) -> int:
    """Return how far apart steps of a packed first matrix lie: so that not all are in the same sets of a cache."""
    line = LINE // matrices.itemsize
    rows = max(blocking.chunk(height, count) * height for height, count in blocking.rows)
    return (-(-rows // line) | 1) * line


def _packed_sizes(matrices: Matrices, blocking: Blocking) -> tuple[int, int]:
    """Return how many elements of the second and the first matrix are packed at once."""
    steps = -(-matrices.depth // blocking.blocks)
    vectors = sum(size * count for size, count in blocking.columns)
    panel = min(blocking.columns[-1][0] * blocking.together, vectors)
    second = panel * blocking.width * steps if blocking.packs_second else 0
    return second, _leading(matrices, blocking) * steps if blocking.packed else 0


def scratch_bytes(matrices: Matrices, blocking: Blocking) -> int:
    """Return how much scratch memory packed blocks need."""
    return sum(_packed_sizes(matrices, blocking)) * matrices.itemsize


def product_body(matrices: Matrices, blocking: Blocking, is_shared: bool) -> str:
    """Return the parameters and the text of the function of a product, or of a stack of them.

    If it is shared, the range of a call says which panels it does; else it does all.
    """
    return _Writer(matrices, blocking).write(is_shared)


@dataclass(frozen=True)
class _Block:
    """Where a block of the product finds what it reads, and what it writes.

    Attributes
    ----------
    first : str
    strides : (int, int)
    second : str
    down, right : int
        How far apart steps and vectors of the second matrix are.
    result : str
    added : str or None
        What sums are added to.
    leading : int or str
        How far apart rows of that are.
    is_added : str or bool
        Whether they are added, or stored as they are.
    steps : int or str
        Of the depth.
    """

    first: str
    strides: tuple[int, int]
    second: str
    down: int
    right: int
    result: str
    added: str | None
    leading: Integer
    is_added: str | bool
    steps: Integer


class _Writer:
    def __init__(self, matrices: Matrices, blocking: Blocking) -> None:
        self.matrices, self.blocking = matrices, blocking
        self.code = Emitter("double" if matrices.itemsize == 8 else "float", blocking.width)
        self.line = LINE // matrices.itemsize

    def write(self, is_shared: bool) -> str:
        code, matrices, panels = self.code, self.matrices, self.blocking.panels
        pointers = [f"%p{number}" for number in range(3 if matrices.added is None else 4)]
        units = ("%begin", "%end") if is_shared else (0, matrices.count * panels)
        with code.loop(*units) as unit:
            index, panel = code.quotient(unit.index, panels), code.remainder(unit.index, panels)
            following = self.placed(code.add(index, 1), pointers)[0] if self.fetches_following else ""
            self.panel(self.placed(index, pointers), panel, following)
        return code.body(len(pointers), alike=(2, 3) if matrices.added is not None else ())

    @property
    def fetches_following(self) -> bool:
        """Whether the first matrix of the next product is worth fetching."""
        return self.matrices.count > 1 and self.matrices.first[1] == 1 and self.blocking.blocks == 1

    def placed(self, index: Integer, pointers: list[str]) -> list[str]:
        """Return where the matrices of a product of the stack begin: first, second, what is added, result."""
        code, stack = self.code, self.matrices.stack
        for number in reversed(range(len(stack))):
            length, *strides = stack[number]
            here = code.remainder(index, length) if number else index
            index = code.quotient(index, length)
            pointers = [
                code.at(pointer, code.multiply(here, step)) for pointer, step in zip(pointers, strides, strict=True)
            ]
        return [pointers[1], pointers[0], *pointers[2:]] if self.matrices.is_transposed else pointers

    def panel(self, pointers: list[str], number: Integer, following: str) -> None:
        """Write the product of the first matrix and some tiles of columns of the second."""
        code, matrices, blocking = self.code, self.matrices, self.blocking
        first, second, *added, result = pointers
        begin = code.multiply(number, blocking.together)
        end = code.smaller(code.add(begin, blocking.together), sum(count for _, count in blocking.columns))
        with code.loop(0, blocking.blocks) as part:
            step = code.quotient(code.multiply(part.index, matrices.depth), blocking.blocks)
            next_step = code.quotient(code.multiply(code.add(part.index, 1), matrices.depth), blocking.blocks)
            # At first sums are added to what is given, if anything is, then to those of the blocks before.
            before = added[0] if added else None
            leading: Integer = matrices.added or 0
            is_added: str | bool = bool(added)
            if blocking.blocks > 1:
                is_later = code.compare("sgt", part.index, 0)
                before = code.either_pointer(is_later, result, before or result)
                leading = code.choose(code.smaller(part.index, 1), (matrices.added or 0, matrices.result))
                is_added = is_added or is_later
            first_block = code.at(first, code.multiply(step, matrices.first[1]))
            second_block = code.at(second, code.multiply(step, matrices.second[0]))
            block = _Block(
                first_block, matrices.first, second_block, matrices.second[0], blocking.width,
                result, before, leading, is_added, code.subtract(next_step, step),
            )  # fmt: skip
            self.block(block, begin, end, following)

    def block(self, block: _Block, begin: Integer, end: Integer, following: str) -> None:
        """Write what some steps of the depth add to the tiles of a panel."""
        code, matrices, blocking = self.code, self.matrices, self.blocking
        if blocking.packs_second:
            start, last, width = self.vector(begin), self.vector(end), blocking.width
            least = matrices.depth // blocking.blocks
            distance = width * -(-matrices.depth // blocking.blocks)
            pack_columns(
                code, block.second, matrices.second, "%scratch", distance, block.steps, least,
                matrices.columns, start, last,
            )  # fmt: skip
            second = code.at("%scratch", code.multiply(start, -distance))
            block = replace(block, second=second, down=width, right=distance)
        first_row = 0
        for height, count in blocking.rows:
            tiles = blocking.chunk(height, count)
            with code.loop(0, -(-count // tiles)) as chunk:
                done = code.multiply(chunk.index, tiles)
                first_tile = code.smaller(done, count - tiles)
                row = code.add(code.multiply(first_tile, height), first_row)
                below = self.lowered(block, row)
                if blocking.packed:
                    below = self.packed(below, tiles * height)
                with code.loop(code.subtract(done, first_tile), tiles) as tile:
                    distance_below = code.multiply(tile.index, height)
                    if following:
                        self.fetch(following, code.multiply(code.add(row, distance_below), matrices.first[0]), height)
                    self.tiles(self.lowered(below, distance_below), height, begin, end)
            first_row += count * height

    def lowered(self, block: _Block, row: Integer) -> _Block:
        """Return where a block reads and writes from a row on."""
        code = self.code
        return replace(
            block,
            first=code.at(block.first, code.multiply(row, block.strides[0])),
            result=code.at(block.result, code.multiply(row, self.matrices.result)),
            added=block.added and code.at(block.added, code.multiply(row, block.leading)),
        )

    def packed(self, block: _Block, rows: int) -> _Block:
        """Copy some rows of the first matrix to the scratch memory, and return the block that reads them there."""
        target = self.code.at("%scratch", _packed_sizes(self.matrices, self.blocking)[0])
        leading = _leading(self.matrices, self.blocking)
        pack_rows(self.code, block.first, block.strides[1], target, leading, block.steps, rows)
        return replace(block, first=target, strides=(1, leading))

    def vector(self, tile: Integer) -> Integer:
        """Return the first vector of a tile."""
        code, ((size, count), *larger) = self.code, self.blocking.columns
        more = code.larger(code.subtract(tile, count), 0) if larger else 0
        return code.add(code.multiply(tile, size), more)

    def fetch(self, following: str, distance: Integer, height: int) -> None:
        """Ask the second-level cache for rows of the first matrix of the next product."""
        code, matrices = self.code, self.matrices
        pointer = code.at(following, distance)
        for row in range(height):
            for start in range(0, matrices.depth, self.line):
                code.prefetch(pointer, row * matrices.first[0] + start, locality=2)

    def tiles(self, block: _Block, height: int, begin: Integer, end: Integer) -> None:
        """Write the tiles of some rows of a panel."""
        code, blocking = self.code, self.blocking
        overlap = -self.matrices.columns % blocking.width
        tile = 0
        for number, (some, count) in enumerate(blocking.columns):
            has_overlap = number == len(blocking.columns) - 1 and overlap > 0
            last = tile + count
            with code.loop(code.larger(begin, tile), code.smaller(end, last - has_overlap)) as index:
                self.tile(self.moved(block, self.vector(index.index)), height, some, 0)
            if has_overlap:
                with code.loop(code.larger(begin, last - 1), end):
                    self.tile(self.moved(block, self.vector(last - 1)), height, some, overlap)
            tile = last

    def moved(self, block: _Block, vector: Integer) -> _Block:
        """Return where a block reads and writes from a vector on."""
        code = self.code
        column = code.multiply(vector, self.blocking.width)
        return replace(
            block,
            second=code.at(block.second, code.multiply(vector, block.right)),
            result=code.at(block.result, column),
            added=block.added and code.at(block.added, column),
        )

    def tile(self, block: _Block, height: int, vectors: int, overlap: int) -> None:
        """Write the sums of a tile: vectors of a row of the second matrix meet a number of each row of the first."""
        code, leading, width = self.code, self.matrices.result, self.blocking.width
        starts = [number * width for number in range(vectors)]
        distances = [number * block.right for number in range(vectors)]
        starts[-1] -= overlap
        if not self.blocking.packs_second:
            distances[-1] -= overlap
        places = [(row, start) for row in range(height) for start in starts]
        for row in range(height):
            for start in range(0, starts[-1] + width, self.line):
                code.prefetch(block.result, row * leading + start, write=True)

        def step(sums: Sequence[str], at: Integer) -> list[str]:
            values = [code.load(block.second, code.add(code.multiply(at, block.down), one)) for one in distances]
            totals: list[str] = []
            for row in range(height):
                distance = code.add(code.multiply(at, block.strides[1]), row * block.strides[0])
                number = code.broadcast(block.first, distance)
                before = sums[row * vectors : (row + 1) * vectors]
                totals += [code.add_product(one, number, value) for one, value in zip(before, values, strict=True)]
            return totals

        together = -(-UNROLLED // len(places))
        several = code.quotient(block.steps, together)
        with code.loop(0, several, [code.zero] * len(places)) as loop:
            begin = code.multiply(loop.index, together)
            for number in range(together):
                loop.values = step(loop.values, code.add(begin, number))
        if isinstance(block.steps, str) or block.steps % together:
            with code.loop(code.multiply(several, together), block.steps, loop.values) as remaining:
                remaining.values = step(remaining.values, remaining.index)
            loop = remaining
        sums = list(loop.values)

        def added() -> list[str]:
            assert block.added is not None
            before = [
                code.load(block.added, code.add(code.multiply(block.leading, row), start)) for row, start in places
            ]
            return [code.arithmetic("fadd", value, total) for value, total in zip(before, sums, strict=True)]

        totals = code.either(block.is_added, added, lambda: sums)
        for (row, start), total in zip(places, totals, strict=True):
            code.store(total, block.result, row * leading + start)
