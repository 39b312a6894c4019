"""Convolutions of few examples: vectors run along blocks of channels.

Arrays are (batch, blocks, height, width, lanes): a block is as many channels as a vector has elements; where they are
no multiple of it, the rest of the last block is zeros. A weight is (filter blocks, channel blocks of a group, height,
width, channel lanes, filter lanes). A block of sums, some neighbouring positions by some vectors of filters, stays in
registers while channels and taps go by: a step loads the vectors of the weight and meets them with one number of the
data for each position. Along short rows every block is written with just the taps that find data for each position;
along longer ones positions read zeros beyond the border.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from minpy.graph.native.convolutions.correlation import Code
from minpy.graph.native.convolutions.emitter import Emitter, Integer
from minpy.graph.native.convolutions.problem import Axis, Problem, forward_axes
from minpy.graph.native.convolutions.registers import Processor
from minpy.graph.native.convolutions.taps import bounds

__all__ = [
    "Run",
    "blocked_forward",
    "blocked_lanes",
    "covers_blocks",
    "pack_weight",
    "runs_of",
]

# Products up to which a row of one block is written tap by tap, each with the positions that find data.
PRODUCTS = 96


def blocked_lanes(problem: Problem, processor: Processor) -> int:
    """Return how many channels make a block."""
    return processor.lanes(problem.itemsize)


def covers_blocks(problem: Problem, processor: Processor) -> bool:
    """Tell whether a convolution can be done in blocks of channels: groups are whole blocks, or single channels."""
    lanes = blocked_lanes(problem, processor)
    if problem.pool:
        return False
    if problem.groups == 1:
        return True
    if problem.is_depthwise:
        return problem.filters == problem.channels
    return problem.channels // problem.groups % lanes == 0 and problem.filters // problem.groups % lanes == 0


@dataclass(frozen=True)
class Run:
    """Blocks of neighbouring positions along a row that are written alike.

    Attributes
    ----------
    first, step, count : int
        Where the first block begins, how far apart they are, and how many there are.
    taps : tuple of tuple of int
        For each tap, the positions within a block for which it finds data.
    """

    first: int
    step: int
    count: int
    taps: tuple[tuple[int, ...], ...]


def runs_of(axis: Axis, together: int) -> list[Run]:
    """Return the positions of an axis in blocks; the last may overlap the one before.

    >>> axis = Axis(8, 0, 1, 1, 3, 1, -1, 8, 0, 1)
    >>> for run in runs_of(axis, 3):
    ...     print(run)
    Run(first=0, step=0, count=1, taps=((1, 2), (0, 1, 2), (0, 1, 2)))
    Run(first=3, step=0, count=1, taps=((0, 1, 2), (0, 1, 2), (0, 1, 2)))
    Run(first=5, step=0, count=1, taps=((0, 1, 2), (0, 1, 2), (0, 1)))
    """
    starts = sorted({min(first, axis.count - together) for first in range(0, axis.count, together)})

    def taps(start: int) -> tuple[tuple[int, ...], ...]:
        return tuple(
            tuple(p for p in range(together) if axis.begins(start + p) <= j < axis.ends(start + p))
            for j in range(axis.taps)
        )

    runs: list[Run] = []
    for start in starts:
        found = taps(start)
        if runs and runs[-1].taps == found:
            last = runs[-1]
            before = last.first + last.step * (last.count - 1)
            if last.count == 1 or start - before == last.step:
                runs[-1] = replace(last, step=start - before, count=last.count + 1)
                continue
        runs.append(Run(start, 0, 1, found))
    return runs


def _alike(count: int, together: int) -> list[Run]:
    """Return the blocks of a row as one or two runs, whose taps are all written for all positions."""
    whole = count // together
    found = [Run(0, together, whole, ())]
    if count % together:
        found.append(Run(count - together, 0, 1, ()))
    return found


def _block(axis: Axis, filters: int, processor: Processor) -> tuple[int, int, bool]:
    """Return (positions, vectors of filters) that are done together, and whether only taps that count are written."""
    best = (float("inf"), 1, 1, False)
    for vectors, positions in itertools.product(range(1, min(filters, 8) + 1), range(1, min(axis.count, 28) + 1)):
        if positions * vectors + vectors + 1 > processor.registers and (positions, vectors) != (1, 1):
            continue

        def cycles(number: int, vectors: int = vectors) -> float:
            return max(number * vectors, vectors + number / 2, 5) + 1 if number else 0

        runs, times = runs_of(axis, positions), -(-filters // vectors)
        exactly = sum(run.count * cycles(len(tap)) for run in runs for tap in run.taps)
        products = vectors * sum(len(tap) for run in runs for tap in run.taps)
        exact = len(runs) == 1 and products <= PRODUCTS
        if not exact:
            exactly = sum(run.count for run in runs) * axis.taps * cycles(positions)
        best = min(best, (times * exactly, positions, vectors, exact))
    return best[1:]


def blocked_forward(problem: Problem, processor: Processor, plain: bool = False) -> Code:
    """Return the function that does a convolution on blocks of channels.

    Its pointers: data, the packed weight, bias (zeros where there is no filter) and residual where there are some; the
    result.

    Parameters
    ----------
    problem : Problem
    processor : Processor
    plain : bool
        Whether the data are (batch, channels, height, width): pictures of few channels. Only without groups.
    """
    return _Forward(problem, processor, plain).write()


def _flat(problem: Problem) -> Problem:
    """Return a problem with all positions along one row, if a kernel of one allows it."""
    alone = problem.kernel == problem.stride == (1, 1) and problem.pad == (0, 0)
    return replace(problem, lengths=(1, problem.lengths[0] * problem.lengths[1])) if alone else problem


class _Forward:
    def __init__(self, problem: Problem, processor: Processor, plain: bool) -> None:
        self.problem = problem = _flat(problem)
        lanes = self.lanes = blocked_lanes(problem, processor)
        self.code = Emitter(problem.element, lanes)
        self.rows, self.columns = forward_axes(problem)
        channels, filters = problem.channels // problem.groups, problem.filters // problem.groups
        self.filter_blocks = -(-filters // lanes)
        # Channels of a block, blocks, and how far apart blocks, rows and columns are.
        area = problem.lengths[0] * problem.lengths[1]
        if plain:
            self.inner, self.channel_blocks, element = 1, channels, 1
        else:
            self.inner, self.channel_blocks, element = lanes, -(-channels // lanes), lanes
        self.strides = (area * element, problem.lengths[1] * element, element)
        self.together, self.vectors, self.exact = _block(self.columns, self.filter_blocks, processor)
        self.exact &= not plain
        self.runs = runs_of(self.columns, self.together)
        taps = range(self.columns.taps)
        # Positions of a block for which some tap finds nothing, in some block.
        self.loose = {p for p in range(self.together) if any(p not in run.taps[j] for run in self.runs for j in taps)}
        if not self.exact:
            self.runs = _alike(self.columns.count, self.together)
        self.units = -(-self.filter_blocks // self.vectors)
        self.reads = ("data", "weight", *(name for name in ("bias", "residual") if getattr(problem, name)))
        self.pointer = {name: f"%p{number}" for number, name in enumerate((*self.reads, "result"))}
        whole = problem.groups * self.units * problem.batch
        self.by_rows = whole < 4 and self.rows.count > whole
        self.splits = self.rows.count if self.by_rows else whole

    def write(self) -> Code:
        code, problem = self.code, self.problem
        units = (0, problem.groups * self.units * problem.batch) if self.by_rows else ("%begin", "%end")
        rows = ("%begin", "%end") if self.by_rows else (0, self.rows.count)
        if not self.exact:
            code.store(code.zero, "%scratch")
        with code.loop(*units) as unit:
            example = code.remainder(unit.index, problem.batch)
            block = code.quotient(unit.index, problem.batch)
            group, number = code.quotient(block, self.units), code.remainder(block, self.units)
            first = code.smaller(code.multiply(number, self.vectors), self.filter_blocks - self.vectors)
            first = code.add(code.multiply(group, self.filter_blocks), first)
            channel = code.multiply(group, self.channel_blocks)
            image = code.add(code.multiply(example, problem.groups * self.channel_blocks), channel)
            data = code.at(self.pointer["data"], code.multiply(image, self.strides[0]))
            size = self.channel_blocks * problem.kernel[0] * problem.kernel[1] * self.inner * self.lanes
            weight = code.at(self.pointer["weight"], code.multiply(first, size))
            result = code.add(code.multiply(example, problem.groups * self.filter_blocks), first)
            with code.loop(*rows) as row:
                line = code.add(code.multiply(result, self.rows.count), row.index)
                for run in self.runs:
                    with code.loop(0, run.count) as one:
                        t = code.add(code.multiply(one.index, run.step), run.first)
                        sums = self.write_sums(row.index, t, run, data, weight, size, self.biases(first))
                        position = code.add(code.multiply(line, self.columns.count), t)
                        self.finish(sums, code.multiply(position, self.lanes))
        scratch = self.lanes * problem.itemsize
        return Code(code.body(len(self.pointer)), self.reads, ("result",), self.splits, scratch)

    def biases(self, first: Integer) -> list[str]:
        code = self.code
        if not self.problem.bias:
            return [code.zero] * (self.vectors * self.together)
        pointer = code.at(self.pointer["bias"], code.multiply(first, self.lanes))
        found = [code.load(pointer, number * self.lanes) for number in range(self.vectors)]
        return [value for value in found for _ in range(self.together)]

    def write_sums(
        self, row: Integer, t: Integer, run: Run, data: str, weight: str, size: int, sums: list[str]
    ) -> list[str]:
        code, axis, together = self.code, self.columns, self.together
        top = code.add(code.multiply(row, self.rows.step), self.rows.offset)
        begin, end = bounds(code, (self.rows,), 0, row, top)
        left = code.add(code.multiply(t, axis.step), axis.offset)
        block, line, element = self.strides
        down = self.rows.reach * line
        data = code.at(data, code.multiply(top, line), code.multiply(left, element))
        tap = self.inner * self.lanes
        width, height = self.problem.kernel[1], self.problem.kernel[0]
        with code.loop(0, self.channel_blocks, sums) as c:
            with code.loop(begin, end, c.values) as i:
                across = code.at(data, code.multiply(c.index, block), code.multiply(i.index, down))
                place = code.add(code.multiply(c.index, height), i.index)
                along = code.at(weight, code.multiply(place, width * tap))
                if self.exact:
                    for number, positions in enumerate(run.taps):
                        if positions:
                            i.values = self.write_tap(i.values, across, along, number, left, positions, size)
                else:
                    with code.loop(0, width, i.values) as j:
                        everywhere = tuple(range(together))
                        j.values = self.write_tap(j.values, across, along, j.index, left, everywhere, size)
                    i.values = j.values
            c.values = i.values
        return c.values

    def write_tap(
        self,
        sums: list[str],
        across: str,
        along: str,
        number: Integer,
        left: Integer,
        positions: tuple[int, ...],
        size: int,
    ) -> list[str]:
        """Write the loop over the channels of a block at one tap.

        Taps are loops of their own: written one after the other, they would share numbers, and run out of registers.
        """
        code, axis, element = self.code, self.columns, self.strides[2]
        distance = code.multiply(number, axis.reach)
        across = code.at(across, code.multiply(distance, element))
        along = code.at(along, code.multiply(number, self.inner * self.lanes))
        sources = {p: (across, p * axis.step * element) for p in positions}
        if not self.exact:
            for p in sorted(self.loose):
                column = code.add(left, distance, p * axis.step)
                exists = code.both(code.compare("sge", column, 0), code.compare("slt", column, axis.length))
                here = code.at(*sources[p])
                sources[p] = (code.define(f"select i1 {exists}, ptr {here}, ptr %scratch"), 0)
        with code.loop(0, self.inner, sums) as one:
            numbers = code.at(along, code.multiply(one.index, self.lanes))
            vectors = [code.load(numbers, v * size) for v in range(self.vectors)]
            pointers = {source: code.at(source, one.index) for source, _ in sources.values()}
            for p, (source, further) in sources.items():
                value = code.broadcast(pointers[source], further)
                for v, vector in enumerate(vectors):
                    at = v * self.together + p
                    one.values[at] = code.add_product(one.values[at], vector, value)
        return one.values

    def finish(self, sums: list[str], place: Integer) -> None:
        code = self.code
        target = code.at(self.pointer["result"], place)
        residual = code.at(self.pointer["residual"], place) if self.problem.residual else ""
        plane = self.rows.count * self.columns.count * self.lanes
        for number, value in enumerate(sums):
            distance = number // self.together * plane + number % self.together * self.lanes
            if residual:
                value = code.arithmetic("fadd", value, code.load(residual, distance))
            code.store(code.relu(value) if self.problem.relu else value, target, distance)


def pack_weight(problem: Problem, processor: Processor, plain: bool = False) -> Code:
    """Return the function that packs a weight: zeros stand for channels and filters that do not exist.

    Of a depthwise convolution it is (blocks, height, width, lanes).
    """
    lanes = blocked_lanes(problem, processor)
    code = Emitter(problem.element, lanes)
    area = problem.kernel[0] * problem.kernel[1]
    depthwise = problem.is_depthwise and problem.groups > 1
    channels = 1 if depthwise else problem.channels // problem.groups
    filters = problem.filters if depthwise else problem.filters // problem.groups
    groups = 1 if depthwise else problem.groups
    inner = 1 if plain or depthwise else lanes
    blocks, parts = -(-filters // lanes), -(-channels // inner)
    with code.loop("%begin", "%end") as unit:
        group, block = code.quotient(unit.index, blocks), code.remainder(unit.index, blocks)
        first = code.multiply(block, lanes)
        with code.loop(0, parts) as part, code.loop(0, area) as k, code.loop(0, inner) as one:
            place = code.add(code.multiply(unit.index, parts), part.index)
            place = code.add(code.multiply(place, area), k.index)
            place = code.add(code.multiply(place, inner), one.index)
            target = code.at("%p1", code.multiply(place, lanes))
            code.store(code.zero, target)
            channel = code.add(code.multiply(part.index, inner), one.index)
            some = code.smaller(lanes, code.subtract(filters, first))
            if channels % inner:
                exists = code.compare("slt", channel, channels)
                some = code.define(f"select i1 {exists}, i64 {some}, i64 0")
            with code.loop(0, some) as f:
                row = code.add(code.multiply(group, filters), first, f.index)
                source = code.add(code.multiply(code.add(code.multiply(row, channels), channel), area), k.index)
                code.store_element(code.load_element("%p0", source), code.at(target, f.index))
    return Code(code.body(2), ("weight",), ("packed",), groups * blocks, 0)
