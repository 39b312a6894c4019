"""Convolutions of few examples, channels last: vectors run along blocks of filters.

Arrays are (batch, height, width, channels). A weight is packed as (blocks of filters, height, width, channels, lanes).
A block of sums, some neighbouring positions by some vectors of filters, stays in registers while taps and channels go
by: a step loads the vectors of the weight and meets them with one number of the data for each position, which is zero
beyond the border.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import lru_cache

from minpy.backends.native.convolutions.direct_convolution import Code
from minpy.backends.native.convolutions.problem import Axis, Problem, forward_axes
from minpy.backends.native.convolutions.register_blocking import Processor, VectorsOfBatch
from minpy.backends.native.convolutions.taps import bounds
from minpy.backends.native.convolutions.vector_writer import PREFETCH, Emitter, Integer

__all__ = [
    "AHEAD",
    "channels_forward",
    "filter_vectors",
    "pack_weight",
    "packed_shape",
]

# Lines of data that a set of the first-level cache is to hold, of the eight or more that it can; its sets and lines.
WAYS, SETS, LINE = 6, 64, 64

# Bytes that a weight is fetched ahead, where it is larger than the first-level cache.
AHEAD = 2048

# Rows that threads share where there are few filters.
ROWS = (8, 7, 6, 5, 4, 9, 10, 11, 12, 13)

# Channels up to which a loop over them is written without a loop.
UNROLLED = 4


def filter_vectors(problem: Problem, processor: Processor) -> VectorsOfBatch:
    """Return the vectors that the filters of a group make; the last may overlap the one before."""
    return VectorsOfBatch.of(problem.filters // problem.groups, processor.lanes(problem.itemsize))


def packed_shape(problem: Problem, processor: Processor) -> tuple[int, ...]:
    """Return the shape of a packed weight."""
    vectors = filter_vectors(problem, processor)
    channels = problem.channels // problem.groups
    return (problem.groups * vectors.count, *problem.kernel, channels, vectors.width)


@lru_cache(maxsize=4096)
def block_of_positions(axis: Axis, vectors: int, processor: Processor, distance: int) -> tuple[int, int, float]:
    """Return (positions, vectors of filters) that are done together, and cycles for a row.

    The cycles are those of one channel and one row of taps, for all filters. Positions whose data lie `distance` bytes
    from each other should not fill the sets of the first-level cache that they meet in.
    """
    best = (float("inf"), 1, 1)
    for some, positions in itertools.product(range(1, min(vectors, 8) + 1), range(1, min(axis.count, 28) + 1)):
        if positions * some + some + 1 > processor.registers and (positions, some) != (1, 1):
            continue
        sets = {number * distance * axis.step // LINE % SETS for number in range(positions)}
        if positions > WAYS * len(sets):
            continue
        steps = -(-vectors // some) * -(-axis.count // positions) * axis.taps
        best = min(best, (steps * (max(positions * some, some + positions / 2, 5) + 1), positions, some))
    return best[1], best[2], best[0]


@lru_cache(maxsize=4096)
def flat(problem: Problem, processor: Processor) -> Problem:
    """Return a problem whose positions lie along long rows, if a kernel of one allows it.

    Where there are few filters, threads do rows each, so that there are to be several.

    >>> flat(Problem(1, 64, 512, (12, 12), (1, 1)), Processor(64, 32)).lengths
    (1, 144)
    >>> flat(Problem(1, 64, 16, (54, 54), (1, 1)), Processor(64, 32)).lengths
    (6, 486)
    >>> flat(Problem(1, 64, 16, (12, 12), (3, 3)), Processor(64, 32)).lengths
    (12, 12)
    """
    if not (problem.kernel == problem.stride == (1, 1) and problem.pad == (0, 0)):
        return problem
    size = problem.lengths[0] * problem.lengths[1]
    line = replace(problem, lengths=(1, size))
    count = filter_vectors(problem, processor).count
    _, some, _ = block_of_positions(forward_axes(line)[1], count, processor, problem.channels * problem.itemsize)
    if not _is_by_rows(problem.groups * -(-count // some) * problem.batch, ROWS[0]):
        return line
    rows = next((number for number in ROWS if size % number == 0), 1)
    return replace(problem, lengths=(rows, size // rows))


def _is_by_rows(whole: int, rows: int) -> bool:
    """Tell whether threads do rows, in place of vectors of filters."""
    return whole < 4 and rows > whole


def channels_forward(problem: Problem, processor: Processor) -> Code:
    """Return the function that does a convolution with the channels last.

    Its pointers: data and the packed weight; the result.
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
        self.together, self.some, _ = block_of_positions(
            self.columns, self.lanes.count, processor, problem.channels * problem.itemsize
        )
        # Positions of a block for which some tap finds nothing, in some block: the last may overlap the one before.
        count, (begin, end) = self.columns.count, self.columns.inside
        starts = [min(first, count - self.together) for first in range(0, count, self.together)]
        self.loose = [p for p in range(self.together) if any(not begin <= start + p < end for start in starts)]
        self.units = -(-self.lanes.count // self.some)
        self.packed = problem.kernel[0] * problem.kernel[1] * self.channels * self.lanes.width
        # One that is read along: with several taps, it has been read for the positions before.
        self.is_fetched = (
            problem.kernel == (1, 1) and self.packed * self.some * problem.itemsize > processor.first_cache
        )
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
            filter_block = code.quotient(unit.index, problem.batch)
            group, number = code.quotient(filter_block, self.units), code.remainder(filter_block, self.units)
            first = code.smaller(code.multiply(number, self.some), self.lanes.count - self.some)
            channel = code.multiply(group, self.channels)
            data = code.at("%p0", code.multiply(example, self.image), channel)
            vector = code.add(code.multiply(group, self.lanes.count), first)
            weight = code.at("%p1", code.multiply(vector, self.packed))
            group_filter = code.multiply(group, problem.filters // problem.groups)
            filters = [
                code.add(group_filter, self.lanes.start(code, code.add(first, number))) for number in range(self.some)
            ]
            with code.loop(*rows) as row:
                line = code.add(code.multiply(example, self.rows.count), row.index)
                with code.loop(0, -(-self.columns.count // self.together)) as block:
                    t = code.smaller(code.multiply(block.index, self.together), self.columns.count - self.together)
                    sums = self.write_sums(row.index, t, data, weight)
                    position = code.multiply(code.add(code.multiply(line, self.columns.count), t), problem.filters)
                    for vector, value in enumerate(sums):
                        number, p = divmod(vector, self.together)
                        code.store(value, "%p2", code.add(position, filters[number], p * problem.filters))
        scratch = self.lanes.width * problem.itemsize
        return Code(code.body(3), ("data", "weight"), ("result",), self.splits, scratch, PREFETCH)

    def write_sums(self, row: Integer, t: Integer, data: str, weight: str) -> list[str]:
        code, axis = self.code, self.columns
        top = code.add(code.multiply(row, self.rows.step), self.rows.offset)
        begin, end = bounds(code, (self.rows,), 0, row, top)
        left = code.add(code.multiply(t, axis.step), axis.offset)
        data = code.at(data, code.multiply(top, self.line), code.multiply(left, self.problem.channels))
        with code.loop(begin, end, [code.zero] * (self.some * self.together)) as i:
            across = code.at(data, code.multiply(i.index, self.rows.reach * self.line))
            along = code.at(weight, code.multiply(i.index, axis.taps * self.channels * self.lanes.width))
            with code.loop(0, axis.taps, i.values) as j:
                j.values = self.write_tap(j.values, across, along, j.index, left)
            i.values = j.values
        return i.values

    def write_tap(self, sums: list[str], across: str, along: str, number: Integer, left: Integer) -> list[str]:
        """Write the loop over the channels at one tap.

        Taps are loops of their own: written one after the other, they would share numbers, and run out of registers.
        """
        code, axis, element = self.code, self.columns, self.problem.channels
        tap = code.multiply(number, axis.reach)
        across = code.at(across, code.multiply(tap, element))
        along = code.at(along, code.multiply(number, self.channels * self.lanes.width))
        # Where positions find their numbers, and from one channel to the next; beyond the border there is but one zero.
        sources: dict[int, tuple[str, str]] = {}
        for p in self.loose:
            column = code.add(left, tap, p * axis.step)
            exists = code.within(column, axis.length)
            pointer = code.either_pointer(exists, code.at(across, p * axis.step * element), "%scratch")
            sources[p] = pointer, code.put(f"select i1 {exists}, i64 1, i64 0")

        def step(values: list[str], c: Integer) -> list[str]:
            result = list(values)
            numbers = code.at(along, code.multiply(c, self.lanes.width))
            vectors = [code.load(numbers, v * self.packed) for v in range(self.some)]
            if self.is_fetched:
                for v in range(self.some):
                    code.prefetch(numbers, v * self.packed + AHEAD // self.problem.itemsize)
            base = code.at(across, c)
            for p in range(self.together):
                if p in sources:
                    pointer, stride = sources[p]
                    value = code.broadcast(pointer, code.multiply(c, stride))
                else:
                    value = code.broadcast(base, p * axis.step * element)
                for v, vector in enumerate(vectors):
                    at = v * self.together + p
                    result[at] = code.add_product(result[at], vector, value)
            return result

        if self.channels <= UNROLLED:
            for c in range(self.channels):
                sums = step(sums, c)
            return sums
        with code.loop(0, self.channels, sums) as channel:
            channel.values = step(channel.values, channel.index)
        return channel.values


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
