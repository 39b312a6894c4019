"""Axes of operators' attributes: counted from either end, and refused by name where they do not exist."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minpy.core.errors import ShapeError

__all__ = ["one_axis", "several_axes"]


def one_axis(name: str, axis: Any, ndim: int) -> int:
    """Return an axis counted from the left.

    Raises
    ------
    ShapeError
        If an array of `ndim` axes does not have it; `name` is the operator's.

    Examples
    --------
    >>> one_axis('softmax', -1, 3)
    2
    """
    if not -ndim <= axis < ndim:
        raise ShapeError(
            f"{name}: axis {axis} is out of range for an array with {ndim} {'axis' if ndim == 1 else 'axes'}; "
            f"expected {-ndim} <= axis < {ndim}."
        )
    return int(axis) % ndim


def several_axes(name: str, axes: int | Iterable[int], ndim: int) -> tuple[int, ...]:
    """Return axes counted from the left, in their order; one number is one axis.

    Raises
    ------
    ShapeError
        If one does not exist, or is given twice.
    """
    numbers = tuple(axes) if isinstance(axes, Iterable) else (axes,)
    positions = tuple(one_axis(name, axis, ndim) for axis in numbers)
    if len(set(positions)) != len(positions):
        raise ShapeError(f"{name}: axes {numbers} name one axis twice, of an array with {ndim}.")
    return positions
