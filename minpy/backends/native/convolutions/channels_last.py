"""Convolutions of few examples, channels last: vectors run along blocks of filters.

Arrays are (batch, height, width, channels). A weight is packed as (blocks of filters, height, width, channels, lanes).
A block of sums, some neighbouring positions by some vectors of filters, stays in registers while taps and channels go
by: a step loads the vectors of the weight and meets them with one number of the data for each position. Along short
rows every block is written with just the taps that find data for each position; along longer ones positions read zeros
beyond the border.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache

from minpy.backends.native.convolutions.correlation import Code
from minpy.backends.native.convolutions.emitter import PREFETCH, Emitter, Integer
from minpy.backends.native.convolutions.problem import Axis, Problem, forward_axes
from minpy.backends.native.convolutions.registers import Processor, VectorsOfBatch
from minpy.backends.native.convolutions.taps import bounds

__all__ = [
    "AHEAD",
    "Run",
    "channels_forward",
    "each_run",
    "filter_vectors",
    "operands_of",
    "pack_weight",
    "packed_shape",
    "runs_of",
]

# Products up to which a row of one block is written tap by tap, each with the positions that find data.
PRODUCTS = 96

# Lines of data that a set of the first-level cache is to hold, of the eight or more that it can; its sets and lines.
WAYS, SETS, LINE = 6, 64, 64

# Bytes that a weight is fetched ahead, where it is larger than the first-level cache.
AHEAD = 2048

# Rows into which positions are cut at most.
MOST_ROWS = 64

# Channels up to which a loop over them is written without a loop.
UNROLLED = 4


def operands_of(problem: Problem) -> tuple[str, ...]:
    """Return what a function reads."""
    return ("data", "weight", *(name for name in ("scale", "bias", "residual") if getattr(problem, name)))


def filter_vectors(problem: Problem, processor: Processor) -> VectorsOfBatch:
    """Return the vectors that the filters of a group make; the last may overlap the one before."""
    return VectorsOfBatch.of(problem.filters // problem.groups, processor.lanes(problem.itemsize))


def packed_shape(problem: Problem, processor: Processor) -> tuple[int, ...]:
    """Return the shape of a packed weight."""
    vectors = filter_vectors(problem, processor)
    channels = problem.channels // problem.groups
    return (problem.groups * vectors.count, *problem.kernel, channels, vectors.width)


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


@lru_cache(maxsize=4096)
def runs_of(axis: Axis, together: int) -> tuple[Run, ...]:
    """Return the positions of an axis in blocks; the last may overlap the one before.

    >>> axis = Axis(8, 0, 1, 1, 3, 1, -1, 8, 0, 1)
    >>> for run in runs_of(axis, 3):
    ...     print(run)
    Run(first=0, step=0, count=1, taps=((1, 2), (0, 1, 2), (0, 1, 2)))
    Run(first=3, step=0, count=1, taps=((0, 1, 2), (0, 1, 2), (0, 1, 2)))
    Run(first=5, step=0, count=1, taps=((0, 1, 2), (0, 1, 2), (0, 1)))
    """
    starts = sorted({min(first, axis.count - together) for first in range(0, axis.count, together)})
    begin, end = axis.inside
    everywhere = (tuple(range(together)),) * axis.taps

    def taps(start: int) -> tuple[tuple[int, ...], ...]:
        if begin <= start and start + together <= end:
            return everywhere
        return tuple(
            tuple(p for p in range(together) if axis.begins(start + p) <= j < axis.ends(start + p))
            for j in range(axis.taps)
        )

    runs: list[Run] = []
    first, step, count, written = starts[0], 0, 1, taps(starts[0])
    for before, start in itertools.pairwise(starts):
        found = taps(start)
        if found == written and (count == 1 or start - before == step):
            step, count = start - before, count + 1
            continue
        runs.append(Run(first, step, count, written))
        first, step, count, written = start, 0, 1, found
    return (*runs, Run(first, step, count, written))


@contextmanager
def each_run(code: Emitter, run: Run) -> Iterator[Integer]:
    """Write a loop over the blocks of a run: gives where a block begins."""
    with code.loop(0, run.count) as one:
        yield code.add(code.multiply(one.index, run.step), run.first)


def _alike(count: int, together: int) -> tuple[Run, ...]:
    """Return the blocks of a row as one or two runs, whose taps are all written for all positions."""
    found = [Run(0, together, count // together, ())]
    if count % together:
        found.append(Run(count - together, 0, 1, ()))
    return tuple(found)


@lru_cache(maxsize=4096)
def block_of_positions(axis: Axis, vectors: int, processor: Processor, apart: int) -> tuple[int, int, bool, float]:
    """Return (positions, vectors of filters) that are done together, whether taps are exact, and cycles for a row.

    The cycles are those of one channel and one row of taps, for all filters. Positions whose data lie `apart` bytes
    from each other should not fill the sets of the first-level cache that they meet in.
    """
    best = (float("inf"), 1, 1, False)
    for some, positions in itertools.product(range(1, min(vectors, 8) + 1), range(1, min(axis.count, 28) + 1)):
        if positions * some + some + 1 > processor.registers and (positions, some) != (1, 1):
            continue
        sets = {number * apart * axis.step // LINE % SETS for number in range(positions)}
        if positions > WAYS * len(sets):
            continue

        def cycles(number: int, some: int = some) -> float:
            return max(number * some, some + number / 2, 5) + 1 if number else 0

        runs, times = runs_of(axis, positions), -(-vectors // some)
        exactly = sum(run.count * cycles(len(tap)) for run in runs for tap in run.taps)
        exact = len(runs) == 1 and some * sum(len(tap) for run in runs for tap in run.taps) <= PRODUCTS
        if not exact:
            exactly = sum(run.count for run in runs) * axis.taps * cycles(positions)
        best = min(best, (times * exactly, positions, some, exact))
    return best[1], best[2], best[3], best[0]


@lru_cache(maxsize=4096)
def flat(problem: Problem, processor: Processor) -> Problem:
    """Return a problem whose positions lie along long rows, if a kernel of one allows it.

    Where there are few filters, threads do rows each, so that there are to be several.

    >>> flat(Problem(1, 64, 512, (12, 12), (1, 1)), Processor(64, 32)).lengths
    (1, 144)
    >>> flat(Problem(1, 64, 16, (54, 54), (1, 1)), Processor(64, 32)).lengths
    (54, 54)
    >>> flat(Problem(1, 64, 16, (12, 12), (3, 3)), Processor(64, 32)).lengths
    (12, 12)
    """
    if not (problem.kernel == problem.stride == (1, 1) and problem.pad == (0, 0)):
        return problem
    size = problem.lengths[0] * problem.lengths[1]
    best: tuple[float, int] | None = None
    for rows in (number for number in range(1, min(size, MOST_ROWS) + 1) if size % number == 0):
        one = replace(problem, lengths=(rows, size // rows))
        count = filter_vectors(one, processor).count
        apart = problem.channels * problem.itemsize
        _, some, _, cycles = block_of_positions(forward_axes(one)[1], count, processor, apart)
        whole = problem.groups * -(-count // some) * problem.batch
        splits = rows if _is_by_rows(whole, rows) else whole
        # Of an odd number of parts one thread waits for the last, and of few for the one that was interrupted.
        found = cycles * rows * (1 + (splits % 2 + 0.1) / splits), rows
        best = min(best, found) if best else found
    assert best is not None
    return replace(problem, lengths=(best[1], size // best[1]))


def _is_by_rows(whole: int, rows: int) -> bool:
    """Tell whether threads do rows, in place of vectors of filters."""
    return whole < 4 and rows > whole


def channels_forward(problem: Problem, processor: Processor) -> Code:
    """Return the function that does a convolution with the channels last.

    Its pointers: data, the packed weight, scale, bias and residual where there are some; the result.
    """
    return _Writer(problem, processor).write()


class _Writer:
    def __init__(self, problem: Problem, processor: Processor) -> None:
        self.problem = problem = flat(problem, processor)
        self.lanes = filter_vectors(problem, processor)
        self.code = Emitter(problem.element, self.lanes.width)
        self.rows, self.columns = forward_axes(problem)
        self.channels = problem.channels // problem.groups
        # How far apart rows of the data are, and images.
        self.line = problem.lengths[1] * problem.channels
        self.image = problem.lengths[0] * self.line
        self.together, self.some, self.exact, _ = block_of_positions(
            self.columns, self.lanes.count, processor, problem.channels * problem.itemsize
        )
        self.runs = runs_of(self.columns, self.together)
        taps = range(self.columns.taps)
        # Positions of a block for which some tap finds nothing, in some block.
        self.loose = {p for p in range(self.together) if any(p not in run.taps[j] for run in self.runs for j in taps)}
        if not self.exact:
            self.runs = _alike(self.columns.count, self.together)
        self.units = -(-self.lanes.count // self.some)
        self.packed = problem.kernel[0] * problem.kernel[1] * self.channels * self.lanes.width
        # One that is read along: with several taps, it has been read for the positions before.
        self.is_fetched = (
            problem.kernel == (1, 1) and self.packed * self.some * problem.itemsize > processor.first_cache
        )
        self.reads = operands_of(problem)
        self.pointer = {name: f"%p{number}" for number, name in enumerate((*self.reads, "result"))}
        whole = problem.groups * self.units * problem.batch
        self.by_rows = _is_by_rows(whole, self.rows.count)
        self.splits = self.rows.count if self.by_rows else whole

    def write(self) -> Code:
        code, problem = self.code, self.problem
        units = (0, problem.groups * self.units * problem.batch) if self.by_rows else ("%begin", "%end")
        rows = ("%begin", "%end") if self.by_rows else (0, self.rows.count)
        code.store(code.zero, "%scratch")
        with code.loop(*units) as unit:
            example = code.remainder(unit.index, problem.batch)
            block = code.quotient(unit.index, problem.batch)
            group, number = code.quotient(block, self.units), code.remainder(block, self.units)
            first = code.smaller(code.multiply(number, self.some), self.lanes.count - self.some)
            channel = code.multiply(group, self.channels)
            data = code.at(self.pointer["data"], code.multiply(example, self.image), channel)
            vector = code.add(code.multiply(group, self.lanes.count), first)
            weight = code.at(self.pointer["weight"], code.multiply(vector, self.packed))
            group_filter = code.multiply(group, problem.filters // problem.groups)
            filters = [
                code.add(group_filter, self.lanes.start(code, code.add(first, number))) for number in range(self.some)
            ]
            with code.loop(*rows) as row:
                line = code.add(code.multiply(example, self.rows.count), row.index)
                for run in self.runs:
                    with each_run(code, run) as t:
                        sums = self.write_sums(row.index, t, run, data, weight, self.biases(filters))
                        position = code.add(code.multiply(line, self.columns.count), t)
                        self.finish(sums, code.multiply(position, problem.filters), filters)
        scratch = self.lanes.width * problem.itemsize
        return Code(code.body(len(self.pointer)), self.reads, ("result",), self.splits, scratch, PREFETCH)

    def biases(self, filters: list[Integer]) -> list[str]:
        code = self.code
        if not self.problem.bias or self.problem.scale:
            return [code.zero] * (self.some * self.together)
        found = [code.load(self.pointer["bias"], one) for one in filters]
        return [value for value in found for _ in range(self.together)]

    def write_sums(self, row: Integer, t: Integer, run: Run, data: str, weight: str, sums: list[str]) -> list[str]:
        code, axis = self.code, self.columns
        top = code.add(code.multiply(row, self.rows.step), self.rows.offset)
        begin, end = bounds(code, (self.rows,), 0, row, top)
        left = code.add(code.multiply(t, axis.step), axis.offset)
        data = code.at(data, code.multiply(top, self.line), code.multiply(left, self.problem.channels))
        with code.loop(begin, end, sums) as i:
            across = code.at(data, code.multiply(i.index, self.rows.reach * self.line))
            along = code.at(weight, code.multiply(i.index, axis.taps * self.channels * self.lanes.width))
            if self.exact:
                for number, positions in enumerate(run.taps):
                    if positions:
                        i.values = self.write_tap(i.values, across, along, number, left, positions)
            else:
                with code.loop(0, axis.taps, i.values) as j:
                    everywhere = tuple(range(self.together))
                    j.values = self.write_tap(j.values, across, along, j.index, left, everywhere)
                i.values = j.values
        return i.values

    def write_tap(
        self, sums: list[str], across: str, along: str, number: Integer, left: Integer, positions: tuple[int, ...]
    ) -> list[str]:
        """Write the loop over the channels at one tap.

        Taps are loops of their own: written one after the other, they would share numbers, and run out of registers.
        """
        code, axis = self.code, self.columns
        element = self.problem.channels
        distance = code.multiply(number, axis.reach)
        across = code.at(across, code.multiply(distance, element))
        along = code.at(along, code.multiply(number, self.channels * self.lanes.width))
        sources = {p: (across, p * axis.step * element) for p in positions}
        # From one channel to the next; beyond the border there is but one zero.
        steps: dict[int, Integer] = {}
        if not self.exact:
            for p in sorted(self.loose):
                column = code.add(left, distance, p * axis.step)
                exists = code.both(code.compare("sge", column, 0), code.compare("slt", column, axis.length))
                here = code.at(*sources[p])
                sources[p] = (code.put(f"select i1 {exists}, ptr {here}, ptr %scratch"), 0)
                steps[p] = code.put(f"select i1 {exists}, i64 1, i64 0")

        def step(values: list[str], c: Integer) -> list[str]:
            result = list(values)
            numbers = code.at(along, code.multiply(c, self.lanes.width))
            vectors = [code.load(numbers, v * self.packed) for v in range(self.some)]
            if self.is_fetched:
                for v in range(self.some):
                    code.prefetch(numbers, v * self.packed + AHEAD // self.problem.itemsize)
            base = code.at(across, c)
            for p, (source, further) in sources.items():
                if p in steps:
                    value = code.broadcast(source, code.multiply(c, steps[p]))
                else:
                    value = code.broadcast(base, further)
                for v, vector in enumerate(vectors):
                    at = v * self.together + p
                    result[at] = code.add_product(result[at], vector, value)
            return result

        if self.channels <= UNROLLED:
            for c in range(self.channels):
                sums = step(sums, c)
            return sums
        with code.loop(0, self.channels, sums) as one:
            one.values = step(one.values, one.index)
        return one.values

    def finish(self, sums: list[str], place: Integer, filters: list[Integer]) -> None:
        code, scales, biases = self.code, [], []
        if self.problem.scale:
            scales = [code.load(self.pointer["scale"], one) for one in filters]
            biases = [code.load(self.pointer["bias"], one) if self.problem.bias else code.zero for one in filters]
        for number, value in enumerate(sums):
            vector, position = divmod(number, self.together)
            at = code.add(place, filters[vector], position * self.problem.filters)
            if scales:
                value = code.add_product(biases[vector], value, scales[vector])
            if self.problem.residual:
                value = code.arithmetic("fadd", value, code.load(self.pointer["residual"], at))
            code.store(code.relu(value) if self.problem.relu else value, self.pointer["result"], at)


def pack_weight(problem: Problem, processor: Processor) -> Code:
    """Return the function that packs a weight of (filters, channels of a group, height, width)."""
    vectors = filter_vectors(problem, processor)
    code = Emitter(problem.element, vectors.width)
    area = problem.kernel[0] * problem.kernel[1]
    channels, filters = problem.channels // problem.groups, problem.filters // problem.groups
    with code.loop("%begin", "%end") as unit:
        group, vector = code.quotient(unit.index, vectors.count), code.remainder(unit.index, vectors.count)
        first = code.add(code.multiply(group, filters), vectors.start(code, vector))
        source = code.at("%p0", code.multiply(first, channels * area))
        target = code.at("%p1", code.multiply(unit.index, area * channels * vectors.width))
        with code.loop(0, channels) as c, code.loop(0, area) as k:
            here = code.at(source, code.multiply(c.index, area), k.index)
            value = code.gathered(here, [lane * channels * area for lane in range(vectors.width)])
            place = code.add(code.multiply(k.index, channels), c.index)
            code.store(value, code.at(target, code.multiply(place, vectors.width)))
    return Code(code.body(2), ("weight",), ("packed",), problem.groups * vectors.count, 0)
