"""Direct correlations, batch last: what a convolution and the gradient of its data have in common.

Vectors run along the batch. A block of sums, some filters by some vectors, stays in registers while all channels and
taps go by: a step loads the vectors of data once and meets them with one number of the weight for each filter. Rows and
columns of taps that reach beyond the data are left out, so that nothing is padded. Data of many channels are copied, a
window of rows at a time, to where they lie densely in the second-level cache; so are the numbers of a weight that would
meet in few sets of the first-level cache.

Products and sums are contracted where the CPU can, as in a BLAS, and the terms are added in another order than NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from minpy.backends.native.convolutions.emitter import Emitter, Integer
from minpy.backends.native.convolutions.problem import Axis, Problem, forward_axes, gradient_axes
from minpy.backends.native.convolutions.registers import Lanes, Processor, batch_lanes, block_of
from minpy.backends.native.convolutions.taps import bounds, source_row

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
    scale, bias, residual, relu : bool
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
    scale: bool = False
    bias: bool = False
    residual: bool = False
    relu: bool = False

    @property
    def itemsize(self) -> int:
        """The bytes of a number."""
        return 8 if self.element == "double" else 4

    @property
    def reads(self) -> tuple[str, ...]:
        """What a kernel reads."""
        return ("data", "weight", *(name for name in ("scale", "bias", "residual") if getattr(self, name)))


def correlation_of(problem: Problem, what: str) -> Correlation:
    """Return a convolution ('result'), or the gradient of its data ('data'), as a correlation.

    The gradient has the taps in the opposite order; with a stride, one axis for each remainder of a position by it.
    """
    height, width = problem.kernel
    channels, filters, area = problem.channels // problem.groups, problem.filters // problem.groups, height * width
    group = filters * channels * area
    if what == "data":
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
        problem.scale, problem.bias, problem.residual, problem.relu,
    )  # fmt: skip


# Streams of rows from which data are copied together before they are read.
STREAMS = 24

# Results that must read a copied element for the copy to pay.
READERS = 24

# Sets and ways of the first-level cache: a line's set is its number's remainder.
SETS, WAYS, LINE = 64, 8, 64

# Rows of results that are done with one copy of the weight.
TILE = 4


def correlate(problem: Problem, what: str, processor: Processor, packs: bool | None = None) -> Code:
    """Return the function that does a convolution ('result'), or the gradient of its data ('data').

    Its pointers: data (the gradient of the sums), weight, bias and residual where there are some; the result (the
    gradient of the data). Whether data are copied, it decides itself unless `packs` says so.
    """
    return _Writer(correlation_of(problem, what), processor, packs).write()


def _meets(stride: int, count: int) -> bool:
    """Tell whether lines so many bytes apart push each other out of the first-level cache."""
    sets = {number * stride // LINE % SETS for number in range(count)}
    return len(sets) * WAYS < 2 * count


class _Writer:
    def __init__(self, what: Correlation, processor: Processor, packs: bool | None) -> None:
        self.what = what
        self.itemsize = what.itemsize
        lanes = processor.lanes(self.itemsize)
        block = block_of(what.results, what.batch, lanes, processor)
        self.cut: Lanes = batch_lanes(what.batch, lanes, block.columns)
        self.filters = block.rows
        self.blocks = -(-what.results // block.rows)
        self.code = Emitter(what.element, self.cut.width)
        self.reads = what.reads
        self.pointer = {name: f"%p{number}" for number, name in enumerate((*self.reads, "result"))}
        self.height, self.width = what.target
        self.vectors = [(f, start) for f in range(self.filters) for start in self.cut.starts]
        taps = (max(axis.taps for axis in what.rows), max(axis.taps for axis in what.columns))
        positions = min(self.height, TILE) * self.width * len(self.cut.starts)
        self.copies_weight = _meets(what.weight.result * self.itemsize, self.filters) and positions >= 16
        self.area = min(what.weight.term, what.weight.result)
        self.tile = min(self.height, TILE) if self.copies_weight else 1
        self.tiles = -(-self.height // self.tile)
        if packs is None:
            packs = what.terms * taps[0] >= STREAMS and what.results * taps[1] >= READERS
        self.packs = packs
        self.place_scratch(processor)
        if self.tiles > 1 or self.blocks * what.groups == 1:
            self.split, self.splits = "tiles", self.tiles
        elif what.groups > 1:
            self.split, self.splits = "groups", what.groups
        else:
            self.split, self.splits = "blocks", self.blocks

    def place_scratch(self, processor: Processor) -> None:
        """Decide how many channels are done at a time, and where everything lies in scratch memory."""
        what = self.what
        rows = what.rows
        self.lowest = min((axis.offset for axis in rows if axis.taps), default=0)
        self.highest = max((axis.offset + (axis.taps - 1) * axis.reach for axis in rows if axis.taps), default=0)
        steps = -(-(self.tile - 1) // len(rows)) * rows[0].step
        self.window = max(1, min(what.source[0], steps + self.highest - self.lowest + 1))
        # A row is a line longer than its elements: those of all channels would meet in one set of the cache.
        self.row_size = what.source[1] * self.cut.covered + LINE // self.itemsize
        self.parts = 1
        if self.packs:
            most = max(16, processor.second_cache // (self.itemsize * self.window * self.row_size))
            self.parts = next(n for n in range(1, what.terms + 1) if what.terms % n == 0 and what.terms // n <= most)
        self.channels = what.terms // self.parts
        block = len(self.vectors) * self.cut.width
        sizes = {
            "sums": self.tile * self.blocks * self.width * block if self.parts > 1 else 0,
            "weight": self.filters * self.channels * self.area if self.copies_weight else 0,
            "data": self.channels * self.window * self.row_size if self.packs else 0,
        }
        self.scratch, self.at = 0, {}
        for name, size in sizes.items():
            self.at[name] = self.scratch
            self.scratch += -(-size // LINE) * LINE

    def range_of(self, name: str, count: int) -> tuple[Integer, Integer]:
        return ("%begin", "%end") if self.split == name else (0, count)

    def write(self) -> Code:
        code, what = self.code, self.what
        with (
            code.loop(*self.range_of("tiles", self.tiles)) as tile,
            code.loop(*self.range_of("groups", what.groups)) as group,
            code.loop(0, len(self.cut.blocks)) as batch,
        ):
            first = code.multiply(tile.index, self.tile)
            self.rows = (first, code.smaller(code.add(first, self.tile), self.height))
            self.group = group.index
            self.start = code.smaller(code.multiply(batch.index, self.cut.spacing), self.cut.last)
            if self.parts > 1:
                self.write_everywhere(self.begin_filter)
            with code.loop(0, self.parts) as part:
                self.write_part(part.index)
            if self.parts > 1:
                self.write_everywhere(self.finish_filter)
        body = code.body(len(self.pointer))
        return Code(body, self.reads, ("result",), self.splits, self.scratch * self.itemsize)

    # -- where ---------------------------------------------------------------------------------------------------------

    def first_result(self, block: Integer) -> Integer:
        """Return the first filter of a block, within its group: the last block may overlap the one before."""
        return self.code.smaller(self.code.multiply(block, self.filters), self.what.results - self.filters)

    def place(self, block: Integer, row: Integer, column: Integer) -> tuple[Integer, Integer]:
        """Return (first filter, where its results lie) of a block at a position."""
        code, what = self.code, self.what
        result = code.add(code.multiply(self.group, what.results), self.first_result(block))
        line = code.add(code.multiply(result, self.height), row)
        position = code.add(code.multiply(line, self.width), column)
        return result, code.add(code.multiply(position, what.batch), self.start)

    def sums_at(self, block: Integer, row: Integer, column: Integer) -> str:
        """Return where the sums of a block at a position lie until all channels are done."""
        code = self.code
        line = code.add(code.multiply(block, self.tile), code.subtract(row, self.rows[0]))
        position = code.add(code.multiply(line, self.width), column)
        return code.at("%scratch", self.at["sums"], code.multiply(position, len(self.vectors) * self.cut.width))

    def write_everywhere(self, write: Callable[[Integer, Integer, str], None]) -> None:
        """Write something for every filter and position of a tile: called with (filter, place, where its sums are)."""
        code, plane = self.code, self.height * self.width * self.what.batch
        with (
            code.loop(*self.range_of("blocks", self.blocks)) as block,
            code.loop(*self.rows) as row,
            code.loop(0, self.width) as column,
            code.loop(0, self.filters) as f,
        ):
            at = (block.index, row.index, column.index)
            result, place = self.place(*at)
            sums = code.at(self.sums_at(*at), code.multiply(f.index, len(self.cut.starts) * self.cut.width))
            write(code.add(result, f.index), code.add(place, code.multiply(f.index, plane)), sums)

    def distance(self, f: int, start: int) -> int:
        return f * self.height * self.width * self.what.batch + start

    # -- the parts of the work -----------------------------------------------------------------------------------------

    def write_part(self, part: Integer) -> None:
        """Write what is done with some of the channels."""
        code, what = self.code, self.what
        channel = code.add(code.multiply(self.group, what.terms), code.multiply(part, self.channels))
        height, line = what.source[0], what.source[1] * what.batch
        data = code.at(self.pointer["data"], code.multiply(channel, height * line), self.start)
        self.data, self.strides = data, (height * line, line, what.batch)
        self.low: Integer = 0
        if self.packs:
            self.write_copies(data)
        with code.loop(*self.range_of("blocks", self.blocks)) as block:
            self.weight, self.weight_strides = self.numbers(block.index, part), what.weight
            if self.copies_weight:
                self.write_weight()
            with code.loop(*self.rows) as row:
                for axis in what.columns:
                    if axis.count:
                        self.write_columns(block.index, row.index, axis)

    def write_copies(self, data: str) -> None:
        """Copy the rows of data that a tile reads."""
        code, what = self.code, self.what
        count, step = len(what.rows), what.rows[0].step
        height, line = what.source[0], what.source[1] * what.batch
        first = code.quotient(self.rows[0], count)
        last = code.quotient(code.add(self.rows[1], -1), count)
        low = code.larger(code.add(code.multiply(first, step), self.lowest), 0)
        high = code.smaller(code.add(code.multiply(last, step), self.highest + 1), height)
        copied = code.at("%scratch", self.at["data"])
        with code.loop(0, self.channels) as c, code.loop(low, high) as r:
            source = code.at(data, code.multiply(c.index, height * line), code.multiply(r.index, line))
            place = code.add(code.multiply(c.index, self.window), code.subtract(r.index, low))
            target = code.at(copied, code.multiply(place, self.row_size))
            if self.cut.covered == what.batch:
                code.copy(target, source, line)
            else:
                with code.loop(0, what.source[1]) as column:
                    to = code.at(target, code.multiply(column.index, self.cut.covered))
                    code.copy(to, code.at(source, code.multiply(column.index, what.batch)), self.cut.covered)
        self.data, self.low = copied, low
        self.strides = (self.window * self.row_size, self.row_size, self.cut.covered)

    def numbers(self, block: Integer, part: Integer) -> str:
        """Return where the numbers of the weight lie that a block reads."""
        code, strides = self.code, self.what.weight
        return code.at(
            self.pointer["weight"],
            code.multiply(self.group, strides.group),
            code.multiply(part, self.channels * strides.term),
            code.multiply(self.first_result(block), strides.result),
        )

    def write_weight(self) -> None:
        """Copy the numbers that a block reads: those of its filters side by side."""
        code, strides, filters = self.code, self.what.weight, self.filters
        target = code.at("%scratch", self.at["weight"])
        with code.loop(0, self.channels) as c, code.loop(0, self.area) as k:
            source = code.at(self.weight, code.multiply(c.index, strides.term), k.index)
            place = code.add(code.multiply(c.index, self.area), k.index)
            to = code.at(target, code.multiply(place, filters))
            values = [code.load_element(source, f * strides.result) for f in range(filters)]
            for f, value in enumerate(values):
                code.store_element(value, to, f)
        self.weight = target
        self.weight_strides = Strides(1, self.area * filters, strides.row * filters, strides.column * filters, 0)

    def write_columns(self, block: Integer, row: Integer, axis: Axis) -> None:
        """Write a row of results: its positions on one of the axes along it."""
        code = self.code
        with code.loop(0, axis.count) as column:
            q = code.add(code.multiply(column.index, axis.spacing), axis.first)
            place = self.place(block, row, q)
            if self.parts == 1:
                sums = self.write_sums(row, column.index, axis, self.biases(place[0]))
                self.finish(sums, place[1], self.vectors)
            else:
                kept = self.sums_at(block, row, q)
                self.keep(self.write_sums(row, column.index, axis, self.kept(kept)), kept)

    def write_sums(self, row: Integer, t: Integer, axis: Axis, sums: list[str]) -> list[str]:
        """Write the sums of a block at one position, and return them. Along the row it is number `t` of its axis."""
        code, rows = self.code, self.what.rows
        if axis.taps == 0 or not any(one.taps for one in rows):
            return sums
        phase, row_t, top = source_row(code, rows, row)
        begin, end = bounds(code, rows, phase, row_t, top)
        left = code.add(code.multiply(t, axis.step), axis.offset)
        first, last = bounds(code, (axis,), 0, t, left)
        strides, (term, line, element) = self.weight_strides, self.strides
        # From one tap to the next: in the data, and in the weight.
        down = code.multiply(code.choose(phase, [one.reach for one in rows]), line)
        right = axis.reach * element
        next_row = code.multiply(code.choose(phase, [one.tap_step for one in rows]), strides.row)
        next_column = axis.tap_step * strides.column
        data = code.at(self.data, code.multiply(code.subtract(top, self.low), line), code.multiply(left, element))
        tap = code.choose(phase, [one.tap for one in rows])
        weight = code.at(self.weight, code.multiply(tap, strides.row), axis.tap * strides.column)
        with code.loop(0, self.channels, sums) as c:
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

    def step(self, sums: list[str], source: str, numbers: str, apart: int) -> list[str]:
        """Write one step of the sums: the vectors of data at a tap, and one number of every filter."""
        code, count = self.code, len(self.cut.starts)
        vectors = [code.load(source, start) for start in self.cut.starts]
        result = []
        for f in range(self.filters):
            number = code.broadcast(numbers, f * apart)
            for total, vector in zip(sums[f * count : (f + 1) * count], vectors, strict=True):
                result.append(code.add_product(total, vector, number))
        return result

    # -- what sums begin with, and what becomes of them ----------------------------------------------------------------

    def biases(self, result: Integer) -> list[str]:
        if not self.what.bias:
            return [self.code.zero] * len(self.vectors)
        pointer = self.code.at(self.pointer["bias"], result)
        found = [self.code.broadcast(pointer, f) for f in range(self.filters)]
        return [found[f] for f, _ in self.vectors]

    def kept(self, sums: str) -> list[str]:
        return [self.code.load(sums, number * self.cut.width) for number in range(len(self.vectors))]

    def keep(self, values: list[str], sums: str) -> None:
        for number, value in enumerate(values):
            self.code.store(value, sums, number * self.cut.width)

    def begin_filter(self, result: Integer, place: Integer, sums: str) -> None:
        bias = self.code.broadcast(self.pointer["bias"], result) if self.what.bias else self.code.zero
        self.keep([bias] * len(self.cut.starts), sums)

    def finish_filter(self, result: Integer, place: Integer, sums: str) -> None:
        values = [self.code.load(sums, number * self.cut.width) for number in range(len(self.cut.starts))]
        self.finish(values, place, [(0, start) for start in self.cut.starts])

    def finish(self, sums: list[str], place: Integer, vectors: list[tuple[int, int]]) -> None:
        """Write results: what is fused is done to the sums. Vectors are those of (filters, where along the batch)."""
        code = self.code
        target = code.at(self.pointer["result"], place)
        residual = code.at(self.pointer["residual"], place) if self.what.residual else ""
        for value, (f, v) in zip(sums, vectors, strict=True):
            distance = self.distance(f, v)
            if residual:
                value = code.arithmetic("fadd", value, code.load(residual, distance))
            code.store(code.relu(value) if self.what.relu else value, target, distance)
