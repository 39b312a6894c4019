"""Depthwise convolutions and pooling on blocks of channels: windows in which every channel is by itself.

Arrays are as those of `channel_blocks`. A block of neighbouring positions shares the vectors of data that it loads, and
has just the taps that find data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from minpy.graph.native.convolutions.channel_blocks import Run, blocked_lanes, runs_of
from minpy.graph.native.convolutions.correlation import Code
from minpy.graph.native.convolutions.emitter import Emitter, Integer
from minpy.graph.native.convolutions.problem import Axis, Problem, forward_axes
from minpy.graph.native.convolutions.registers import Processor
from minpy.graph.native.convolutions.taps import bounds

__all__ = ["Pooling", "blocked_depthwise", "blocked_pooling"]

# Positions that are done together, and how many products or maxima a function may have.
TOGETHER = 7
WRITTEN = 200


@dataclass(frozen=True)
class Pooling:
    """Windows of which the maximum or the mean is taken.

    Attributes
    ----------
    batch, channels : int
    lengths, kernel, stride, pad, counts : (int, int)
        Along height and width; `counts` are numbers of windows. A window may begin before the data and end after them.
    kind : {'max', 'avg'}
    include_pad : bool
        Whether a mean counts the padding as zeros.
    dtype : {'float32', 'float64'}
    """

    batch: int
    channels: int
    lengths: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    pad: tuple[int, int]
    counts: tuple[int, int]
    kind: str
    include_pad: bool = True
    dtype: str = "float32"

    @property
    def axes(self) -> tuple[Axis, Axis]:
        """Where the elements of windows lie."""
        height, width = (
            Axis(count, 0, 1, s, k, 1, -p, length, 0, 1)
            for count, k, s, p, length in zip(
                self.counts, self.kernel, self.stride, self.pad, self.lengths, strict=True
            )
        )
        return height, width

    @property
    def is_covered(self) -> bool:
        """Whether every window has elements: of others there is no maximum."""
        return all(axis.begins(t) < axis.ends(t) for axis in self.axes for t in range(axis.count))


def blocked_depthwise(problem: Problem, processor: Processor) -> Code:
    """Return the function that does a depthwise convolution on blocks of channels; see `blocked_forward`."""
    lanes = blocked_lanes(problem, processor)
    code = Emitter(problem.element, lanes)
    rows, axis = forward_axes(problem)
    blocks = -(-problem.channels // lanes)
    reads = ("data", "weight", *(name for name in ("bias", "residual") if getattr(problem, name)))
    pointer = {name: f"%p{number}" for number, name in enumerate((*reads, "result"))}
    line = problem.lengths[1] * lanes
    together = _together(axis)
    with code.loop("%begin", "%end") as unit:
        block = code.remainder(unit.index, blocks)
        data = code.at(pointer["data"], code.multiply(unit.index, problem.lengths[0] * line))
        weight = code.at(pointer["weight"], code.multiply(block, problem.kernel[0] * problem.kernel[1] * lanes))
        bias = code.load(pointer["bias"], code.multiply(block, lanes)) if problem.bias else code.zero
        with code.loop(0, rows.count) as row:
            top = code.add(code.multiply(row.index, rows.step), rows.offset)
            begin, end = bounds(code, (rows,), 0, row.index, top)
            for run, t in _each_run(code, axis, together):
                left = code.add(code.multiply(t, axis.step), axis.offset)
                source = code.at(data, code.multiply(top, line), code.multiply(left, lanes))
                with code.loop(begin, end, [bias] * together) as i:
                    across = code.at(source, code.multiply(i.index, rows.reach * line))
                    numbers = code.at(weight, code.multiply(i.index, problem.kernel[1] * lanes))
                    found: dict[int, str] = {}
                    for j, positions in enumerate(run.taps):
                        number = code.load(numbers, j * lanes) if positions else ""
                        for p in positions:
                            at = p * axis.step + j * axis.reach
                            if at not in found:
                                found[at] = code.load(across, at * lanes)
                            i.values[p] = code.add_product(i.values[p], found[at], number)
                place = code.add(code.multiply(unit.index, rows.count), row.index)
                place = code.multiply(code.add(code.multiply(place, axis.count), t), lanes)
                for p, value in enumerate(i.values):
                    at_p = code.add(place, p * lanes)
                    if problem.residual:
                        value = code.arithmetic("fadd", value, code.load(pointer["residual"], at_p))
                    code.store(code.relu(value) if problem.relu else value, pointer["result"], at_p)
    return Code(code.body(len(pointer)), reads, ("result",), problem.batch * blocks, 0)


def blocked_pooling(pooling: Pooling, processor: Processor) -> Code:
    """Return the function that takes the maxima or means of windows; its pointers: data, and the result.

    NaN stays NaN, also in maxima.
    """
    element, itemsize = ("double", 8) if pooling.dtype == "float64" else ("float", 4)
    lanes = processor.lanes(itemsize)
    code = Emitter(element, lanes)
    rows, axis = pooling.axes
    line = pooling.lengths[1] * lanes
    together = _together(axis)
    largest = pooling.kind == "max"
    initial = code.number(float("-inf")) if largest else code.zero
    with code.loop("%begin", "%end") as unit, code.loop(0, rows.count) as row:
        data = code.at("%p0", code.multiply(unit.index, pooling.lengths[0] * line))
        top = code.add(code.multiply(row.index, rows.step), rows.offset)
        begin, end = bounds(code, (rows,), 0, row.index, top)
        height = _size(code, pooling, 0, row.index)
        for run, t in _each_run(code, axis, together):
            left = code.add(code.multiply(t, axis.step), axis.offset)
            source = code.at(data, code.multiply(top, line), code.multiply(left, lanes))
            with code.loop(begin, end, [initial] * together) as i:
                across = code.at(source, code.multiply(i.index, line))
                found: dict[int, str] = {}
                for j, positions in enumerate(run.taps):
                    for p in positions:
                        at = p * axis.step + j
                        if at not in found:
                            found[at] = code.load(across, at * lanes)
                        before = i.values[p]
                        if largest:
                            taken = code.test("ugt", found[at], before)
                            taken = code.conditions("and", taken, code.test("ord", before, before))
                            i.values[p] = code.where(taken, found[at], before)
                        else:
                            i.values[p] = code.arithmetic("fadd", before, found[at])
            place = code.add(code.multiply(unit.index, rows.count), row.index)
            place = code.multiply(code.add(code.multiply(place, axis.count), t), lanes)
            for p, value in enumerate(i.values):
                if not largest:
                    size = code.multiply(height, _size(code, pooling, 1, code.add(t, p)))
                    divisor = code.splat(code.define(f"sitofp i64 {size} to {element}"))
                    value = code.arithmetic("fdiv", value, divisor)
                code.store(value, "%p1", code.add(place, p * lanes))
    return Code(code.body(2), ("data",), ("result",), pooling.batch * -(-pooling.channels // lanes), 0)


def _size(code: Emitter, pooling: Pooling, number: int, t: Integer) -> Integer:
    """Return how many elements along an axis a mean is over."""
    length, kernel, pad = pooling.lengths[number], pooling.kernel[number], pooling.pad[number]
    start = code.add(code.multiply(t, pooling.stride[number]), -pad)
    end = code.smaller(code.add(start, kernel), length + pad if pooling.include_pad else length)
    return code.larger(code.subtract(end, start if pooling.include_pad else code.larger(start, 0)), 1)


def _together(axis: Axis) -> int:
    """Return how many neighbouring positions are done together."""
    together = min(TOGETHER, axis.count)
    while together > 1 and sum(len(tap) for run in runs_of(axis, together) for tap in run.taps) > WRITTEN:
        together -= 1
    return together


def _each_run(code: Emitter, axis: Axis, together: int) -> Iterator[tuple[Run, Integer]]:
    """Write a loop over the blocks of every run: yield (run, where the block begins)."""
    for run in runs_of(axis, together):
        with code.loop(0, run.count) as one:
            yield run, code.add(code.multiply(one.index, run.step), run.first)
