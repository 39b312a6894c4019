"""Which values somebody follows: recorded arrays, boxes of HIPS autograd, symbols, stand-ins; also inside of lists."""

from __future__ import annotations

from collections.abc import Collection
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
    """Tell the same of any of several values. Of a list of numbers that is a look at their types, in C."""
    types = {*map(type, values)}
    return not types <= _MEANINGLESS and any(map(is_followed, values))
