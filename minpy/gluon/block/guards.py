"""What a trace of a block holds for: the plain attributes of blocks, and the plain globals that they refer to.

Numbers and strings become part of a graph. Where one has changed since, the block is traced again.
"""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

import numpy

from minpy.graph.tracing.captures import PLAIN

__all__ = ["CHANGES", "Guards"]

_PLAIN: tuple[Any, ...] = (*PLAIN, type)


class _Changes:
    """Counts the changes of attributes of blocks, anywhere: as long as there are none, nothing is looked at."""

    count = 0


CHANGES = _Changes()


def _is_plain(value: Any) -> bool:
    return isinstance(value, _PLAIN) or (type(value) in (tuple, list) and all(map(_is_plain, value)))


def _kept(value: Any) -> Any:
    return [*map(_kept, value)] if type(value) is list else value


def _same(first: Any, second: Any) -> bool:
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if type(first) in (tuple, list):
        return len(first) == len(second) and all(map(_same, first, second))
    if isinstance(first, (float, complex, numpy.inexact)):
        return repr(first) == repr(second)
    return _is_plain(first) and bool(first == second)


class Guards:
    """The plain values that some blocks had when one of them was traced.

    Parameters
    ----------
    blocks : iterable of Block
        All that the trace went through.
    internal : frozenset of str
        Attributes that are not looked at.
    """

    def __init__(self, blocks: Iterable[Any], internal: frozenset[str]) -> None:
        self._internal = internal
        self._rows = [(block, self._attributes(block)) for block in blocks]
        self._count = CHANGES.count
        self._globals: list[tuple[Any, str, Any]] = []
        for function in {type(block).forward for block, _ in self._rows} | {
            type(block).hybrid_forward for block, _ in self._rows
        }:
            if isinstance(function, types.FunctionType) and not (function.__module__ or "").startswith("minpy."):
                self._note_globals(function)

    def _note_globals(self, function: types.FunctionType) -> None:
        space = function.__globals__
        for name in function.__code__.co_names:
            if name in space and not name.startswith("__") and _is_plain(space[name]):
                self._globals.append((space, name, _kept(space[name])))

    def _attributes(self, block: Any) -> dict[str, Any]:
        skipped = self._internal | block._not_compared
        found = {name: _kept(value) for name, value in vars(block).items() if name not in skipped and _is_plain(value)}
        found["children"] = tuple(id(child) for child in block._children.values())
        return found

    def hold(self) -> bool:
        """Tell whether all values are what they were."""
        for space, name, value in self._globals:
            if not _same(space.get(name), value):
                return False
        if self._count == CHANGES.count:
            return True
        count = CHANGES.count
        for block, attributes in self._rows:
            now = self._attributes(block)
            if now.keys() != attributes.keys() or not all(_same(now[name], attributes[name]) for name in now):
                return False
        self._count = count
        return True
