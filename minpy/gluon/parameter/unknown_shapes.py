"""Shapes of parameters: lengths that are not known yet are 0, or -1 where 0 is a length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.core.errors import ArgumentError, describe

__all__ = ["as_shape", "is_complete", "joined"]


def as_shape(shape: Any, name: str) -> tuple[int, ...] | None:
    """Return a shape as a tuple, with 0 for what is not known; None if nothing is."""
    if shape is None:
        return None
    try:
        lengths = tuple(shape) if isinstance(shape, (Sequence, tuple)) else (shape,)
        return tuple(0 if length is None or length == -1 else int(length) for length in lengths)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"Parameter {name!r}: shape is {describe(shape)}; expected a tuple of lengths, such as (3, 0), with 0 for "
            "those that follow from the first call."
        ) from None


def is_complete(shape: tuple[int, ...] | None) -> bool:
    """Tell whether all lengths are known."""
    return shape is not None and all(length > 0 for length in shape)


def joined(first: tuple[int, ...] | None, second: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return what two shapes say together."""
    if first is None or second is None:
        return second if first is None else first
    if len(first) != len(second) or any(a != b and a > 0 and b > 0 for a, b in zip(first, second, strict=True)):
        raise ValueError(f"{first} and {second}")
    return tuple(a if a > 0 else b for a, b in zip(first, second, strict=True))
