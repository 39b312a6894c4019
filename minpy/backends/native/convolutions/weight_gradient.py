"""Gradients of a convolution's weight, batch last: sums over all positions and examples.

Vectors run along the batch. A block of sums, some filters by some taps of a row, each a vector of as many partial sums
as it has lanes, stays in registers while a tile of positions is added. The tile of the upstream gradient is dense in
the first-level cache, and is multiplied by every channel and row of taps before the next. In the end lanes are added.
"""

from __future__ import annotations

from functools import partial

from minpy.backends.native.convolutions.direct_convolution import Code
from minpy.backends.native.convolutions.problem import Problem, forward_axes
from minpy.backends.native.convolutions.register_blocking import Processor, VectorsOfBatch
from minpy.backends.native.convolutions.taps import positions_of
from minpy.backends.native.convolutions.vector_writer import Emitter, Integer

__all__ = ["weight_gradient"]

# Taps of a row up to which all of them are in one block of sums.
WIDEST = 7


def weight_gradient(problem: Problem, processor: Processor) -> Code:
    """Return the function that makes the gradient of the weight.

    Its pointers: data and the gradient of the convolution's sums; the gradient of the weight.
    """
    return _Writer(problem, processor).write()


def _blocks(filters: int, channels: int, taps: int, processor: Processor) -> tuple[int, int]:
    """Return for how many filters and channels sums are made together."""
    best = (float("inf"), 1, 1)
    for channel_count in range(1, min(channels, 6) + 1):
        for filter_count in range(1, filters + 1):
            width = channel_count * taps
            if (filter_count + 1) * width + 1 > processor.registers and (filter_count, channel_count) != (1, 1):
                break
            steps = -(-filters // filter_count) * -(-channels // channel_count)
            cycles = steps * (max(filter_count * width, filter_count + width, 4) + 1)
            best = min(best, (cycles, filter_count, channel_count))
    return best[1], best[2]


class _Writer:
    def __init__(self, problem: Problem, processor: Processor) -> None:
        self.problem = problem
        self.rows, self.columns = forward_axes(problem)
        kernel = problem.kernel[1]
        pieces = 1 if kernel <= WIDEST else -(-kernel // (WIDEST - 1))
        self.taps = -(-kernel // pieces)
        self.pieces = pieces
        self.channels = problem.channels // problem.groups
        self.count = problem.filters // problem.groups
        self.filters, self.chunk = _blocks(self.count, self.channels, self.taps, processor)
        self.blocks = -(-self.count // self.filters)
        self.channel_blocks = -(-self.channels // self.chunk)
        self.lanes = VectorsOfBatch.of(problem.batch, processor.lanes(problem.itemsize))
        self.width, self.vectors = self.lanes.width, self.lanes.count
        self.code = Emitter(problem.element, self.width)
        height, length = problem.positions
        per_vector = self.filters * self.width * problem.itemsize
        room = processor.first_cache * 3 // 4
        self.tile_vectors = max(1, min(self.vectors, room // (length * per_vector)))
        self.tile_vectors = -(-self.vectors // -(-self.vectors // self.tile_vectors))
        self.tile_rows = max(1, min(height, room // (length * self.tile_vectors * per_vector)))
        self.tile_rows = -(-height // -(-height // self.tile_rows))
        self.layers, self.bands = -(-self.vectors // self.tile_vectors), -(-height // self.tile_rows)
        self.sums = self.filters * self.chunk * self.taps
        units = problem.groups * self.blocks
        by_channels = self.channel_blocks > 1 and (units == 1 or (units % 2 and units < 5))
        self.split, self.splits = ("channels", self.channel_blocks) if by_channels else ("units", units)
        # Scratch memory: zeros, lanes added up, a tile of the gradient, sums between tiles.
        self.added = self.vectors * self.width
        self.tile = self.added + (self.sums + self.width) * self.width
        self.partial_sums = self.tile + self.tile_rows * length * self.tile_vectors * self.filters * self.width
        self.scratch = self.partial_sums
        if self.layers * self.bands > 1:
            self.scratch += self.channel_blocks * problem.kernel[0] * self.pieces * self.sums * self.width

    def range_of(self, name: str, count: int) -> tuple[Integer, Integer]:
        return ("%begin", "%end") if self.split == name else (0, count)

    def write(self) -> Code:
        code, problem = self.code, self.problem
        with code.loop(0, self.vectors) as vector:
            code.store(code.zero, "%scratch", code.multiply(vector.index, self.width))
        with code.loop(*self.range_of("units", problem.groups * self.blocks)) as unit:
            group = code.quotient(unit.index, self.blocks)
            block = code.remainder(unit.index, self.blocks)
            first = code.smaller(code.multiply(block, self.filters), self.count - self.filters)
            filters = code.add(code.multiply(group, self.count), first)
            with code.loop(0, self.layers) as layer, code.loop(0, self.bands) as band:
                self.write_tile(group, filters, layer.index, band.index)
        return Code(code.body(3), ("data", "gradient"), ("weight",), self.splits, self.scratch * problem.itemsize)

    def lanes_of(self, vector: Integer) -> tuple[Integer, str | None]:
        """Return where a vector begins along the batch, and which of its lanes count, if not all do."""
        return self.lanes.start(self.code, vector), self.lanes.fresh(self.code, vector)

    def masked(self, value: str, lanes: str | None) -> str:
        return value if lanes is None else self.code.where(lanes, value, self.code.zero)

    def write_tile(self, group: Integer, filters: Integer, layer: Integer, band: Integer) -> None:
        code, problem = self.code, self.problem
        height, _ = problem.positions
        nearest = code.multiply(layer, self.tile_vectors)
        vectors = (nearest, code.smaller(code.add(nearest, self.tile_vectors), self.vectors))
        low = code.multiply(band, self.tile_rows)
        rows = (low, code.smaller(code.add(low, self.tile_rows), height))
        self.write_packing(filters, rows, vectors)
        steps = self.layers * self.bands
        number = code.add(code.multiply(layer, self.bands), band)
        first, last = (code.compare("eq", number, n) if steps > 1 else True for n in (0, steps - 1))
        with (
            code.loop(*self.range_of("channels", self.channel_blocks)) as group_index,
            code.loop(0, problem.kernel[0]) as i,
            code.loop(0, self.pieces) as piece,
        ):
            channel = code.smaller(code.multiply(group_index.index, self.chunk), self.channels - self.chunk)
            tap = code.smaller(code.multiply(piece.index, self.taps), problem.kernel[1] - self.taps)
            place = code.add(code.multiply(group_index.index, problem.kernel[0]), i.index)
            place = code.add(code.multiply(place, self.pieces), piece.index)
            partial_sums = code.at("%scratch", self.partial_sums, code.multiply(place, self.sums * self.width))
            numbers = range(self.sums)
            sums = code.either(
                first,
                lambda: [code.zero] * self.sums,
                lambda: [code.load(partial_sums, n * self.width) for n in numbers],
            )
            source = code.multiply(code.add(code.multiply(group, self.channels), channel), problem.lengths[0])
            sums = self.write_sums(source, i.index, tap, rows, vectors, sums)
            target = code.add(code.multiply(filters, self.channels), channel)
            target = code.add(code.multiply(target, problem.kernel[0]), i.index)
            target = code.add(code.multiply(target, problem.kernel[1]), tap)
            code.either(last, partial(self.write_results, sums, target), partial(self.store_sums, sums, partial_sums))

    def store_sums(self, sums: list[str], partial_sums: str) -> list[str]:
        for number, value in enumerate(sums):
            self.code.store(value, partial_sums, number * self.width)
        return []

    def write_packing(self, filters: Integer, rows: tuple[Integer, Integer], vectors: tuple[Integer, Integer]) -> None:
        """Copy the gradient of a tile to where the filters' vectors lie side by side."""
        code, problem = self.code, self.problem
        height, length = problem.positions
        base = code.at("%p1", code.multiply(filters, height * length * problem.batch))
        with code.loop(*rows) as row, code.loop(0, length) as q, code.loop(*vectors) as vector:
            start, lanes = self.lanes_of(vector.index)
            place = code.add(code.multiply(row.index, length), q.index)
            source = code.at(base, code.multiply(place, problem.batch), start)
            target = self.tile_at(row.index, q.index, vector.index, rows, vectors)
            for f in range(self.filters):
                value = self.masked(code.load(source, f * height * length * problem.batch), lanes)
                code.store(value, target, f * self.width)

    def tile_at(
        self,
        row: Integer,
        q: Integer,
        vector: Integer,
        rows: tuple[Integer, Integer],
        vectors: tuple[Integer, Integer],
    ) -> str:
        code = self.code
        place = code.add(code.multiply(code.subtract(row, rows[0]), self.problem.positions[1]), q)
        place = code.add(code.multiply(place, self.tile_vectors), code.subtract(vector, vectors[0]))
        return code.at("%scratch", self.tile, code.multiply(place, self.filters * self.width))

    def write_sums(
        self,
        source: Integer,
        i: Integer,
        tap: Integer,
        rows: tuple[Integer, Integer],
        vectors: tuple[Integer, Integer],
        sums: list[str],
    ) -> list[str]:
        """Write the sums over a tile, and return them; `source` counts the rows before the first channel's."""
        code, problem, axis = self.code, self.problem, self.columns
        width = problem.lengths[1]
        stride, offset = problem.stride[0], code.add(code.multiply(i, problem.dilate[0]), -problem.pad[0])
        first, last = positions_of(code, self.rows, offset)
        first, last = code.larger(rows[0], first), code.smaller(rows[1], last)
        with code.loop(first, last, sums) as row:
            line = code.add(source, code.multiply(row.index, stride), offset)
            data = code.at("%p0", code.multiply(line, width * problem.batch))
            with code.loop(0, axis.count, row.values) as q:
                column = code.add(code.multiply(q.index, axis.step), axis.offset, code.multiply(tap, axis.reach))
                tile = self.tile_at(row.index, q.index, vectors[0], rows, vectors)
                here = code.at(data, code.multiply(column, problem.batch))
                sources = [self.source(here, c, j, column) for c in range(self.chunk) for j in range(self.taps)]
                with code.loop(*vectors, q.values) as vector:
                    start, lanes = self.lanes_of(vector.index)
                    data_vectors = [self.masked(code.load(at, code.add(start, more)), lanes) for at, more in sources]
                    distance = code.multiply(code.subtract(vector.index, vectors[0]), self.filters * self.width)
                    gradients = code.at(tile, distance)
                    new = []
                    for f in range(self.filters):
                        upstream = code.load(gradients, f * self.width)
                        before = vector.values[f * len(sources) : (f + 1) * len(sources)]
                        pairs = zip(before, data_vectors, strict=True)
                        new += [code.add_product(total, value, upstream) for total, value in pairs]
                    vector.values = new
                q.values = vector.values
            row.values = q.values
        return row.values

    def source(self, here: str, channel: int, tap: int, column: Integer) -> tuple[str, int]:
        """Return (a pointer, a distance from it) to the data of a tap at a position; to zeros beyond them."""
        code, problem = self.code, self.problem
        height, width = problem.lengths
        distance = (channel * height * width + tap * self.columns.reach) * problem.batch
        if self.columns.is_whole:
            return here, distance
        place = code.add(column, tap * self.columns.reach)
        return code.either_pointer(code.within(place, width), code.at(here, distance), "%scratch"), 0

    def write_results(self, sums: list[str], target: Integer) -> list[str]:
        code, problem = self.code, self.problem
        area = problem.kernel[0] * problem.kernel[1]
        added = code.at("%scratch", self.added)
        for number, value in enumerate(code.sums(sums)):
            code.store(value, added, number * self.width)
        result = code.at("%p2", target)
        for f in range(self.filters):
            for c in range(self.chunk):
                for j in range(self.taps):
                    value = code.load_element(added, (f * self.chunk + c) * self.taps + j)
                    code.store_element(value, result, (f * self.channels + c) * area + j)
        return []
