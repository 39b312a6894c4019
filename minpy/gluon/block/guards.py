"""What a trace of a block holds for: the attributes of blocks, and the globals that their functions refer to.

Numbers and strings become part of a graph, and which array is meant does. Where one has changed since, the block is
traced again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.gluon.block.references import References
from minpy.graph.tracing.captures import PLAIN

__all__ = ["CHANGES", "Guards"]

_PLAIN: tuple[Any, ...] = (*PLAIN, type)
_ARRAYS = (Array, numpy.ndarray)


class _Changes:
    """Counts the changes of attributes of blocks, anywhere: as long as there are none, nothing is looked at."""

    def __init__(self) -> None:
        self.count = 0
        self._next = itertools.count(1).__next__

    def note(self, block: Any) -> None:
        """Note that an attribute of a block has been set or deleted."""
        block.__dict__["_changes"] = count = self._next()
        self.count = count


CHANGES = _Changes()


def _is_compared(value: Any) -> bool:
    if isinstance(value, (_PLAIN, _ARRAYS)):
        return True
    if type(value) in (tuple, list):
        return all(map(_is_compared, value))
    return type(value) is dict and all(map(_is_compared, value.values()))


def _kept(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(_kept, value))
    return {key: _kept(one) for key, one in value.items()} if type(value) is dict else value


def _same(first: Any, second: Any) -> bool:
    if first is second:
        return True
    if type(first) is not type(second) or isinstance(first, _ARRAYS):
        return False
    if type(first) in (tuple, list):
        return len(first) == len(second) and all(map(_same, first, second))
    if type(first) is dict:
        return [*first] == [*second] and all(map(_same, first.values(), second.values()))
    if isinstance(first, (float, complex, numpy.inexact)):
        return repr(first) == repr(second)
    return isinstance(first, _PLAIN) and bool(first == second)


class Guards:
    """The values that some blocks had when one of them was traced, and those of what their functions refer to.

    Parameters
    ----------
    blocks : iterable of Block
        All that the trace went through.
    internal : frozenset of str
        Attributes that are not looked at.
    """

    def __init__(self, blocks: Iterable[Any], internal: frozenset[str]) -> None:
        self._internal = internal
        self._count = CHANGES.count
        self._rows = [[block, self._attributes(block), vars(block).get("_changes")] for block in blocks]
        references = References({type(block) for block, _, _ in self._rows})
        self._globals = [
            (space, name, space[name], _kept(space[name]))
            for space, name in references.globals
            if _is_compared(space[name])
        ]
        self._cells = [
            (cell, cell.cell_contents, _kept(cell.cell_contents))
            for cell in references.cells
            if _is_compared(cell.cell_contents)
        ]

    def _attributes(self, block: Any) -> dict[str, Any]:
        skipped = self._internal | block._not_compared
        found = {
            name: _kept(value) for name, value in vars(block).items() if name not in skipped and _is_compared(value)
        }
        found["children"] = tuple(id(child) for child in block._children.values())
        return found

    def arrays(self) -> list[Any]:
        """Return the arrays among the values."""
        found: list[Any] = []

        def collect(value: Any) -> None:
            if isinstance(value, _ARRAYS):
                found.append(value)
            elif type(value) in (list, tuple, dict):
                for one in value.values() if type(value) is dict else value:
                    collect(one)

        for _, attributes, _ in self._rows:
            collect(attributes)
        for *_, value in [*self._globals, *self._cells]:
            collect(value)
        return found

    def hold(self) -> bool:
        """Tell whether all values are what they were."""
        for space, name, there, value in self._globals:
            now = space.get(name)
            if (now is not there or now is not value) and not _same(now, value):
                return False
        for cell, there, value in self._cells:
            now = cell.cell_contents
            if (now is not there or now is not value) and not _same(now, value):
                return False
        if self._count == CHANGES.count:
            return True
        count = CHANGES.count
        for row in self._rows:
            block, attributes, change = row
            latest = block.__dict__.get("_changes")
            if latest != change:
                now = self._attributes(block)
                if now.keys() != attributes.keys() or not all(_same(now[name], attributes[name]) for name in now):
                    return False
                row[2] = latest
        self._count = count
        return True
