"""Values that are recorded or traced: arrays, boxes of HIPS autograd, symbols, proxies; also inside of lists."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain
from typing import Any

from minpy.core import dispatch
from minpy.core.state import state

__all__ = ["holds_followed", "is_followed"]

_kinds = dispatch._kinds
_RAW, _ARRAY, _TRACER, _NESTED = dispatch.RAW, dispatch.ARRAY, dispatch.TRACER, dispatch.NESTED
_NUMBERS = frozenset((int, float, bool, complex, str))
_DEEPEST = 64  # NumPy makes no arrays of more axes


def is_followed(value: Any) -> bool:
    """Tell whether a value, or one in a nest of lists and tuples, is recorded or traced.

    Examples
    --------
    >>> is_followed([[1.0, 2.0], 3.0])
    False
    """
    kind = _kinds.get(type(value))
    if kind is None:
        kind = dispatch.kind_of(type(value))
    if kind == _RAW:
        return False
    if kind == _NESTED:
        return holds_followed(value)
    if kind == _ARRAY:
        return value._node is not None and state.recording
    return kind == _TRACER


def holds_followed(values: Collection[Any]) -> bool:
    """Tell the same of several values: of any. For nested lists of numbers only types are checked, level by level."""
    level: Any = values
    for _ in range(_DEEPEST):  # a list may hold itself
        if _NUMBERS.issuperset(map(type, level)):
            return False
        nests = []
        classes: set[Any] = {*map(type, level)}
        for cls in classes:
            kind = _kinds.get(cls)
            if kind is None:
                kind = dispatch.kind_of(cls)
            if kind == _NESTED:
                nests.append(cls)
            elif kind == _TRACER:
                return True
            elif kind == _ARRAY and state.recording:
                for value in level:
                    if type(value) is cls and value._node is not None:
                        return True
        if not nests:
            return False
        if len(level) == 1:
            (level,) = level
        else:
            level = [*chain.from_iterable([value for value in level if type(value) in nests])]
    return False
