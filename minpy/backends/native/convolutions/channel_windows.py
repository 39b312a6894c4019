"""Depthwise convolutions and pooling of few examples, channels last: windows in which every channel is by itself.

Vectors run along the channels. A block of neighbouring positions shares the vectors of data that it loads, and has just
the taps that find data.
"""

from __future__ import annotations

from dataclasses import dataclass

from minpy.backends.native.convolutions.channels_last import each_run, operands_of, runs_of
from minpy.backends.native.convolutions.correlation import Code
from minpy.backends.native.convolutions.emitter import Emitter, Integer
from minpy.backends.native.convolutions.problem import Axis, Problem, forward_axes
from minpy.backends.native.convolutions.registers import Processor, VectorsOfBatch
from minpy.backends.native.convolutions.taps import bounds

__all__ = ["Pooling", "channels_depthwise", "channels_pooling"]

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
                    value = code.add_product(bias, value, scale) if scale else value
                    if problem.residual:
                        value = code.arithmetic("fadd", value, code.load(pointer["residual"], at_p))
                    code.store(code.relu(value) if problem.relu else value, pointer["result"], at_p)
    return Code(code.body(len(pointer)), reads, ("result",), problem.batch * rows.count, 0)


def channels_pooling(pooling: Pooling, processor: Processor) -> Code:
    """Return the function that takes the maxima or means of windows; its pointers: data, and the result.

    NaN stays NaN, also in maxima.
    """
    element, itemsize = ("double", 8) if pooling.dtype == "float64" else ("float", 4)
    lanes = VectorsOfBatch.of(pooling.channels, processor.lanes(itemsize))
    code = Emitter(element, lanes.width)
    rows, axis = pooling.axes
    channels, width = pooling.channels, pooling.lengths[1]
    together = _together(axis)
    largest = pooling.kind == "max"
    initial = code.number(float("-inf")) if largest else code.zero
    with code.loop("%begin", "%end") as unit:
        example, row = code.quotient(unit.index, rows.count), code.remainder(unit.index, rows.count)
        data = code.at("%p0", code.multiply(example, pooling.lengths[0] * width * channels))
        top = code.add(code.multiply(row, rows.step), rows.offset)
        begin, end = bounds(code, (rows,), 0, row, top)
        height = _size(code, pooling, 0, row)
        with code.loop(0, lanes.count) as vector:
            first = lanes.start(code, vector.index)
            line = code.at(data, code.multiply(top, width * channels), first)
            for run in runs_of(axis, together):
                with each_run(code, run) as t:
                    left = code.add(code.multiply(t, axis.step), axis.offset)
                    source = code.at(line, code.multiply(left, channels))
                    with code.loop(begin, end, [initial] * together) as i:
                        across = code.at(source, code.multiply(i.index, width * channels))
                        found: dict[int, str] = {}
                        values: list[list[str]] = [[] for _ in range(together)]
                        for j, positions in enumerate(run.taps):
                            for p in positions:
                                at = p * axis.step + j
                                if at not in found:
                                    found[at] = code.load(across, at * channels)
                                values[p].append(found[at])
                        for p, those in enumerate(values):
                            if largest:
                                i.values[p] = _largest(code, [i.values[p], *those])
                                continue
                            for value in those:
                                i.values[p] = code.arithmetic("fadd", i.values[p], value)
                    place = code.add(code.multiply(unit.index, axis.count), t)
                    place = code.add(code.multiply(place, channels), first)
                    for p, value in enumerate(i.values):
                        if not largest:
                            size = code.multiply(height, _size(code, pooling, 1, code.add(t, p)))
                            divisor = code.splat(code.put(f"sitofp i64 {size} to {element}"))
                            value = code.arithmetic("fdiv", value, divisor)
                        code.store(value, "%p1", code.add(place, p * channels))
    return Code(code.body(2), ("data",), ("result",), pooling.batch * rows.count, 0)


def _largest(code: Emitter, values: list[str]) -> str:
    """Return the largest of vectors; NaN, where one is."""
    result = values[0]
    for value in values[1:]:
        result = code.where(code.test("ogt", value, result), value, result)
    # Two at a time are asked whether one of them is NaN.
    pairs = [values[number : number + 2] for number in range(0, len(values), 2)]
    unordered = [code.test("uno", one[0], one[-1]) for one in pairs]
    found = unordered[0]
    for other in unordered[1:]:
        found = code.conditions("or", found, other)
    return code.where(found, code.number(float("nan")), result)


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
