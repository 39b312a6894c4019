"""Direct correlations, batch last: what a convolution and the gradient of its data have in common.

Vectors run along the batch. A block of sums, some filters by some vectors, stays in registers while all channels and
taps go by: a step loads the vectors of data once and meets them with one number of the weight for each filter. Rows and
columns of taps that reach beyond the data are left out, so that nothing is padded. Data of many channels are copied, a
window of rows at a time, to where they lie densely in the second-level cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from minpy.graph.native.convolutions.emitter import Emitter, Integer
from minpy.graph.native.convolutions.problem import Axis
from minpy.graph.native.convolutions.registers import Lanes, Processor, batch_lanes, block_of
from minpy.graph.native.convolutions.taps import bounds, source_row

__all__ = ["Code", "Correlation", "Strides", "correlate"]


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
    bias, residual, relu, pool : bool
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
    bias: bool = False
    residual: bool = False
    relu: bool = False
    pool: bool = False


# Streams of rows from which data are copied together before they are read.
STREAMS = 24

# Results that must read a copied element for the copy to pay.
READERS = 24

# Taps along a row up to which they are written one after the other, where all of them count.
UNROLLED = 7


def correlate(what: Correlation, processor: Processor, packs: bool | None = None) -> Code:
    """Return the function that does a correlation.

    Its pointers: data, weight, bias and residual where there are some; the result, with `pool` also which of four it
    was: bytes 0 to 3, and 4 where no gradient goes to any of them.
    """
    return _Writer(what, processor, packs).write()


class _Writer:
    def __init__(self, what: Correlation, processor: Processor, packs: bool | None) -> None:
        self.what = what
        itemsize = 8 if what.element == "double" else 4
        block = block_of(what.results, what.batch, processor.lanes(itemsize), processor)
        self.cut: Lanes = batch_lanes(what.batch, processor.lanes(itemsize), block.columns)
        self.filters = block.rows
        self.blocks = -(-what.results // block.rows)
        self.code = Emitter(what.element, self.cut.width)
        self.reads = ("data", "weight", *(name for name in ("bias", "residual") if getattr(what, name)))
        self.writes = ("result", "index") if what.pool else ("result",)
        self.pointer = {name: f"%p{number}" for number, name in enumerate(self.reads + self.writes)}
        taps = max(axis.taps for axis in what.rows)
        streams = what.terms * taps
        readers = what.results * max(axis.taps for axis in what.columns)
        self.packs = (streams >= STREAMS and readers >= READERS) if packs is None else packs
        reach = max((axis.taps - 1) * axis.reach for axis in what.rows) + 1
        self.window = min(what.source[0], max(reach, 0) + (what.rows[0].step if what.pool else 0))
        # A row is a little longer than its elements: those of all channels would meet in one set of the cache.
        self.row_size = what.source[1] * self.cut.covered + 64 // itemsize
        self.channels = what.terms
        if self.packs and not what.pool:
            most = max(1, processor.second_cache // (2 * itemsize * self.window * self.row_size))
            parts = -(-what.terms // most)
            self.channels = -(-what.terms // parts)
            self.channels = next(
                (n for n in range(self.channels, 2 * self.channels) if what.terms % n == 0), self.channels
            )
        self.parts = -(-what.terms // self.channels)
        if self.parts * self.channels != what.terms:
            self.channels, self.parts = what.terms, 1
        self.itemsize = itemsize
        # What the sums of some channels are between these and the next: of all blocks of a row.
        self.sums_size = 0
        if self.parts > 1:
            vectors = self.filters * len(self.cut.starts) * self.cut.width
            self.sums_size = self.blocks * what.target[1] * vectors
        self.best_size = 2 * self.filters * len(self.cut.starts) * self.cut.width if what.pool else 0
        height = what.target[0] // 2 if what.pool else what.target[0]
        if height > 1 or self.blocks * what.groups == 1:
            self.split, self.splits = "rows", height
        elif what.groups > 1:
            self.split, self.splits = "groups", what.groups
        else:
            self.split, self.splits = "blocks", self.blocks
        self.height = height

    def range_of(self, name: str, count: int) -> tuple[Integer, Integer]:
        return ("%begin", "%end") if self.split == name else (0, count)

    def write(self) -> Code:
        code, what = self.code, self.what
        with code.loop(*self.range_of("rows", self.height)) as row:
            with code.loop(*self.range_of("groups", what.groups)) as group:
                with code.loop(0, len(self.cut.blocks)) as block:
                    start = code.smaller(code.multiply(block.index, self.cut.spacing), self.cut.last)
                    with code.loop(0, self.parts) as part:
                        self.write_rows(row.index, group.index, start, part.index)
        scratch = self.itemsize * (self.best_size + self.sums_size)
        if self.packs:
            scratch += self.itemsize * self.channels * self.window * self.row_size
        body = code.body(len(self.pointer))
        return Code(body, self.reads, self.writes, self.splits, scratch, frozenset(code.declares))

    def write_rows(self, row: Integer, group: Integer, start: Integer, part: Integer) -> None:
        """Write one row of results, or two that are pooled."""
        code, what = self.code, self.what
        channel = code.add(code.multiply(group, what.terms), code.multiply(part, self.channels))
        width, height = what.source[1] * what.batch, what.source[0]
        if self.packs:
            phase, _, low = source_row(code, what.rows, code.multiply(row, 2 if what.pool else 1))
            reach = code.choose(phase, [(axis.taps - 1) * axis.reach + 1 for axis in what.rows])
            high = code.add(low, reach, what.rows[0].step if what.pool else 0)
            low, high = code.larger(low, 0), code.smaller(high, height)
            packed = code.at("%scratch", self.best_size + self.sums_size)
            data = code.at(self.pointer["data"], code.multiply(channel, height * width), start)
            with code.loop(0, self.channels) as c, code.loop(low, high) as r:
                source = code.at(data, code.multiply(c.index, height * width), code.multiply(r.index, width))
                place = code.add(code.multiply(c.index, self.window), code.subtract(r.index, low))
                target = code.at(packed, code.multiply(place, self.row_size))
                self.write_copy(target, source)
            self.strides = (self.window * self.row_size, self.row_size, self.cut.covered)
            self.data, self.low = packed, low
        else:
            self.strides = (height * width, width, what.batch)
            self.data, self.low = code.at(self.pointer["data"], code.multiply(channel, height * width), start), 0
        with code.loop(*self.range_of("blocks", self.blocks)) as block:
            first = code.smaller(code.multiply(block.index, self.filters), what.results - self.filters)
            weight = code.at(
                self.pointer["weight"],
                code.multiply(group, what.weight.group),
                code.multiply(code.multiply(part, self.channels), what.weight.term),
                code.multiply(first, what.weight.result),
            )
            result = code.add(code.multiply(group, what.results), first)
            for phase, axis in enumerate(what.columns):
                if axis.count:
                    self.write_columns(row, phase, weight, result, start, part, block.index)

    def write_copy(self, target: str, source: str) -> None:
        code, what, cut = self.code, self.what, self.cut
        if cut.covered == what.batch:
            code.copy(target, source, what.source[1] * what.batch)
            return
        with code.loop(0, what.source[1]) as column:
            to = code.at(target, code.multiply(column.index, cut.covered))
            come = code.at(source, code.multiply(column.index, what.batch))
            code.copy(to, come, cut.covered)

    def write_columns(
        self,
        row: Integer,
        column_phase: int,
        weight: str,
        result: Integer,
        start: Integer,
        part: Integer,
        block: Integer,
    ) -> None:
        code, what = self.code, self.what
        axis = what.columns[column_phase]
        count = axis.count // 2 if what.pool else axis.count
        with code.loop(0, count) as column:
            q = code.add(code.multiply(column.index, axis.spacing), axis.first)
            height, width = (self.height, what.target[1] // (2 if what.pool else 1))
            place = code.multiply(
                code.add(code.multiply(code.add(code.multiply(result, height), row), width), q), what.batch
            )
            place = code.add(place, start)
            if what.pool:
                self.write_pooled(row, column.index, axis, weight, result, place)
                return
            if self.parts == 1:
                self.write_results(self.write_sums(row, column.index, axis, weight, self.biases(result)), place)
                return
            number = code.add(code.multiply(block, what.target[1]), q)
            kept = code.at("%scratch", code.multiply(number, len(self.vectors()) * self.cut.width))
            first = code.compare("eq", part, 0)
            initial = code.either(first, partial(self.biases, result), partial(self.read_sums, kept))
            sums = self.write_sums(row, column.index, axis, weight, initial)
            done = code.compare("eq", part, self.parts - 1)
            code.either(done, partial(self.write_results, sums, place), partial(self.keep_sums, sums, kept))

    def vectors(self) -> list[tuple[int, int]]:
        return [(f, start) for f in range(self.filters) for start in self.cut.starts]

    def target_distance(self, f: int, start: int) -> int:
        height, width = self.what.target
        if self.what.pool:
            height, width = height // 2, width // 2
        return f * height * width * self.what.batch + start

    def biases(self, result: Integer) -> list[str]:
        if not self.what.bias:
            return [self.code.zero] * len(self.vectors())
        pointer = self.code.at(self.pointer["bias"], result)
        found = [self.code.broadcast(pointer, f) for f in range(self.filters)]
        return [found[f] for f, _ in self.vectors()]

    def read_sums(self, kept: str) -> list[str]:
        """Return what the channels before have given."""
        return [self.code.load(kept, number * self.cut.width) for number in range(len(self.vectors()))]

    def keep_sums(self, sums: list[str], kept: str) -> list[str]:
        for number, value in enumerate(sums):
            self.code.store(value, kept, number * self.cut.width)
        return []

    def write_results(self, sums: list[str], place: Integer) -> list[str]:
        code = self.code
        if self.what.residual:
            other = code.at(self.pointer["residual"], place)
            added = [code.load(other, self.target_distance(f, v)) for f, v in self.vectors()]
            sums = [code.arithmetic("fadd", one, two) for one, two in zip(sums, added, strict=True)]
        if self.what.relu:
            sums = [code.relu(value) for value in sums]
        target = code.at(self.pointer["result"], place)
        for value, (f, v) in zip(sums, self.vectors(), strict=True):
            code.store(value, target, self.target_distance(f, v))
        return []

    def write_sums(self, row: Integer, t: Integer, axis: Axis, weight: str, initial: list[str]) -> list[str]:
        """Write the sums of a block at one position, and return them. Along the row it is number `t` of its axis."""
        code, what = self.code, self.what
        row_axes = what.rows
        phase, row_t, base = source_row(code, what.rows, row)
        begin, end = bounds(code, row_axes, phase, row_t, base)
        left = code.add(code.multiply(t, axis.step), axis.offset)
        first, last = bounds(code, (axis,), 0, t, left)
        reach = code.choose(phase, [one.reach for one in row_axes])
        tap = code.choose(phase, [one.tap for one in row_axes])
        tap_step = code.choose(phase, [one.tap_step for one in row_axes])
        lines, columns = self.strides[1], self.strides[2]
        data = code.at(self.data, code.multiply(code.subtract(base, self.low), lines), code.multiply(left, columns))
        weight = code.at(weight, code.multiply(tap, what.weight.row), axis.tap * what.weight.column)

        def step(sums: list[str], source: str, numbers: str) -> list[str]:
            vectors = [code.load(source, start) for start in self.cut.starts]
            new = []
            for f in range(self.filters):
                number = code.broadcast(numbers, f * what.weight.result)
                for v, vector in enumerate(vectors):
                    new.append(code.add_product(sums[f * len(vectors) + v], vector, number))
            return new

        def taps(sums: list[str], source: str, numbers: str, whole: bool) -> list[str]:
            if whole and axis.taps <= UNROLLED:
                for j in range(axis.taps):
                    sums = step(
                        sums,
                        code.at(source, j * axis.reach * columns),
                        code.at(numbers, j * axis.tap_step * what.weight.column),
                    )
                return sums
            with code.loop(0 if whole else first, axis.taps if whole else last, sums) as j:
                here = code.at(source, code.multiply(j.index, axis.reach * columns))
                there = code.at(numbers, code.multiply(j.index, axis.tap_step * what.weight.column))
                j.values = step(j.values, here, there)
            return j.values

        def all_terms(whole: bool) -> list[str]:
            with code.loop(0, self.channels, initial) as c:
                source = code.at(data, code.multiply(c.index, self.strides[0]))
                numbers = code.at(weight, code.multiply(c.index, what.weight.term))
                with code.loop(begin, end, c.values) as i:
                    here = code.at(source, code.multiply(code.multiply(i.index, reach), lines))
                    there = code.at(numbers, code.multiply(code.multiply(i.index, tap_step), what.weight.row))
                    i.values = taps(i.values, here, there, whole)
                c.values = i.values
            return c.values

        if axis.taps == 0 or not any(one.taps for one in row_axes):
            return list(initial)
        if axis.is_whole:
            return all_terms(True)
        inside = code.both(code.compare("eq", first, 0), code.compare("eq", last, axis.taps))
        return code.either(inside, partial(all_terms, True), partial(all_terms, False))

    def write_pooled(
        self, row: Integer, column: Integer, axis: Axis, weight: str, result: Integer, place: Integer
    ) -> None:
        """Write the largest of four positions' sums, and which it was. It lies in scratch memory between them."""
        code, what = self.code, self.what
        width = self.cut.width
        biases = self.biases(result)
        count = len(self.vectors())
        lowest, zeros = code.number(float("-inf")), code.zero
        for number in range(count):
            code.store(lowest, "%scratch", number * width)
            code.store(zeros, "%scratch", (count + number) * width)
        with code.loop(0, 4) as corner:
            r = code.add(code.multiply(row, 2), code.quotient(corner.index, 2))
            q = code.add(code.multiply(column, 2), code.remainder(corner.index, 2))
            sums = self.write_sums(r, q, axis, weight, biases)
            number = code.splat(code.define(f"uitofp i64 {corner.index} to {code.element}"))
            for place_of, value in enumerate(sums):
                best = code.load("%scratch", place_of * width)
                which = code.load("%scratch", (count + place_of) * width)
                # Larger, or NaN: which stays.
                taken = code.conditions("and", code.test("ugt", value, best), code.test("ord", best, best))
                code.store(code.where(taken, value, best), "%scratch", place_of * width)
                code.store(code.where(taken, number, which), "%scratch", (count + place_of) * width)
        for place_of, (f, v) in enumerate(self.vectors()):
            value = code.load("%scratch", place_of * width)
            which = code.load("%scratch", (count + place_of) * width)
            if what.relu:
                passes = code.test("ogt", value, zeros)
                value = code.relu(value)
            else:
                passes = code.test("ord", value, zeros)
            distance = self.target_distance(f, v)
            code.store(value, code.at(self.pointer["result"], place), distance)
            which = code.where(passes, which, code.number(4))
            narrow = code.define(f"fptoui {code.vector} {which} to <{width} x i8>")
            base = code.define(f"getelementptr i8, ptr {self.pointer['index']}, i64 {place}")
            at = code.define(f"getelementptr i8, ptr {base}, i64 {distance}")
            code.emit(f"store <{width} x i8> {narrow}, ptr {at}, align 1")
