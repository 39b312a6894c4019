"""Depthwise convolutions of few examples, channels last: every channel by itself.

Vectors run along the channels. A block of neighbouring positions shares the vectors of data that it loads, and has just
the taps that find data.
"""

from __future__ import annotations

from minpy.backends.native.convolutions.channels_last import each_run, operands_of, runs_of
from minpy.backends.native.convolutions.correlation import Code
from minpy.backends.native.convolutions.emitter import Emitter
from minpy.backends.native.convolutions.problem import Axis, Problem, forward_axes
from minpy.backends.native.convolutions.registers import Processor, VectorsOfBatch
from minpy.backends.native.convolutions.taps import bounds

__all__ = ["channels_depthwise"]

# Positions that are done together, and how many products a function may have.
TOGETHER = 7
WRITTEN = 200


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


def _together(axis: Axis) -> int:
    """Return how many neighbouring positions are done together."""
    together = min(TOGETHER, axis.count)
    while together > 1 and sum(len(tap) for run in runs_of(axis, together) for tap in run.taps) > WRITTEN:
        together -= 1
    return together
