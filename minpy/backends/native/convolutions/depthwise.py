"""Depthwise convolutions, batch last: every channel by itself. What bounds them is memory.

A block of neighbouring positions shares the vectors of data that it loads. At the borders positions are done one by
one, without the taps that reach beyond the data.
"""

from __future__ import annotations

from minpy.backends.native.convolutions.correlation import Code, Correlation
from minpy.backends.native.convolutions.data_gradient import data_correlation
from minpy.backends.native.convolutions.emitter import Emitter, Integer
from minpy.backends.native.convolutions.forward import forward_correlation
from minpy.backends.native.convolutions.problem import Axis, Problem, forward_axes
from minpy.backends.native.convolutions.registers import Processor, VectorsOfBatch
from minpy.backends.native.convolutions.taps import bounds, positions_of, source_row

__all__ = ["depthwise_data_gradient", "depthwise_forward", "depthwise_weight_gradient"]

# Neighbouring positions that are done together.
TOGETHER = 4

# Products that are written one after the other: the taps of a row for all positions of a block.
UNROLLED = 44


def depthwise_forward(problem: Problem, processor: Processor) -> Code:
    """Return the function that does a convolution of as many groups as channels; see `forward`. It does not pool."""
    return _Correlation(forward_correlation(problem), processor).write()


def depthwise_data_gradient(problem: Problem, processor: Processor) -> Code:
    """Return the function that sends the gradient of such a convolution's sums to its data."""
    return _Correlation(data_correlation(problem), processor).write()


class _Correlation:
    def __init__(self, what: Correlation, processor: Processor) -> None:
        self.what, self.processor = what, processor
        self.lanes = VectorsOfBatch.of(what.batch, processor.lanes(8 if what.element == "double" else 4))
        self.code = Emitter(what.element, self.lanes.width)
        self.reads = ("data", "weight", *(name for name in ("bias", "residual") if getattr(what, name)))
        self.pointer = {name: f"%p{number}" for number, name in enumerate((*self.reads, "result"))}

    def write(self) -> Code:
        code, what = self.code, self.what
        height, width = what.target
        with code.loop("%begin", "%end") as group, code.loop(0, what.results) as one:
            result = code.add(code.multiply(group.index, what.results), one.index)
            weight = code.at(
                self.pointer["weight"],
                code.multiply(group.index, what.weight.group),
                code.multiply(one.index, what.weight.result),
            )
            source = code.multiply(code.multiply(group.index, what.terms), what.source[0] * what.source[1] * what.batch)
            self.data = code.at(self.pointer["data"], source)
            bias = code.broadcast(self.pointer["bias"], result) if what.bias else code.zero
            with code.loop(0, height) as row:
                place = code.multiply(code.add(code.multiply(result, height), row.index), width)
                for axis in what.columns:
                    if axis.count:
                        self.write_row(row.index, axis, weight, place, bias)
        return Code(code.body(len(self.pointer)), self.reads, ("result",), what.groups, 0)

    def write_row(self, row: Integer, axis: Axis, weight: str, place: Integer, bias: str) -> None:
        code, what = self.code, self.what
        phase, t, base = source_row(code, what.rows, row)
        begin, end = bounds(code, what.rows, phase, t, base)
        rows = (phase, base, begin, end)
        left, right = axis.inside
        together = min(TOGETHER, right - left)
        if together == 0 or axis.taps * together > UNROLLED:
            left = right = 0
        if right > left:
            with code.loop(0, -(-(right - left) // together)) as block:
                q = code.smaller(code.add(code.multiply(block.index, together), left), right - together)
                self.write_block(q, together, rows, axis, weight, place, bias)
        self.write_single(range(left), rows, axis, weight, place, bias)
        self.write_single(range(right, axis.count), rows, axis, weight, place, bias)

    def finish(self, sums: str, place: Integer) -> None:
        code = self.code
        if self.what.residual:
            sums = code.arithmetic("fadd", sums, code.load(self.pointer["residual"], place))
        if self.what.relu:
            sums = code.relu(sums)
        code.store(sums, self.pointer["result"], place)

    def place_of(self, place: Integer, axis: Axis, t: Integer, start: Integer) -> Integer:
        code = self.code
        q = code.add(code.multiply(t, axis.spacing), axis.first)
        return code.add(code.multiply(code.add(place, q), self.what.batch), start)

    def write_block(
        self,
        t: Integer,
        together: int,
        rows: tuple[Integer, Integer, Integer, Integer],
        axis: Axis,
        weight: str,
        place: Integer,
        bias: str,
    ) -> None:
        """Write neighbouring positions, where all taps of a row count."""
        code, what = self.code, self.what
        phase, base, begin, end = rows
        size = what.source[0] * what.source[1] * what.batch
        reach = code.choose(phase, [one.reach for one in what.rows])
        tap = code.choose(phase, [one.tap for one in what.rows])
        tap_step = code.choose(phase, [one.tap_step for one in what.rows])
        columns = sorted({p * axis.step + j * axis.reach for p in range(together) for j in range(axis.taps)})
        left = code.add(code.multiply(t, axis.step), axis.offset)
        with code.loop(0, self.lanes.count) as vector:
            start = self.lanes.start(code, vector.index)
            with code.loop(0, what.terms, [bias] * together) as term:
                with code.loop(begin, end, term.values) as i:
                    line = code.multiply(code.add(base, code.multiply(i.index, reach)), what.source[1])
                    source = code.multiply(code.add(line, left), what.batch)
                    pointer = code.at(self.data, code.add(source, code.multiply(term.index, size)), start)
                    numbers = self.numbers(weight, term.index, code.add(tap, code.multiply(i.index, tap_step)), axis)
                    found = {column: code.load(pointer, column * what.batch) for column in columns}
                    for j in range(axis.taps):
                        number = code.broadcast(numbers, j * axis.tap_step * what.weight.column)
                        for p in range(together):
                            value = found[p * axis.step + j * axis.reach]
                            i.values[p] = code.add_product(i.values[p], value, number)
                term.values = i.values
            for p, value in enumerate(term.values):
                self.finish(value, self.place_of(place, axis, code.add(t, p), start))

    def numbers(self, weight: str, term: Integer, tap: Integer, axis: Axis) -> str:
        code, strides = self.code, self.what.weight
        return code.at(
            weight, code.multiply(term, strides.term), code.multiply(tap, strides.row), axis.tap * strides.column
        )

    def write_single(
        self,
        positions: range,
        rows: tuple[Integer, Integer, Integer, Integer],
        axis: Axis,
        weight: str,
        place: Integer,
        bias: str,
    ) -> None:
        """Write positions one by one, with the taps that count."""
        if not positions:
            return
        code, what = self.code, self.what
        phase, base, begin, end = rows
        size = what.source[0] * what.source[1] * what.batch
        reach = code.choose(phase, [one.reach for one in what.rows])
        tap = code.choose(phase, [one.tap for one in what.rows])
        tap_step = code.choose(phase, [one.tap_step for one in what.rows])
        with code.loop(positions.start, positions.stop) as t:
            left = code.add(code.multiply(t.index, axis.step), axis.offset)
            first, last = bounds(code, (axis,), 0, t.index, left)
            with code.loop(0, self.lanes.count) as vector:
                start = self.lanes.start(code, vector.index)
                with code.loop(0, what.terms, [bias]) as term:
                    with code.loop(begin, end, term.values) as i:
                        line = code.multiply(code.add(base, code.multiply(i.index, reach)), what.source[1])
                        numbers = self.numbers(
                            weight, term.index, code.add(tap, code.multiply(i.index, tap_step)), axis
                        )
                        with code.loop(first, last, i.values) as j:
                            column = code.add(line, left, code.multiply(j.index, axis.reach))
                            distance = code.add(code.multiply(column, what.batch), code.multiply(term.index, size))
                            value = code.load(self.data, code.add(distance, start))
                            number = code.broadcast(numbers, code.multiply(j.index, axis.tap_step * what.weight.column))
                            j.values = [code.add_product(j.values[0], value, number)]
                        i.values = j.values
                    term.values = i.values
                self.finish(term.values[0], self.place_of(place, axis, t.index, start))


def depthwise_weight_gradient(problem: Problem, processor: Processor) -> Code:
    """Return the function that makes the gradient of the weight, and of a bias if there is one; see `weight_gradient`.

    A filter's sums over one row of taps are in registers while its channel goes by.
    """
    lanes = VectorsOfBatch.of(problem.batch, processor.lanes(problem.itemsize))
    code = Emitter(problem.element, lanes.width)
    rows, axis = forward_axes(problem)
    (height, width), (_, length), batch = problem.lengths, problem.positions, problem.batch
    left, right = axis.inside
    together = min(TOGETHER, right - left)
    several = problem.filters // problem.groups

    def existing(column: Integer, data: str, distance: Integer) -> str:
        exists = code.both(code.compare("sge", column, 0), code.compare("slt", column, width))
        return code.put(f"select i1 {exists}, ptr {code.at(data, distance)}, ptr %scratch")

    def positions(t: Integer, count: int, data: str, gradient: str, sums: list[str], within: bool) -> list[str]:
        column = code.add(code.multiply(t, axis.step), axis.offset)
        needed = sorted({p * axis.step + j * axis.reach for p in range(count) for j in range(axis.taps)})
        with code.loop(0, lanes.count, sums) as vector:
            start, fresh = lanes.start(code, vector.index), lanes.fresh(code, vector.index)

            def masked(value: str) -> str:
                return value if fresh is None else code.where(fresh, value, code.zero)

            found = {}
            for one in needed:
                here = code.add(code.multiply(code.add(column, one), batch), start)
                pointer = code.at(data, here) if within else existing(code.add(column, one), data, here)
                found[one] = masked(code.load(pointer))
            upstream = code.at(gradient, code.multiply(t, batch), start)
            for p in range(count):
                value = masked(code.load(upstream, p * batch))
                for j in range(axis.taps):
                    # Two sums for each tap, in turn: one would wait for itself.
                    number = 2 * j + p % 2
                    other = found[p * axis.step + j * axis.reach]
                    vector.values[number] = code.add_product(vector.values[number], value, other)
        return vector.values

    code.store(code.zero, "%scratch")
    with code.loop("%begin", "%end") as f:
        data = code.at("%p0", code.multiply(code.quotient(f.index, several), height * width * batch))
        gradient = code.at("%p1", code.multiply(f.index, rows.count * length * batch))
        with code.loop(0, problem.kernel[0]) as i:
            offset = code.add(code.multiply(i.index, problem.dilate[0]), -problem.pad[0])
            first, last = positions_of(code, rows, offset)
            with code.loop(first, last, [code.zero] * (2 * axis.taps)) as row:
                line = code.multiply(code.add(code.multiply(row.index, rows.step), offset), width * batch)
                here, there = code.at(data, line), code.at(gradient, code.multiply(row.index, length * batch))
                sums = row.values
                if together:
                    blocks = (right - left) // together
                    with code.loop(0, blocks, sums) as block:
                        t = code.add(code.multiply(block.index, together), left)
                        block.values = positions(t, together, here, there, block.values, True)
                    sums = block.values
                done = left + blocks * together if together else 0
                for begin, end in ((0, left if together else 0), (done, axis.count)):
                    if begin < end:
                        with code.loop(begin, end, sums) as q:
                            q.values = positions(q.index, 1, here, there, q.values, False)
                        sums = q.values
                row.values = sums
            pairs = zip(row.values[::2], row.values[1::2], strict=True)
            added = code.sums([code.arithmetic("fadd", one, other) for one, other in pairs])
            target = code.multiply(code.add(code.multiply(f.index, problem.kernel[0]), i.index), axis.taps)
            _store_sums(code, added, axis.taps, code.at("%p2", target))
        if problem.bias:
            with code.loop(0, rows.count * length, [code.zero]) as q, code.loop(0, lanes.count, q.values) as vector:
                start, fresh = lanes.start(code, vector.index), lanes.fresh(code, vector.index)
                value = code.load(gradient, code.add(code.multiply(q.index, batch), start))
                value = value if fresh is None else code.where(fresh, value, code.zero)
                vector.values = q.values = [code.arithmetic("fadd", vector.values[0], value)]
            _store_sums(code, code.sums(q.values), 1, code.at("%p3", f.index))
    writes = ("weight", "bias") if problem.bias else ("weight",)
    scratch = problem.itemsize * lanes.width * (2 + axis.taps)
    return Code(code.body(2 + len(writes)), ("data", "gradient"), writes, problem.filters, scratch)


def _store_sums(code: Emitter, added: list[str], count: int, target: str) -> None:
    """Write the first `count` lanes of some vectors, which lie in scratch memory between."""
    between = code.at("%scratch", code.lanes)
    for number, value in enumerate(added):
        code.store(value, between, number * code.lanes)
    for number in range(count):
        code.store_element(code.load_element(between, number), target, number)
