"""Shapes and dtypes of which not everything is known yet, and how knowledge about them is put together.

A shape is a tuple of lengths, with `UNKNOWN` for a length that is not known, or None if not even the number of axes is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.base_operator import DTypes, PartialShape, Shapes
from minpy.core.errors import DTypeError, ShapeError

__all__ = [
    "UNKNOWN",
    "PartialShape",
    "as_dtype",
    "broadcast_shapes",
    "broadcasting",
    "complete",
    "is_known",
    "merge_dtypes",
    "merge_shapes",
    "same_dtype",
    "same_shape",
    "show_shape",
]

UNKNOWN = -1


def is_known(shape: PartialShape) -> bool:
    """Tell whether every length of a shape is known.

    Examples
    --------
    >>> is_known((2, 3)), is_known((2, UNKNOWN)), is_known(None)
    (True, False, False)
    """
    return shape is not None and UNKNOWN not in shape


def merge_shapes(*shapes: PartialShape) -> PartialShape:
    """Return what several statements about the same shape say together.

    Raises
    ------
    ShapeError
        If they contradict each other.

    Examples
    --------
    >>> merge_shapes((2, UNKNOWN), (UNKNOWN, 3))
    (2, 3)
    >>> merge_shapes(None, (2, UNKNOWN))
    (2, -1)
    """
    merged: PartialShape = None
    for shape in shapes:
        if merged is None or merged == shape:
            merged = shape
        elif shape is not None:
            if len(merged) != len(shape) or any(
                UNKNOWN not in (a, b) and a != b for a, b in zip(merged, shape, strict=True)
            ):
                raise ShapeError(f"{show_shape(merged)} and {show_shape(shape)} differ.")
            merged = tuple(b if a == UNKNOWN else a for a, b in zip(merged, shape, strict=True))
    return merged


def broadcast_shapes(*shapes: PartialShape) -> PartialShape:
    """Return what is known of the shape that arrays of these shapes broadcast to.

    Raises
    ------
    ShapeError
        If they do not broadcast.

    Examples
    --------
    >>> broadcast_shapes((2, 1, UNKNOWN), (3, 4))
    (2, 3, 4)
    """
    if any(shape is None for shape in shapes):
        return None
    present: list[tuple[int, ...]] = [shape for shape in shapes if shape is not None]
    result = []
    for axis in range(1, max(map(len, present), default=0) + 1):
        lengths = {shape[-axis] for shape in present if len(shape) >= axis} - {1}
        fixed = lengths - {UNKNOWN}
        if len(fixed) > 1:
            raise ShapeError(f"{' and '.join(map(show_shape, present))} do not broadcast: they differ in axis {-axis}.")
        result.append(fixed.pop() if fixed else UNKNOWN if lengths else 1)
    return tuple(reversed(result))


def merge_dtypes(first: numpy.dtype | None, second: numpy.dtype | None) -> numpy.dtype | None:
    """Return what two statements about the same dtype (None: unknown) say together.

    Raises
    ------
    DTypeError
        If they contradict each other.
    """
    if first is None or second is None:  # first: numpy.dtype('float64') == None is True
        return second if first is None else first
    if first == second:
        return first
    raise DTypeError(f"{first} and {second} differ.")


def show_shape(shape: PartialShape) -> str:
    """Return a shape as messages write it: `?` for what is not known.

    Examples
    --------
    >>> show_shape((2, UNKNOWN)), show_shape((UNKNOWN,)), show_shape(None)
    ('(2, ?)', '(?,)', '?')
    """
    if shape is None:
        return "?"
    lengths = ["?" if length == UNKNOWN else str(length) for length in shape]
    return f"({lengths[0]},)" if len(lengths) == 1 else f"({', '.join(lengths)})"


def complete(shapes: Sequence[PartialShape]) -> bool:
    """Tell whether all shapes are known."""
    return all(map(is_known, shapes))


def as_dtype(value: Any) -> numpy.dtype | None:
    """Return a dtype from what users write for one; None stays None."""
    return None if value is None else numpy.dtype(value)


# -- rules that many operators share -----------------------------------------------------------------------------------


def same_shape(inputs: Shapes, outputs: Shapes, **attributes: Any) -> tuple[Shapes, Shapes]:
    """Infer shapes where all inputs and outputs have the same one."""
    shape = merge_shapes(*inputs, *outputs)
    return [shape] * len(inputs), [shape] * len(outputs)


def broadcasting(inputs: Shapes, outputs: Shapes, **attributes: Any) -> tuple[Shapes, Shapes]:
    """Infer the shape of an output to which all inputs broadcast; nothing is inferred backwards."""
    return inputs, [broadcast_shapes(*inputs)] * len(outputs)


def same_dtype(inputs: DTypes, outputs: DTypes, **attributes: Any) -> tuple[DTypes, DTypes]:
    """Infer dtypes where all inputs and outputs that say nothing else have the first known one."""
    common = next((dtype for dtype in (*inputs, *outputs) if dtype is not None), None)
    return (
        [common if dtype is None else dtype for dtype in inputs],
        [common if dtype is None else dtype for dtype in outputs],
    )
