"""Nested values with places in them for arrays: what a block is called with, and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.errors import ArgumentError
from minpy.ndarray import NDArray

__all__ = ["Keywords", "filled", "key_of", "template_of"]


class Keywords(dict[str, Any]):
    """What a block is called with by name: the last of its arguments."""


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
        kind = Keywords if type(value) is Keywords else dict
        return kind((key, template_of(part, leaves, kinds)) for key, part in value.items())
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
        kind = Keywords if type(template) is Keywords else dict
        return kind((key, filled(part, values)) for key, part in template.items())
    return template


class _Same:
    """Stands for a value that is compared by identity only, and keeps it alive."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)


def key_of(template: Any) -> Any:
    """Return what tells templates apart: their forms, and the values in them that are no arrays.

    Raises
    ------
    ArgumentError
        For an array of NumPy's, which would become part of a graph.
    """
    if isinstance(template, _Place):
        return _Place, template.index
    if isinstance(template, (list, tuple)):
        return type(template), tuple(map(key_of, template))
    if isinstance(template, dict):
        return type(template), tuple([(key, key_of(part)) for key, part in template.items()])
    if isinstance(template, numpy.ndarray):
        raise ArgumentError(
            f"An input of a hybridized block is a numpy.ndarray of shape {template.shape}; expected an array of "
            "minpy's. Make it one with mx.np.array(...) or mx.nd.array(...)."
        )
    if isinstance(template, (float, complex, numpy.inexact)):  # nan is not equal to itself, and -0.0 is equal to 0.0
        return type(template), repr(template)
    try:
        hash(template)
    except TypeError:
        return _Same(template)
    return type(template), template
