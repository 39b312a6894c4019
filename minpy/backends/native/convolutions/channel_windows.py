"""Depthwise convolutions of few examples, channels last: every channel by itself.

Vectors run along the channels. A block of neighbouring positions shares the vectors of data that it loads, and has just
the taps that find data.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from minpy.backends.native.convolutions.channels_last import operands_of
from minpy.backends.native.convolutions.correlation import Code
from minpy.backends.native.convolutions.emitter import Emitter, Integer
from minpy.backends.native.convolutions.problem import Axis, Problem, forward_axes
from minpy.backends.native.convolutions.registers import Processor, VectorsOfBatch
from minpy.backends.native.convolutions.taps import bounds

__all__ = ["channels_depthwise"]

# Positions that are done together, and how many products a function may have.
TOGETHER = 7
WRITTEN = 200


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


def channels_depthwise(problem: Problem, processor: Processor) -> Code:
    """Return the function that does a convolution of as many groups as channels and filters.

    Its pointers: data, a weight of (height, width, channels), scale, bias and residual where there are some; the
    result.
    """
    lanes = VectorsOfBatch.of(problem.channels, processor.lanes(problem.itemsize))
    code = Emitter(problem.element, lanes.width)
    rows, axis = forward_axes(problem)
    channels, width = problem.channels, problem.lengths[1]
    reads = operands_of(problem)
    pointer = {name: f"%p{number}" for number, name in enumerate((*reads, "result"))}
    together = _together(axis)
    # Neighbouring vectors of channels lie side by side: one vector all over the picture would read a number here and
    # there, in the same few sets of the caches.
    with code.loop("%begin", "%end") as unit:
        example, row = code.quotient(unit.index, rows.count), code.remainder(unit.index, rows.count)
        image = code.at(pointer["data"], code.multiply(example, problem.lengths[0] * width * channels))
        top = code.add(code.multiply(row, rows.step), rows.offset)
        begin, end = bounds(code, (rows,), 0, row, top)
        line = code.at(image, code.multiply(top, width * channels))
        for run in runs_of(axis, together):
            with each_run(code, run) as t, code.loop(0, lanes.count) as vector:
                first = lanes.start(code, vector.index)
                bias = code.load(pointer["bias"], first) if problem.bias else code.zero
                scale = code.load(pointer["scale"], first) if problem.scale else ""
                weight = code.at(pointer["weight"], first)
                left = code.add(code.multiply(t, axis.step), axis.offset)
                source = code.at(line, code.multiply(left, channels), first)
                with code.loop(begin, end, [code.zero if scale else bias] * together) as i:
                    across = code.at(source, code.multiply(i.index, rows.reach * width * channels))
                    numbers = code.at(weight, code.multiply(i.index, problem.kernel[1] * channels))
                    found: dict[int, str] = {}
                    for j, positions in enumerate(run.taps):
                        number = code.load(numbers, j * channels) if positions else ""
                        for p in positions:
                            at = p * axis.step + j * axis.reach
                            if at not in found:
                                found[at] = code.load(across, at * channels)
                            i.values[p] = code.add_product(i.values[p], found[at], number)
                place = code.add(code.multiply(unit.index, axis.count), t)
                place = code.add(code.multiply(place, channels), first)
                for p, value in enumerate(i.values):
                    at_p = code.add(place, p * channels)
                    residual = code.at(pointer["residual"], at_p) if problem.residual else ""
                    after = bias if scale else ""  # without a scale, sums begin with the bias
                    value = code.fused(value, scale=scale, bias=after, residual=residual, relu=problem.relu)
                    code.store(value, pointer["result"], at_p)
    return Code(code.body(len(pointer)), reads, ("result",), problem.batch * rows.count, 0)


def _together(axis: Axis) -> int:
    """Return how many neighbouring positions are done together."""
    together = min(TOGETHER, axis.count)
    while together > 1 and sum(len(tap) for run in runs_of(axis, together) for tap in run.taps) > WRITTEN:
        together -= 1
    return together
