"""The loops of a blocked product: panels of columns, blocks of the depth, tiles of sums in registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from minpy.backends.native.blocked.blocking import LINE, Blocking
from minpy.backends.native.blocked.matrices import Matrices
from minpy.backends.native.blocked.packing import pack_columns, pack_rows
from minpy.backends.native.convolutions.emitter import Emitter, Integer

__all__ = ["product_body", "scratch_bytes"]

# Sums that a step adds to at least: what is shorter is unrolled, so that loops do not count.
UNROLLED = 16


def _leading(matrices: Matrices, blocking: Blocking) -> int:
    """Return how far apart steps of a packed first matrix lie: so that not all are in the same sets of a cache."""
    line = LINE // matrices.itemsize
    return (-(-min(matrices.rows, blocking.packed_rows) // line) | 1) * line


def _sizes(matrices: Matrices, blocking: Blocking) -> tuple[int, int]:
    """Return how many elements of the second and the first matrix are packed at once."""
    steps = -(-matrices.depth // blocking.blocks)
    second = blocking.panel_vectors * blocking.width * steps if blocking.packs_second else 0
    return second, _leading(matrices, blocking) * steps if blocking.packed else 0


def scratch_bytes(matrices: Matrices, blocking: Blocking) -> int:
    """Return how much scratch memory packed blocks need."""
    return sum(_sizes(matrices, blocking)) * matrices.itemsize


def product_body(matrices: Matrices, blocking: Blocking, is_shared: bool) -> str:
    """Return the parameters and the text of the function of a product, or of a stack of them.

    Parameters
    ----------
    matrices : Matrices
    blocking : Blocking
    is_shared : bool
        Whether the range of a call says which panels it does; else it does all.
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
    down, apart : int
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
    apart: int
    result: str
    added: str | None
    leading: Integer
    is_added: str | bool
    steps: Integer


class _Writer:
    following = ""  # the first matrix of the next product, where that is worth fetching

    def __init__(self, matrices: Matrices, blocking: Blocking) -> None:
        self.matrices, self.blocking = matrices, blocking
        self.code = Emitter("double" if matrices.itemsize == 8 else "float", blocking.width)
        self.line = LINE // matrices.itemsize
        self.packed_first = _sizes(matrices, blocking)[0]

    def write(self, is_shared: bool) -> str:
        code, matrices, blocking = self.code, self.matrices, self.blocking
        count = 3 if matrices.added is None else 4
        pointers = [f"%p{number}" for number in range(count)]
        begin: Integer = "%begin" if is_shared else 0
        end: Integer = "%end" if is_shared else matrices.count * blocking.units
        if blocking.bands > 1:  # threads share the rows of one panel
            self.panel(self.placed(0, pointers), 0, begin, end)
        else:
            with code.loop(begin, end) as unit:
                index = code.quotient(unit.index, blocking.panels)
                here = self.placed(index, pointers)
                if matrices.count > 1 and matrices.first[1] == 1 and blocking.blocks == 1:
                    self.following = self.placed(code.add(index, 1), pointers)[0]
                self.panel(here, code.remainder(unit.index, blocking.panels), 0, blocking.row_groups)
        return code.body(count, alike=(2, 3) if count == 4 else ())

    def placed(self, index: Integer, pointers: list[str]) -> list[str]:
        """Return where the matrices of a product of the stack begin: first, second, what is added, result."""
        code, stack = self.code, self.matrices.stack
        for number in reversed(range(len(stack))):
            length, *strides = stack[number]
            here = code.remainder(index, length) if number else index
            index = code.quotient(index, length)
            pointers = [code.at(one, code.multiply(here, step)) for one, step in zip(pointers, strides, strict=True)]
        return [pointers[1], pointers[0], *pointers[2:]] if self.matrices.is_turned else pointers

    def panel(self, pointers: list[str], number: Integer, top: Integer, bottom: Integer) -> None:
        """Write the product of the first matrix and some tiles of columns of the second: groups of rows in a range."""
        code, matrices, blocking = self.code, self.matrices, self.blocking
        first, second, *added, result = pointers
        tiles = sum(count for _, count in blocking.columns)
        begin = code.multiply(number, blocking.together)
        end = code.smaller(code.add(begin, blocking.together), tiles)
        with code.loop(0, blocking.blocks) as part:
            step = code.quotient(code.multiply(part.index, matrices.depth), blocking.blocks)
            following = code.multiply(code.add(part.index, 1), matrices.depth)
            steps = code.subtract(code.quotient(following, blocking.blocks), step)
            # At first sums are added to what is given, if anything is, then to those of the blocks before.
            before = added[0] if added else None
            leading: Integer = matrices.added or 0
            is_added: str | bool = bool(added)
            if blocking.blocks > 1:
                is_later = code.compare("sgt", part.index, 0)
                before = code.put(f"select i1 {is_later}, ptr {result}, ptr {before or result}")
                leading = code.choose(code.smaller(part.index, 1), (matrices.added or 0, matrices.result))
                is_added = is_added or is_later
            block = _Block(
                code.at(first, code.multiply(step, matrices.first[1])), matrices.first,
                code.at(second, code.multiply(step, matrices.second[0])), matrices.second[0], blocking.width,
                result, before, leading, is_added, steps,
            )  # fmt: skip
            self.block(block, begin, end, top, bottom)

    def block(self, block: _Block, begin: Integer, end: Integer, top: Integer, bottom: Integer) -> None:
        """Write what some steps of the depth add to the tiles of a panel."""
        code, matrices, blocking = self.code, self.matrices, self.blocking
        if blocking.packs_second:
            width, start, last = blocking.width, self.vector(begin), self.vector(end)
            most, least = -(-matrices.depth // blocking.blocks), matrices.depth // blocking.blocks
            apart = width * most
            pack_columns(
                code,
                block.second,
                matrices.second,
                "%scratch",
                apart,
                block.steps,
                least,
                matrices.columns,
                start,
                last,
            )
            second = code.at("%scratch", code.multiply(start, -apart))
            block = replace(block, second=second, down=width, apart=apart)
        row = known = 0
        for height, count in blocking.rows:
            for tiles, groups in blocking.groups(height, count):
                with code.loop(code.larger(top, known), code.smaller(bottom, known + groups)) as group:
                    here = code.add(code.multiply(code.subtract(group.index, known), tiles * height), row)
                    moved = self.lowered(block, here)
                    if blocking.packed:
                        moved = self.packed(moved, tiles * height)
                    with code.loop(0, tiles) as tile:
                        below = code.multiply(tile.index, height)
                        if self.following:
                            self.fetch(code.multiply(code.add(here, below), matrices.first[0]), height)
                        self.tiles(self.lowered(moved, below), height, begin, end)
                row += tiles * groups * height
                known += groups

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
        target = self.code.at("%scratch", self.packed_first)
        leading = _leading(self.matrices, self.blocking)
        pack_rows(self.code, block.first, block.strides[1], target, leading, block.steps, rows)
        return replace(block, first=target, strides=(1, leading))

    def vector(self, tile: Integer) -> Integer:
        """Return the first vector of a tile."""
        code, ((size, count), *more) = self.code, self.blocking.columns
        if not more:
            return code.multiply(tile, size)
        return code.add(code.multiply(tile, size), code.larger(code.subtract(tile, count), 0))

    def fetch(self, distance: Integer, height: int) -> None:
        """Ask the second-level cache for rows of the first matrix of the next product."""
        code, matrices = self.code, self.matrices
        pointer = code.at(self.following, distance)
        for row in range(height):
            for start in range(0, matrices.depth, self.line):
                place = code.at(pointer, row * matrices.first[0] + start)
                code.do(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 2, i32 1)")

    def tiles(self, block: _Block, height: int, begin: Integer, end: Integer) -> None:
        """Write the tiles of some rows of a panel."""
        code, matrices, blocking = self.code, self.matrices, self.blocking
        width, overlap = blocking.width, -matrices.columns % blocking.width
        known = tile = 0
        for number, (some, count) in enumerate(blocking.columns):
            starts = [place * width for place in range(some)]
            steps = [place * block.apart for place in range(some)]
            is_last = number == len(blocking.columns) - 1 and overlap > 0
            first, last = code.larger(begin, tile), code.smaller(end, tile + count - is_last)
            with self.loop(first, last) as index:
                vector = code.add(code.multiply(code.subtract(index, tile), some), known)
                self.tile(self.moved(block, vector), height, starts, steps)
            if is_last:
                vector = known + (count - 1) * some
                starts[-1] -= overlap
                if not blocking.packs_second:
                    steps[-1] -= overlap
                with self.loop(code.larger(begin, tile + count - 1), end):
                    self.tile(self.moved(block, vector), height, starts, steps)
            known += some * count
            tile += count

    @contextmanager
    def loop(self, begin: Integer, end: Integer) -> Iterator[Integer]:
        with self.code.loop(begin, end) as one:
            yield one.index

    def moved(self, block: _Block, vector: Integer) -> _Block:
        """Return where a block reads and writes from a vector on."""
        code = self.code
        column = code.multiply(vector, self.blocking.width)
        return replace(
            block,
            second=code.at(block.second, code.multiply(vector, block.apart)),
            result=code.at(block.result, column),
            added=block.added and code.at(block.added, column),
        )

    def tile(self, block: _Block, height: int, starts: Sequence[int], steps: Sequence[int]) -> None:
        """Write the sums of a tile: vectors of a row of the second matrix meet a number of each row of the first."""
        code, leading = self.code, self.matrices.result
        places = [(row, start) for row in range(height) for start in starts]
        for row in range(height):
            for start in range(0, starts[-1] + self.blocking.width, self.line):
                place = code.at(block.result, row * leading + start)
                code.do(f"call void @llvm.prefetch.p0(ptr {place}, i32 1, i32 3, i32 1)")

        def step(sums: Sequence[str], at: Integer) -> list[str]:
            values = [code.load(block.second, code.add(code.multiply(at, block.down), one)) for one in steps]
            found: list[str] = []
            for row in range(height):
                distance = code.add(code.multiply(at, block.strides[1]), row * block.strides[0])
                number = code.broadcast(block.first, distance)
                before = sums[row * len(values) : (row + 1) * len(values)]
                found += [code.add_product(one, number, value) for one, value in zip(before, values, strict=True)]
            return found

        sums = [code.zero] * len(places)
        together = -(-UNROLLED // len(sums))
        several = code.quotient(block.steps, together)
        with code.loop(0, several, sums) as loop:
            begin = code.multiply(loop.index, together)
            for number in range(together):
                loop.values = step(loop.values, code.add(begin, number))
        if isinstance(block.steps, str) or block.steps % together:
            with code.loop(code.multiply(several, together), block.steps, loop.values) as rest:
                rest.values = step(rest.values, rest.index)
            loop = rest
        sums = list(loop.values)

        def added() -> list[str]:
            assert block.added is not None
            distances = [code.add(code.multiply(block.leading, row), start) for row, start in places]
            before = [code.load(block.added, distance) for distance in distances]
            return [code.arithmetic("fadd", one, total) for one, total in zip(before, sums, strict=True)]

        totals = code.either(block.is_added, added, lambda: sums)
        for (row, start), total in zip(places, totals, strict=True):
            code.store(total, block.result, row * leading + start)
