"""Whether HIPS autograd follows a value: told without importing it, as nothing is followed before that is done."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

__all__ = ["boxes", "is_box"]


class _Boxes:
    """The classes of autograd's boxes."""

    types: Set[type] = frozenset()  # autograd's own, to which it adds; empty until it is imported


boxes = _Boxes()


def is_box(value: Any) -> bool:
    """Tell whether HIPS autograd follows a value.

    Examples
    --------
    >>> is_box(1.0)
    False
    """
    return type(value) in boxes.types
