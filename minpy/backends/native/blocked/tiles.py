"""The loops of a blocked product: panels of columns, packed where need be, and tiles of sums in registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from minpy.backends.native.blocked.blocking import LINE, Blocking, Matrices
from minpy.backends.native.convolutions.vector_writer import Emitter, Integer

__all__ = ["product_body", "scratch_bytes"]

# Sums that a step adds to at least: what is shorter is unrolled, so that loops do not count.
UNROLLED = 16


def scratch_bytes(matrices: Matrices, blocking: Blocking) -> int:
    """Return how much scratch memory a packed panel needs."""
    vectors = min(blocking.columns[-1][0] * blocking.together, sum(size * count for size, count in blocking.columns))
    return vectors * blocking.width * matrices.depth * matrices.itemsize if blocking.packs else 0


def product_body(matrices: Matrices, blocking: Blocking, is_shared: bool) -> str:
    """Return the parameters and the text of the function of a product, or of a stack of them.

    If it is shared, the range of a call says which panels it does; else it does all.
    """
    return _Writer(matrices, blocking).write(is_shared)


@dataclass(frozen=True)
class _Pointers:
    """The pointers that a tile reads and writes through: sums are added to `added`, if there is one, and stored."""

    first: str
    second: str
    added: str
    result: str


class _Writer:
    def __init__(self, matrices: Matrices, blocking: Blocking) -> None:
        self.matrices, self.blocking = matrices, blocking
        self.code = Emitter("double" if matrices.itemsize == 8 else "float", blocking.width)
        # How far apart steps and vectors of the second matrix are.
        self.down, self.right = matrices.second[0], blocking.width
        if blocking.packs:
            self.down, self.right = blocking.width, blocking.width * matrices.depth

    def write(self, is_shared: bool) -> str:
        code, matrices, blocking = self.code, self.matrices, self.blocking
        units = ("%begin", "%end") if is_shared else (0, matrices.count * blocking.panels)
        with code.loop(*units) as unit:
            pointers = self.matrices_at(code.quotient(unit.index, blocking.panels))
            begin = code.multiply(code.remainder(unit.index, blocking.panels), blocking.together)
            end = code.smaller(code.add(begin, blocking.together), sum(count for _, count in blocking.columns))
            if blocking.packs:
                self.pack(pointers.second, self.vector(begin), self.vector(end))
                second = code.at("%scratch", code.multiply(self.vector(begin), -self.right))
                pointers = replace(pointers, second=second)
            row = 0
            for height, count in blocking.rows:
                with code.loop(0, count) as tile:
                    self.tiles(
                        self.at_row(pointers, code.add(code.multiply(tile.index, height), row)), height, begin, end
                    )
                row += height * count
        return code.body(len(matrices.pointers), may_alias=(2, 3) if matrices.added is not None else ())

    def matrices_at(self, index: Integer) -> _Pointers:
        """Return where the matrices of a product of the stack begin."""
        code, stack = self.code, self.matrices.stack
        pointers = {name: f"%p{number}" for number, name in enumerate(self.matrices.pointers)}
        for number in reversed(range(len(stack))):
            length, *strides = stack[number]
            here = code.remainder(index, length) if number else index
            index = code.quotient(index, length)
            for name, stride in zip(pointers, strides, strict=True):
                pointers[name] = code.at(pointers[name], code.multiply(here, stride))
        return _Pointers(**{"added": "", **pointers})

    def pack(self, second: str, begin: Integer, end: Integer) -> None:
        """Copy some vectors of columns to the scratch memory, as (vectors, steps, lanes)."""
        code, (down, right), depth = self.code, self.matrices.second, self.matrices.depth
        width = code.lanes
        with code.loop(begin, end) as vector:
            column = code.smaller(code.multiply(vector.index, width), self.matrices.columns - width)
            source = code.at(second, code.multiply(column, right))
            target = code.at("%scratch", code.multiply(code.subtract(vector.index, begin), self.right))
            if down == 1 and depth >= width:
                with code.loop(0, -(-depth // width)) as square:
                    first = code.smaller(code.multiply(square.index, width), depth - width)
                    for number, value in enumerate(self.transposed(code.at(source, first))):
                        code.store(value, target, code.multiply(code.add(first, number), width))
            else:
                with code.loop(0, depth) as step:
                    here = code.at(source, code.multiply(step.index, down))
                    value = code.gathered(here, [lane * right for lane in range(width)])
                    code.store(value, target, code.multiply(step.index, width))

    def transposed(self, source: str) -> list[str]:
        """Return the columns of a square of contiguous rows: what is off the diagonal is exchanged, bit by bit."""
        code, width, distance = self.code, self.code.lanes, 1
        vectors = [code.load(source, row * self.matrices.second[1]) for row in range(width)]
        while distance < width:
            low = [lane if not lane & distance else width + lane - distance for lane in range(width)]
            high = [lane + distance if not lane & distance else width + lane for lane in range(width)]
            for row in range(width):
                if not row & distance:
                    pair = vectors[row], vectors[row + distance]
                    vectors[row], vectors[row + distance] = code.shuffle(*pair, low), code.shuffle(*pair, high)
            distance *= 2
        return vectors

    def vector(self, tile: Integer) -> Integer:
        """Return the first vector of a tile."""
        code, ((size, count), *larger) = self.code, self.blocking.columns
        more = code.larger(code.subtract(tile, count), 0) if larger else 0
        return code.add(code.multiply(tile, size), more)

    def at_row(self, pointers: _Pointers, row: Integer) -> _Pointers:
        """Return where a tile reads and writes from a row on."""
        code, matrices = self.code, self.matrices
        return replace(
            pointers,
            first=code.at(pointers.first, code.multiply(row, matrices.first[0])),
            result=code.at(pointers.result, code.multiply(row, matrices.result)),
            added=pointers.added and code.at(pointers.added, code.multiply(row, matrices.added or 0)),
        )

    def tiles(self, pointers: _Pointers, height: int, begin: Integer, end: Integer) -> None:
        """Write the tiles of some rows of a panel: of all, the very last may have a vector that overlaps another."""
        code, blocking = self.code, self.blocking
        overlap = -self.matrices.columns % blocking.width
        last = 0
        for number, (size, count) in enumerate(blocking.columns):
            first, last = last, last + count
            has_overlap = number == len(blocking.columns) - 1 and overlap > 0
            with code.loop(code.larger(begin, first), code.smaller(end, last - has_overlap)) as tile:
                self.tile(pointers, self.vector(tile.index), height, size, 0)
            if has_overlap:
                with code.loop(code.larger(begin, last - 1), end):
                    self.tile(pointers, self.vector(last - 1), height, size, overlap)

    def tile(self, pointers: _Pointers, vector: Integer, height: int, size: int, overlap: int) -> None:
        """Write the sums of a tile: vectors of a row of the second matrix meet a number of each row of the first."""
        code, matrices, width = self.code, self.matrices, self.blocking.width
        column = code.multiply(vector, width)
        second = code.at(pointers.second, code.multiply(vector, self.right))
        result = code.at(pointers.result, column)
        starts, distances = ([number * distance for number in range(size)] for distance in (width, self.right))
        starts[-1] -= overlap
        if not self.blocking.packs:
            distances[-1] -= overlap
        places = [(row, start) for row in range(height) for start in starts]
        for row in range(height):
            for start in range(0, starts[-1] + width, LINE // matrices.itemsize):
                code.prefetch(result, row * matrices.result + start, write=True)

        def step(sums: Sequence[str], at: Integer) -> list[str]:
            vectors = [code.load(second, code.add(code.multiply(at, self.down), distance)) for distance in distances]
            totals: list[str] = []
            for row in range(height):
                distance = code.add(code.multiply(at, matrices.first[1]), row * matrices.first[0])
                number = code.broadcast(pointers.first, distance)
                before = sums[row * size : (row + 1) * size]
                totals += [code.add_product(total, number, value) for total, value in zip(before, vectors, strict=True)]
            return totals

        together = -(-UNROLLED // len(places))
        iterations = matrices.depth // together
        with code.loop(0, iterations, [code.zero] * len(places)) as loop:
            for number in range(together):
                loop.values = step(loop.values, code.add(code.multiply(loop.index, together), number))
        totals = list(loop.values)
        for number in range(iterations * together, matrices.depth):
            totals = step(totals, number)
        added = pointers.added and code.at(pointers.added, column)
        before = [code.load(added, (matrices.added or 0) * row + start) for row, start in places] if added else []
        for number, (row, start) in enumerate(places):
            total = code.arithmetic("fadd", before[number], totals[number]) if added else totals[number]
            code.store(total, result, row * matrices.result + start)
