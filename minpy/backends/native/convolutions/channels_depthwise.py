"""Depthwise convolutions of few examples, channels last: every channel by itself.

Vectors run along the channels. A block of neighbouring positions shares the vectors of data that it loads; beyond the
border it reads zeros.
"""

from __future__ import annotations

from minpy.backends.native.convolutions.direct_convolution import Code
from minpy.backends.native.convolutions.problem import Problem, forward_axes
from minpy.backends.native.convolutions.register_blocking import Processor, VectorsOfBatch
from minpy.backends.native.convolutions.taps import bounds
from minpy.backends.native.convolutions.vector_writer import Emitter

__all__ = ["channels_depthwise"]

# Positions that are done together.
TOGETHER = 7


def channels_depthwise(problem: Problem, processor: Processor) -> Code:
    """Return the function that does a convolution of as many groups as channels and filters.

    Its pointers: data and a weight of (height, width, channels); the result.
    """
    lanes = VectorsOfBatch.of(problem.channels, processor.lanes(problem.itemsize))
    code = Emitter(problem.element, lanes.width)
    rows, axis = forward_axes(problem)
    channels, width = problem.channels, problem.lengths[1]
    positions, taps = range(min(TOGETHER, axis.count)), range(axis.taps)
    # Columns of data that a block reads, from its first on.
    columns = sorted({p * axis.step + j * axis.reach for p in positions for j in taps})
    code.store(code.zero, "%scratch")
    # Neighbouring vectors of channels lie side by side: one vector all over the picture would read a number here and
    # there, in the same few sets of the caches.
    with code.loop("%begin", "%end") as unit, code.loop(0, -(-axis.count // len(positions))) as block:
        example, row = code.quotient(unit.index, rows.count), code.remainder(unit.index, rows.count)
        image = code.at("%p0", code.multiply(example, problem.lengths[0] * width * channels))
        top = code.add(code.multiply(row, rows.step), rows.offset)
        begin, end = bounds(code, (rows,), 0, row, top)
        t = code.smaller(code.multiply(block.index, len(positions)), axis.count - len(positions))
        left = code.add(code.multiply(t, axis.step), axis.offset)
        line = code.at(image, code.multiply(top, width * channels), code.multiply(left, channels))
        place = code.multiply(code.add(code.multiply(unit.index, axis.count), t), channels)

        def write(inside: bool) -> list[str]:
            exists = {}
            if not inside:
                exists = {column: code.within(code.add(left, column), width) for column in columns}
            with code.loop(0, lanes.count) as vector:
                first = lanes.start(code, vector.index)
                with code.loop(begin, end, [code.zero] * len(positions)) as i:
                    source = code.at(line, code.multiply(i.index, rows.reach * width * channels), first)
                    numbers = code.at("%p1", code.multiply(i.index, axis.taps * channels), first)
                    data = {}
                    for column in columns:
                        here = code.at(source, column * channels)
                        data[column] = code.load(
                            here if inside else code.either_pointer(exists[column], here, "%scratch")
                        )
                    for j in taps:
                        number = code.load(numbers, j * channels)
                        for p in positions:
                            value = data[p * axis.step + j * axis.reach]
                            i.values[p] = code.add_product(i.values[p], value, number)
                for p, value in enumerate(i.values):
                    code.store(value, "%p2", code.add(place, first, p * channels))
            return []

        ends = [code.within(code.add(left, column), width) for column in (columns[0], columns[-1])]
        code.either(axis.is_whole or code.both(*ends), lambda: write(True), lambda: write(False))
    scratch = lanes.width * problem.itemsize
    return Code(code.body(3), ("data", "weight"), ("result",), problem.batch * rows.count, scratch)
