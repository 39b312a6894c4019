"""Direct correlations, batch last: what a convolution and the gradient of its data have in common.

Vectors run along the batch. A block of sums, some filters by some vectors, stays in registers while all channels and
taps are added: a step loads the vectors of data once and multiplies them by one number of the weight for each filter.
Rows and columns of taps that reach beyond the data are left out, so that nothing is padded. Data of many channels are
copied, a window of rows at a time, to where they lie densely in the second-level cache; so are the numbers of a weight
that would fall into few sets of the first-level cache.

Products and sums are contracted where the CPU can, as in a BLAS, and the terms are added in another order than NumPy's.
"""

from __future__ import annotations

from dataclasses import dataclass

from minpy.backends.native.convolutions.problem import Axis, Problem, forward_axes, gradient_axes
from minpy.backends.native.convolutions.register_blocking import Lanes, Processor, batch_lanes, block_of
from minpy.backends.native.convolutions.taps import bounds, source_row
from minpy.backends.native.convolutions.vector_writer import Emitter, Integer

__all__ = ["Code", "Correlation", "Strides", "correlate", "correlation_of"]


@dataclass(frozen=True)
class Code:
    """The text of a function, as `Kernel` has it, with the names of its pointers.

    Attributes
    ----------
    body : str
    reads, writes : tuple of str
        What the pointers are to: first those that are read, then those that are written.
    splits, scratch : int
    declares : frozenset of str
        As `Kernel` has them.
    """

    body: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    splits: int
    scratch: int
    declares: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Strides:
    """How far apart elements of a weight lie: of results, terms, rows and columns of taps, and groups."""

    result: int
    term: int
    row: int
    column: int
    group: int


@dataclass(frozen=True)
class Correlation:
    """Results, each the sum over some terms and taps of data times weight.

    Attributes
    ----------
    batch, groups : int
    terms, results : int
        Channels, in each group, that are summed over, and that come out.
    rows, columns : tuple of Axis
        One for each remainder of a result's index by `spacing`.
    source, target : (int, int)
        Heights and widths.
    weight : Strides
    element : {'float', 'double'}
    """

    batch: int
    groups: int
    terms: int
    results: int
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    source: tuple[int, int]
    target: tuple[int, int]
    weight: Strides
    element: str

    @property
    def itemsize(self) -> int:
        """The bytes of a number."""
        return 8 if self.element == "double" else 4


def correlation_of(problem: Problem, computed: str) -> Correlation:
    """Return a convolution ('result'), or the gradient of its data ('data'), as a correlation.

    The gradient has the taps in the opposite order; with a stride, one axis for each remainder of a position by it.
    """
    height, width = problem.kernel
    channels, filters, area = problem.channels // problem.groups, problem.filters // problem.groups, height * width
    group = filters * channels * area
    if computed == "data":
        rows, columns = gradient_axes(problem)
        strides = Strides(area, channels * area, width, 1, group)
        lengths = (problem.positions, problem.lengths)
        return Correlation(
            problem.batch, problem.groups, filters, channels, rows, columns, *lengths, strides, problem.element
        )
    row, column = forward_axes(problem)
    return Correlation(
        problem.batch, problem.groups, channels, filters, (row,), (column,), problem.lengths, problem.positions,
        Strides(channels * area, area, width, 1, group), problem.element,
    )  # fmt: skip


# Streams of rows, and results that read each element, from which data are copied together before they are read: up to
# twice as fast without AVX-512, a third with it.
STREAMS, READERS = 24, 24

# Sets and ways of the first-level cache: a line's set is its number's remainder.
SETS, WAYS, LINE = 64, 8, 64

# Rows of results that are done with one copy of the weight, where its numbers push each other out of the cache: 1 x 1
# kernels of 512 channels and more are 1.4 to 3 times as fast with it.
TILE = 4


def correlate(problem: Problem, computed: str, processor: Processor, packs: bool | None = None) -> Code:
    """Return the function that does a convolution ('result'), or the gradient of its data ('data').

    Its pointers: data (the gradient of the sums) and weight; the result (the gradient of the data). Whether data are
    copied, it decides itself unless `packs` says so.
    """
    return _Writer(correlation_of(problem, computed), processor, packs).write()


def _meets(stride: int, count: int) -> bool:
    """Tell whether lines so many bytes apart push each other out of the first-level cache."""
    sets = {number * stride // LINE % SETS for number in range(count)}
    return len(sets) * WAYS < 2 * count


class _Writer:
    def __init__(self, correlation: Correlation, processor: Processor, packs: bool | None) -> None:
        self.correlation = correlation
        itemsize, rows = correlation.itemsize, correlation.rows
        lanes = processor.lanes(itemsize)
        block = block_of(correlation.results, correlation.batch, lanes, processor)
        self.cut: Lanes = batch_lanes(correlation.batch, lanes, block.columns)
        self.filters = block.rows
        self.blocks = -(-correlation.results // block.rows)
        self.code = Emitter(correlation.element, self.cut.width)
        self.height, self.width = correlation.target
        positions = min(self.height, TILE) * self.width * len(self.cut.starts)
        self.copies_weight = _meets(correlation.weight.result * itemsize, self.filters) and positions >= 16
        self.area = min(correlation.weight.term, correlation.weight.result)
        self.tile = min(self.height, TILE) if self.copies_weight else 1
        self.tiles = -(-self.height // self.tile)
        if packs is None:
            height, width = (max(axis.taps for axis in axes) for axes in (rows, correlation.columns))
            packs = correlation.terms * height >= STREAMS and correlation.results * width >= READERS
        self.packs = packs
        # The rows of data that a tile reads. In scratch memory they are a line longer than their elements: those of all
        # channels would meet in one set of the cache.
        self.lowest = min((axis.offset for axis in rows if axis.taps), default=0)
        self.highest = max((axis.offset + (axis.taps - 1) * axis.reach for axis in rows if axis.taps), default=0)
        steps = -(-(self.tile - 1) // len(rows)) * rows[0].step
        self.window = max(1, min(correlation.source[0], steps + self.highest - self.lowest + 1))
        self.row_size = correlation.source[1] * self.cut.covered + LINE // itemsize
        weight = self.filters * correlation.terms * self.area if self.copies_weight else 0
        self.copied_data = -(-weight // LINE) * LINE
        data = correlation.terms * self.window * self.row_size if packs else 0
        self.scratch = (self.copied_data + data) * itemsize
        if self.tiles > 1 or self.blocks * correlation.groups == 1:
            self.split, self.splits = "tiles", self.tiles
        elif correlation.groups > 1:
            self.split, self.splits = "groups", correlation.groups
        else:
            self.split, self.splits = "blocks", self.blocks

    def range_of(self, name: str, count: int) -> tuple[Integer, Integer]:
        return ("%begin", "%end") if self.split == name else (0, count)

    def write(self) -> Code:
        code, correlation = self.code, self.correlation
        with (
            code.loop(*self.range_of("tiles", self.tiles)) as tile,
            code.loop(*self.range_of("groups", correlation.groups)) as group,
            code.loop(0, len(self.cut.blocks)) as batch,
        ):
            first = code.multiply(tile.index, self.tile)
            self.rows = (first, code.smaller(code.add(first, self.tile), self.height))
            self.group = group.index
            self.start = code.smaller(code.multiply(batch.index, self.cut.spacing), self.cut.last)
            height, line = correlation.source[0], correlation.source[1] * correlation.batch
            channel = code.multiply(self.group, correlation.terms * height * line)
            self.data = code.at("%p0", channel, self.start)
            # How far apart channels, rows and columns of the data are; and the first row that was copied.
            self.strides = (height * line, line, correlation.batch)
            self.low: Integer = 0
            if self.packs:
                self.write_copies()
            with code.loop(*self.range_of("blocks", self.blocks)) as block:
                self.write_block(block.index)
        return Code(code.body(3), ("data", "weight"), ("result",), self.splits, self.scratch)

    def write_copies(self) -> None:
        """Copy the rows of data that a tile reads."""
        code, correlation = self.code, self.correlation
        count, step = len(correlation.rows), correlation.rows[0].step
        channel, line, _ = self.strides
        first = code.quotient(self.rows[0], count)
        last = code.quotient(code.add(self.rows[1], -1), count)
        low = code.larger(code.add(code.multiply(first, step), self.lowest), 0)
        high = code.smaller(code.add(code.multiply(last, step), self.highest + 1), correlation.source[0])
        copied = code.at("%scratch", self.copied_data)
        with code.loop(0, correlation.terms) as c, code.loop(low, high) as r:
            source = code.at(self.data, code.multiply(c.index, channel), code.multiply(r.index, line))
            place = code.add(code.multiply(c.index, self.window), code.subtract(r.index, low))
            target = code.at(copied, code.multiply(place, self.row_size))
            if self.cut.covered == correlation.batch:
                code.copy(target, source, line)
            else:
                with code.loop(0, correlation.source[1]) as column:
                    to = code.at(target, code.multiply(column.index, self.cut.covered))
                    code.copy(to, code.at(source, code.multiply(column.index, correlation.batch)), self.cut.covered)
        self.data, self.low = copied, low
        self.strides = (self.window * self.row_size, self.row_size, self.cut.covered)

    def write_block(self, block: Integer) -> None:
        """Write the results of some filters; the last block may overlap the one before."""
        code, correlation = self.code, self.correlation
        first = code.smaller(code.multiply(block, self.filters), correlation.results - self.filters)
        self.weight_strides = strides = correlation.weight
        self.weight = code.at("%p1", code.multiply(self.group, strides.group), code.multiply(first, strides.result))
        if self.copies_weight:
            self.write_weight()
        result = code.add(code.multiply(self.group, correlation.results), first)
        with code.loop(*self.rows) as row:
            for axis in correlation.columns:
                with code.loop(0, axis.count) as column:
                    line = code.add(code.multiply(result, self.height), row.index)
                    position = code.add(code.multiply(column.index, axis.spacing), axis.first)
                    place = code.add(code.multiply(line, self.width), position)
                    sums = self.write_sums(row.index, column.index, axis)
                    self.store(sums, code.add(code.multiply(place, correlation.batch), self.start))

    def write_weight(self) -> None:
        """Copy the numbers that a block reads: those of its filters side by side."""
        code, strides, filters = self.code, self.weight_strides, self.filters
        with code.loop(0, self.correlation.terms) as c, code.loop(0, self.area) as k:
            source = code.at(self.weight, code.multiply(c.index, strides.term), k.index)
            place = code.add(code.multiply(c.index, self.area), k.index)
            target = code.at("%scratch", code.multiply(place, filters))
            values = [code.load_element(source, f * strides.result) for f in range(filters)]
            for f, value in enumerate(values):
                code.store_element(value, target, f)
        self.weight = "%scratch"
        self.weight_strides = Strides(1, self.area * filters, strides.row * filters, strides.column * filters, 0)

    def write_sums(self, row: Integer, t: Integer, axis: Axis) -> list[str]:
        """Write the sums of a block at one position, and return them. Along the row it is number `t` of its axis."""
        code, rows = self.code, self.correlation.rows
        sums = [code.zero] * (self.filters * len(self.cut.starts))
        if axis.taps == 0 or not any(row_axis.taps for row_axis in rows):
            return sums
        phase, row_t, top = source_row(code, rows, row)
        begin, end = bounds(code, rows, phase, row_t, top)
        left = code.add(code.multiply(t, axis.step), axis.offset)
        first, last = bounds(code, (axis,), 0, t, left)
        strides, (term, line, element) = self.weight_strides, self.strides
        # From one tap to the next: in the data, and in the weight.
        down = code.multiply(code.choose(phase, [row_axis.reach for row_axis in rows]), line)
        right = axis.reach * element
        next_row = code.multiply(code.choose(phase, [row_axis.tap_step for row_axis in rows]), strides.row)
        next_column = axis.tap_step * strides.column
        data = code.at(self.data, code.multiply(code.subtract(top, self.low), line), code.multiply(left, element))
        tap = code.choose(phase, [row_axis.tap for row_axis in rows])
        weight = code.at(self.weight, code.multiply(tap, strides.row), axis.tap * strides.column)
        with code.loop(0, self.correlation.terms, sums) as c:
            channel = code.at(data, code.multiply(c.index, term))
            numbers = code.at(weight, code.multiply(c.index, strides.term))
            with code.loop(begin, end, c.values) as i:
                across = code.at(channel, code.multiply(i.index, down))
                along = code.at(numbers, code.multiply(i.index, next_row))
                with code.loop(first, last, i.values) as j:
                    source = code.at(across, code.multiply(j.index, right))
                    taps = code.at(along, code.multiply(j.index, next_column))
                    j.values = self.step(j.values, source, taps, strides.result)
                i.values = j.values
            c.values = i.values
        return c.values

    def step(self, sums: list[str], source: str, numbers: str, filter_stride: int) -> list[str]:
        """Write one step of the sums: the vectors of data at a tap, and one number of every filter."""
        code, count = self.code, len(self.cut.starts)
        vectors = [code.load(source, start) for start in self.cut.starts]
        result = []
        for f in range(self.filters):
            number = code.broadcast(numbers, f * filter_stride)
            for total, vector in zip(sums[f * count : (f + 1) * count], vectors, strict=True):
                result.append(code.add_product(total, vector, number))
        return result

    def store(self, sums: list[str], place: Integer) -> None:
        """Write the results of a block at a position."""
        target = self.code.at("%p2", place)
        plane = self.height * self.width * self.correlation.batch
        places = [f * plane + start for f in range(self.filters) for start in self.cut.starts]
        for value, distance in zip(sums, places, strict=True):
            self.code.store(value, target, distance)
