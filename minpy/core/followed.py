"""Which values somebody follows: recorded arrays, boxes of HIPS autograd, symbols, stand-ins; also inside of lists."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain
from typing import Any

from minpy.core import dispatch
from minpy.core.state import state

__all__ = ["holds_followed", "is_followed"]

_kinds = dispatch._kinds


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
        for cls in {*map(type, level)}:
            if cls is list or cls is tuple:
                nests.append(cls)
                continue
            kind = _kinds.get(cls)
            if kind is None and cls is not str:
                kind = dispatch.kind_of(cls)
            if kind == dispatch.NESTED:
                nests.append(cls)
            elif kind == dispatch.TRACER:
                return True
            elif kind == dispatch.ARRAY and state.recording:
                for value in level:
                    if type(value) is cls and value._node is not None:
                        return True
        if not nests:
            return False
        if len(level) == 1:
            (level,) = level
        else:
            level = [*chain.from_iterable([value for value in level if type(value) in nests])]
