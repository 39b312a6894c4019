"""Gradients of the weight of depthwise convolutions, batch last: every channel by itself.

A filter's sums over one row of taps are in registers while its channel goes by; a block of neighbouring positions
shares the vectors of data that it loads. It takes 0.5 to 0.6 of the time of `weight_gradient` on processors of both
kinds, which has nothing to keep in the cache here.
"""

from __future__ import annotations

from minpy.backends.native.convolutions.direct_convolution import Code
from minpy.backends.native.convolutions.problem import Problem, forward_axes
from minpy.backends.native.convolutions.register_blocking import Processor, VectorsOfBatch
from minpy.backends.native.convolutions.taps import positions_of
from minpy.backends.native.convolutions.vector_writer import Emitter, Integer

__all__ = ["depthwise_weight_gradient"]

# Neighbouring positions that are done together.
TOGETHER = 4


def depthwise_weight_gradient(problem: Problem, processor: Processor) -> Code:
    """Return the function that makes the gradient of the weight; its pointers are those of `weight_gradient`'s."""
    lanes = VectorsOfBatch.of(problem.batch, processor.lanes(problem.itemsize))
    code = Emitter(problem.element, lanes.width)
    rows, axis = forward_axes(problem)
    (height, width), (_, length), batch = problem.lengths, problem.positions, problem.batch
    left, right = axis.inside
    together = min(TOGETHER, right - left)
    several = problem.filters // problem.groups

    def existing(column: Integer, data: str, distance: Integer) -> str:
        return code.either_pointer(code.within(column, width), code.at(data, distance), "%scratch")

    def positions(t: Integer, count: int, data: str, gradient: str, sums: list[str], within: bool) -> list[str]:
        column = code.add(code.multiply(t, axis.step), axis.offset)
        needed = sorted({p * axis.step + j * axis.reach for p in range(count) for j in range(axis.taps)})
        with code.loop(0, lanes.count, sums) as vector:
            start, fresh = lanes.start(code, vector.index), lanes.fresh(code, vector.index)

            def masked(value: str) -> str:
                return value if fresh is None else code.where(fresh, value, code.zero)

            values = {}
            for place in needed:
                here = code.add(code.multiply(code.add(column, place), batch), start)
                pointer = code.at(data, here) if within else existing(code.add(column, place), data, here)
                values[place] = masked(code.load(pointer))
            upstream = code.at(gradient, code.multiply(t, batch), start)
            for p in range(count):
                cotangent = masked(code.load(upstream, p * batch))
                for j in range(axis.taps):
                    # Two sums for each tap, in turn: one would wait for itself.
                    number = 2 * j + p % 2
                    value = values[p * axis.step + j * axis.reach]
                    vector.values[number] = code.add_product(vector.values[number], cotangent, value)
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
            added = code.sums([code.arithmetic("fadd", *pair) for pair in pairs])
            target = code.multiply(code.add(code.multiply(f.index, problem.kernel[0]), i.index), axis.taps)
            for number, value in enumerate(added):
                code.store(value, "%scratch", (1 + number) * code.lanes)
            for number in range(axis.taps):
                code.store_element(code.load_element("%scratch", code.lanes + number), "%p2", code.add(target, number))
    scratch = problem.itemsize * lanes.width * (2 + axis.taps)
    return Code(code.body(3), ("data", "gradient"), ("weight",), problem.filters, scratch)
