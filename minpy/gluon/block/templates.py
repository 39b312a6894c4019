"""Nested values with places in them for arrays: what a block is called with, and what it returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any

import numpy

from minpy.capture.reads import CONSTANT_TYPES
from minpy.context import Context
from minpy.gluon.block.following import is_of_user
from minpy.ndarray import NDArray

__all__ = ["Keywords", "Unkeyed", "filled", "functions_in", "key_of", "split", "template_of"]


_CONSTANT: tuple[Any, ...] = (*CONSTANT_TYPES, type, FunctionType, Context)


class _Place:
    """Where an array stands."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __repr__(self) -> str:
        return f"<{self.index}>"


class Unkeyed(TypeError):
    """There is a value among arguments that may change without its being seen."""


class Keywords(dict[str, Any]):
    """Arguments by keyword, which stand behind those by position."""


def split(values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments by position, and those by keyword."""
    if values and type(values[-1]) is Keywords:
        return tuple(values[:-1]), dict(values[-1])
    return tuple(values), {}


def functions_in(template: Any) -> Iterator[FunctionType]:
    """Yield the functions among the values of a template."""
    if isinstance(template, FunctionType):
        yield template
    elif isinstance(template, (list, tuple, dict)):
        for part in template.values() if isinstance(template, dict) else template:
            yield from functions_in(part)


def key_of(template: Any) -> Any:
    """Return a key that is equal for equal templates, of equal types.

    Raises
    ------
    Unkeyed
        For values that may change without its being seen.
    """
    kind = type(template)
    if kind is _Place:
        return template.index
    if isinstance(template, (list, tuple)):
        return kind, *map(key_of, template)
    if isinstance(template, dict):
        return kind, *((key, key_of(value)) for key, value in template.items())
    if kind is slice:
        return kind, key_of(template.start), key_of(template.stop), key_of(template.step)
    if isinstance(template, (float, complex, numpy.inexact)):
        return kind, repr(template)  # NaN is no key, and -0.0 another than 0.0
    if isinstance(template, _CONSTANT) and not (isinstance(template, type) and is_of_user(template.__module__)):
        return kind, template
    raise Unkeyed(f"{kind.__name__} in the place of an array or a plain value")


def template_of(value: Any, leaves: list[Any], kinds: Any = NDArray) -> Any:
    """Return nested values with places for those of some kinds, which are added to `leaves`; all else stays."""
    if isinstance(value, kinds):
        leaves.append(value)
        return _Place(len(leaves) - 1)
    if isinstance(value, (list, tuple)):
        parts = [template_of(part, leaves, kinds) for part in value]
        return parts if isinstance(value, list) else _as_tuple(value, parts)
    if isinstance(value, dict):
        named = {key: template_of(part, leaves, kinds) for key, part in value.items()}
        return Keywords(named) if type(value) is Keywords else named
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
        named = {key: filled(part, values) for key, part in template.items()}
        return Keywords(named) if type(template) is Keywords else named
    return template
