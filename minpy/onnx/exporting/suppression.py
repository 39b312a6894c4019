"""Greedy non-maximum suppression as a loop over the boxes that stay: each pass decides one for each item of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall
from minpy.onnx.exporting.expressions import Expression, numbers_up_to, where
from minpy.onnx.exporting.inner_graphs import graph_input, held_graph

__all__ = ["areas", "as_corners", "compacted", "kept_boxes"]


def as_corners(boxes: Expression, center: bool) -> list[Expression]:
    """Return the corners of boxes (..., 4), one value a coordinate; `center` if they are (x, y, width, height)."""
    first, second, third, fourth = (boxes.at(position, -1) for position in range(4))
    if not center:
        return [first, second, third, fourth]
    half_width, half_height = third * 0.5, fourth * 0.5
    return [first - half_width, second - half_height, first + half_width, second + half_height]


def areas(corners: Sequence[Expression], margin: float = 0) -> Expression:
    """Return the areas of boxes; 0 where a side is negative. Sides are longer than differences by `margin`."""
    width, height = corners[2] - corners[0], corners[3] - corners[1]
    if margin:
        width, height = width + margin, height + margin
    return where((width < 0) | (height < 0), 0, width * height)


def _overlaps(first: Sequence[Expression], second: Sequence[Expression], margin: float) -> Expression:
    """Return intersection over union of boxes that broadcast: corners and areas; 0 where the union is empty."""
    width = first[2].minimum(second[2]) - first[0].maximum(second[0])
    height = first[3].minimum(second[3]) - first[1].maximum(second[1])
    if margin:
        width, height = width + margin, height + margin
    common = width.maximum(0) * height.maximum(0)
    union = first[4] + second[4] - common
    nonempty = union > 0
    return where(nonempty, common / where(nonempty, union, 1), 0)


def compacted(chosen: Expression, count: Any) -> tuple[Expression, Expression]:
    """Return the positions of chosen elements of each row, in order, followed by the others; and which are chosen."""
    flags, positions = chosen.cast(numpy.int32).top(count)
    return positions, flags.cast(bool)


def kept_boxes(
    call: NodeCall,
    corners: Sequence[Expression],
    alive: Expression,
    threshold: float,
    groups: Expression | None = None,
    margin: float = 0,
    inclusive: bool = False,
) -> Expression:
    """Return which boxes greedy non-maximum suppression keeps, (batch, n); arguments are those of our kernel.

    A pass takes the first box left of each item, which stays, and removes it and those that overlap it too much.
    """
    boxes = [*corners, areas(corners, margin)]
    nothing = alive & ~alive
    numbers = numbers_up_to(call, call.node("Squeeze", _length(alive)))
    with call.inner_graph() as emitter:
        inputs = [graph_input(emitter, "pass", (), numpy.int64), graph_input(emitter, "any", (), bool)]
        inputs += [graph_input(emitter, name, (-1, -1), bool) for name in ("keep", "left")]
        keep, left = Expression(call, inputs[2]), Expression(call, inputs[3])
        first = left.cast(numpy.int32).node("ArgMax", axis=1, keepdims=1, dtype=numpy.int64)
        is_first = numbers.equal(first) & left
        chosen = [box.along(first, 1) for box in boxes]
        overlaps = _overlaps(chosen, boxes, margin)
        exceeding = overlaps >= threshold if inclusive else overlaps > threshold
        if groups is not None:
            exceeding = exceeding & groups.equal(groups.along(first, 1))
        keep = keep | is_first
        left = left & ~(exceeding | is_first)
        body = held_graph(emitter, inputs, [_any(left), *(_matrix(each) for each in (keep, left))], "body")
    # A pass keeps a box of each item that has some left, so that there are no more passes than boxes.
    kept, _ = call.node("Loop", None, _any(alive).text, nothing.name, alive.name, outputs=2, body=body)
    return Expression(call, kept, bool)


def _length(matrix: Expression) -> str:
    """Return the name of the length of the second axis, as an array of one number."""
    shape = matrix.call.node("Shape", matrix.name)
    name: str = matrix.call.node("Slice", shape, matrix.call.ints([1]), matrix.call.ints([2]))
    return name


def _any(matrix: Expression) -> Operand:
    """Return whether an element holds, as a boolean without axes."""
    flat = matrix.cast(numpy.int32).reshape(-1)
    return Operand((flat.sum(0) > 0).name, (), numpy.dtype(bool))


def _matrix(value: Expression) -> Operand:
    return Operand(value.name, (-1, -1), value.dtype)
