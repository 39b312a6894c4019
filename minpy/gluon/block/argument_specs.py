"""Nested values with places in them for arrays: what a block is called with, and what it returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any

import numpy

from minpy.capture.reads import CONSTANT_TYPES
from minpy.context import Context
from minpy.gluon.block.reference_finder import is_of_user
from minpy.ndarray import NDArray

__all__ = ["Keywords", "Unhashable", "flatten", "functions_in", "key_of", "split", "unflatten"]


_CONSTANT: tuple[Any, ...] = (*CONSTANT_TYPES, type, FunctionType, Context)


class _Place:
    """Where an array stands."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __repr__(self) -> str:
        return f"<{self.index}>"


class Unhashable(TypeError):
    """There is a value among arguments that may change without its being seen."""


class Keywords(dict[str, Any]):
    """Arguments by keyword, which stand behind those by position."""


def split(values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments by position, and those by keyword."""
    if values and type(values[-1]) is Keywords:
        return tuple(values[:-1]), dict(values[-1])
    return tuple(values), {}


def functions_in(spec: Any) -> Iterator[FunctionType]:
    """Yield the functions among the values of a spec."""
    if isinstance(spec, FunctionType):
        yield spec
    elif isinstance(spec, (list, tuple, dict)):
        for part in spec.values() if isinstance(spec, dict) else spec:
            yield from functions_in(part)


def key_of(spec: Any) -> Any:
    """Return a key that is equal for equal specs, of equal types; refuse values that may change unseen."""
    kind = type(spec)
    if kind is _Place:
        return spec.index
    if isinstance(spec, (list, tuple)):
        return kind, *map(key_of, spec)
    if isinstance(spec, dict):
        return kind, *((key, key_of(value)) for key, value in spec.items())
    if kind is slice:
        return kind, key_of(spec.start), key_of(spec.stop), key_of(spec.step)
    if isinstance(spec, (float, complex, numpy.inexact)):
        return kind, repr(spec)  # NaN is no key, and -0.0 another than 0.0
    if isinstance(spec, _CONSTANT) and not (isinstance(spec, type) and is_of_user(spec.__module__)):
        return kind, spec
    raise Unhashable(f"{kind.__name__} in the place of an array or a plain value")


def flatten(value: Any, leaves: list[Any], kinds: Any = NDArray) -> Any:
    """Return nested values with places for those of some kinds, which are added to `leaves`; all else stays."""
    if isinstance(value, kinds):
        leaves.append(value)
        return _Place(len(leaves) - 1)
    if isinstance(value, (list, tuple)):
        parts = [flatten(part, leaves, kinds) for part in value]
        return parts if isinstance(value, list) else _as_tuple(value, parts)
    if isinstance(value, dict):
        named = {key: flatten(part, leaves, kinds) for key, part in value.items()}
        return Keywords(named) if type(value) is Keywords else named
    return value


def _as_tuple(value: tuple[Any, ...], parts: list[Any]) -> Any:
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def unflatten(spec: Any, values: Sequence[Any]) -> Any:
    """Return a spec with values in its places."""
    if isinstance(spec, _Place):
        return values[spec.index]
    if isinstance(spec, (list, tuple)):
        parts = [unflatten(part, values) for part in spec]
        return parts if isinstance(spec, list) else _as_tuple(spec, parts)
    if isinstance(spec, dict):
        named = {key: unflatten(part, values) for key, part in spec.items()}
        return Keywords(named) if type(spec) is Keywords else named
    return spec
