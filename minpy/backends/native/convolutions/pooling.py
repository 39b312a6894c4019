"""What comes back through a fused pooling, batch last: the gradient goes to the one of four that was the largest."""

from __future__ import annotations

from minpy.backends.native.convolutions.correlation import Code
from minpy.backends.native.convolutions.emitter import Emitter, Integer
from minpy.backends.native.convolutions.problem import Problem
from minpy.backends.native.convolutions.registers import Processor, VectorsOfBatch

__all__ = ["unpool"]


def unpool(problem: Problem, processor: Processor) -> Code:
    """Return the function that makes the gradient of a convolution's sums from that of what was pooled.

    Its pointers: the gradient of the result, and the index that the forward function wrote; the gradient of the sums.
    """
    lanes = VectorsOfBatch.of(problem.batch, processor.lanes(problem.itemsize))
    code = Emitter(problem.element, lanes.width)
    batch, width = problem.batch, lanes.width
    (height, length), (rows, columns) = problem.outputs, problem.positions
    pieces = [(corner // 2, corner % 2) for corner in range(4)]

    def clear(row: Integer, column: Integer) -> None:
        place = code.multiply(code.add(code.multiply(row, columns), column), batch)
        with code.loop(0, lanes.count) as vector:
            code.store(code.zero, target, code.add(place, lanes.start(code, vector.index)))

    with code.loop("%begin", "%end") as f:
        source = code.multiply(f.index, height * length * batch)
        target = code.at("%p2", code.multiply(f.index, rows * columns * batch))
        with code.loop(0, height) as row:
            with code.loop(0, length) as column, code.loop(0, lanes.count) as vector:
                start = lanes.start(code, vector.index)
                place = code.add(code.multiply(code.add(code.multiply(row.index, length), column.index), batch), start)
                place = code.add(place, source)
                gradient = code.load("%p0", place)
                at = code.put(f"getelementptr i8, ptr %p1, i64 {place}")
                index = code.put(f"load <{width} x i8>, ptr {at}, align 1")
                for corner, (down, right) in enumerate(pieces):
                    chosen = code.put(f"icmp eq <{width} x i8> {index}, splat (i8 {corner})")
                    r = code.add(code.multiply(row.index, 2), down)
                    q = code.add(code.multiply(column.index, 2), right)
                    distance = code.add(code.multiply(code.add(code.multiply(r, columns), q), batch), start)
                    code.store(code.where(chosen, gradient, code.zero), target, distance)
            if columns % 2:
                for down in range(2):
                    clear(code.add(code.multiply(row.index, 2), down), columns - 1)
        if rows % 2:
            with code.loop(0, columns) as column:
                clear(rows - 1, column.index)
    return Code(code.body(3), ("gradient", "index"), ("sums",), problem.filters, 0)
