"""Which values somebody follows: recorded arrays, boxes of HIPS autograd, symbols, stand-ins; also inside of lists."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain
from typing import Any

from minpy.core import dispatch
from minpy.core.state import state

__all__ = ["holds_followed", "is_followed"]

_kinds = dispatch._kinds
_MEANINGLESS = frozenset((int, float, bool, str))


def is_followed(value: Any) -> bool:
    """Tell whether a value, or one in a nest of lists and tuples, is recorded, or traced by somebody.

    Examples
    --------
    >>> is_followed([[1.0, 2.0], 3.0])
    False
    """
    if isinstance(value, (list, tuple)):
        return holds_followed(value)
    kind = _kinds.get(type(value))
    if kind is None:
        kind = dispatch.kind_of(type(value))
    if kind == dispatch.ARRAY:
        return value._node is not None and state.recording
    return kind == dispatch.TRACER


def holds_followed(values: Collection[Any]) -> bool:
    """Tell the same of any of several values. Of nested lists of numbers that is a look at types, level by level."""
    level = values
    while True:
        nests = []
        for cls in {*map(type, level)} - _MEANINGLESS:
            if issubclass(cls, (list, tuple)):
                nests.append(cls)
            elif _kinds.get(cls, dispatch.STRANGE) != dispatch.RAW and any(
                is_followed(value) for value in level if type(value) is cls
            ):
                return True
        if not nests:
            return False
        inner = level if nests == [*{*map(type, level)}] else [value for value in level if type(value) in nests]
        level = [*chain.from_iterable(inner)]
