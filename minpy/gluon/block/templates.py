"""Nested values with places in them for arrays: what a block is called with, and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.ndarray import NDArray

__all__ = ["filled", "template_of"]


class _Place:
    """Where an array stands."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __repr__(self) -> str:
        return f"<{self.index}>"


def template_of(value: Any, leaves: list[Any], kinds: Any = NDArray) -> Any:
    """Return nested values with places for those of some kinds, which are added to `leaves`; all else stays."""
    if isinstance(value, kinds):
        leaves.append(value)
        return _Place(len(leaves) - 1)
    if isinstance(value, (list, tuple)):
        parts = [template_of(part, leaves, kinds) for part in value]
        return parts if isinstance(value, list) else _as_tuple(value, parts)
    if isinstance(value, dict):
        return {key: template_of(part, leaves, kinds) for key, part in value.items()}
    return value


def _as_tuple(value: tuple[Any, ...], parts: list[Any]) -> Any:
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def filled(template: Any, values: Sequence[Any]) -> Any:
    """Return a template with values in its places."""
    if isinstance(template, _Place):
        return values[template.index]
    if isinstance(template, (list, tuple)):
        parts = [filled(part, values) for part in template]
        return parts if isinstance(template, list) else _as_tuple(template, parts)
    if isinstance(template, dict):
        return {key: filled(part, values) for key, part in template.items()}
    return template
