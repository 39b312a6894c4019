"""Shapes of products that sum over axes: such a length is the same in both factors, whichever of them knows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.core.base_operator import Shapes
from minpy.core.errors import ShapeError
from minpy.ops.inference.partial_shapes import PartialShape, broadcast_shapes, merge_shapes
from minpy.ops.inference.rule_parts import merge_lengths

__all__ = [
    "contracted",
    "dot_shapes",
    "matmul_shapes",
    "product_shapes",
    "tensordot_axes_shapes",
    "tensordot_shapes",
]


def contracted(
    a: tuple[int, ...], b: tuple[int, ...], pairs: Sequence[tuple[int, int]], result: PartialShape
) -> tuple[Shapes, Shapes]:
    """Infer shapes where pairs of axes are summed over, and the others are those of the result, those of `a` first.

    Raises
    ------
    ShapeError
        If lengths contradict each other, or there is no such axis.

    Examples
    --------
    >>> contracted((2, 4), (-1, 3), [(1, 0)], None)
    ([(2, 4), (4, 3)], [(2, 3)])
    """
    first, second = list(a), list(b)
    for i, j in pairs:
        if not (-len(a) <= i < len(a) and -len(b) <= j < len(b)):
            raise ShapeError(f"axes {i} and {j} of arrays of {len(a)} and {len(b)} axes cannot be summed over.")
        first[i] = second[j] = merge_lengths(a[i], b[j])
    summed_a, summed_b = {i % len(a) for i, _ in pairs}, {j % len(b) for _, j in pairs}
    free_a = [axis for axis in range(len(a)) if axis not in summed_a]
    free_b = [axis for axis in range(len(b)) if axis not in summed_b]
    lengths = merge_shapes((*(first[axis] for axis in free_a), *(second[axis] for axis in free_b)), result)
    assert lengths is not None
    for axis, length in zip(free_a, lengths[: len(free_a)], strict=True):
        first[axis] = length
    for axis, length in zip(free_b, lengths[len(free_a) :], strict=True):
        second[axis] = length
    return [tuple(first), tuple(second)], [lengths]


def dot_shapes(inputs: Shapes, outputs: Shapes, **attributes: Any) -> tuple[Shapes, Shapes]:
    """Infer the shapes of `numpy.dot`."""
    a, b = inputs
    if a is None or b is None:
        return inputs, outputs
    if not a or not b:
        return inputs, [merge_shapes(a or b, outputs[0])]
    return contracted(a, b, [(len(a) - 1, max(len(b) - 2, 0))], outputs[0])


def matmul_shapes(inputs: Shapes, outputs: Shapes, **attributes: Any) -> tuple[Shapes, Shapes]:
    """Infer the shapes of `numpy.matmul`: of what stands before the matrices forwards only."""
    a, b = inputs
    if not a or not b:
        return inputs, outputs
    if len(a) <= 2 and len(b) <= 2:
        return contracted(a, b, [(len(a) - 1, max(len(b) - 2, 0))], outputs[0])
    inner = max(len(b) - 2, 0)
    length = merge_lengths(a[-1], b[inner])
    first, second = (*a[:-1], length), (*b[:inner], length, *b[inner + 1 :])
    batch = broadcast_shapes(first[:-2], second[:-2])
    assert batch is not None
    result = (*batch, *(first[-2:-1] if len(a) > 1 else ()), *(second[-1:] if len(b) > 1 else ()))
    return [first, second], [merge_shapes(result, outputs[0])]


def product_shapes(
    left: Any, right: Any, result: Any, transpose_left: bool, transpose_right: bool
) -> tuple[Any, Any, Any]:
    """Return the shapes of (..., n, k), (..., k, m), each perhaps stored transposed, and their product (..., n, m)."""
    lead = merge_shapes(left[:-2], right[:-2], result[:-2]) or ()
    rows, inner = left[:-3:-1] if transpose_left else left[-2:]
    right_inner, columns = right[:-3:-1] if transpose_right else right[-2:]
    rows, columns = merge_lengths(rows, result[-2]), merge_lengths(columns, result[-1])
    inner = merge_lengths(inner, right_inner)
    first = (inner, rows) if transpose_left else (rows, inner)
    second = (columns, inner) if transpose_right else (inner, columns)
    return (*lead, *first), (*lead, *second), (*lead, rows, columns)


def tensordot_shapes(
    inputs: Shapes, outputs: Shapes, *, a_axes_summed: Sequence[int], b_axes_summed: Sequence[int], **attributes: Any
) -> tuple[Shapes, Shapes]:
    """Infer the shapes of `numpy.tensordot` over pairs of axes."""
    a, b = inputs
    if a is None or b is None:
        return inputs, outputs
    return contracted(a, b, list(zip(a_axes_summed, b_axes_summed, strict=True)), outputs[0])


def tensordot_axes_shapes(inputs: Shapes, outputs: Shapes, *, axes: int, **attributes: Any) -> tuple[Shapes, Shapes]:
    """Infer the shapes of `numpy.tensordot` over the last axes of one and the first of the other."""
    a, b = inputs
    if a is None or b is None:
        return inputs, outputs
    return contracted(a, b, [(len(a) - axes + position, position) for position in range(axes)], outputs[0])
