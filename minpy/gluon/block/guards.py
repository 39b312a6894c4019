"""What a trace of a block holds for: attributes of blocks, and the globals and closures that they refer to.

Numbers, strings and functions become part of a graph; arrays do so by reference, and what is computed of them by value.
Where one of them is another than before, or was changed, the block is traced again.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy

from minpy.core.array import Array, last_write, now, written_since
from minpy.gluon.changes import CHANGES
from minpy.graph.tracing.captures import PLAIN

__all__ = ["CHANGES", "Guards"]

_PLAIN: tuple[Any, ...] = (*PLAIN, type)
_BY_IDENTITY: tuple[Any, ...] = (
    Array,
    numpy.ndarray,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    functools.partial,
)
_DEEPEST, _LONGEST, _MOST_FUNCTIONS = 4, 64, 100
_LIBRARIES = frozenset([*sys.stdlib_module_names, "numpy", "scipy", "minpy"]) - {"__main__"}


class _Other:
    """Stands for a value that is not compared."""


class _Long:
    """Stands for a container that is too long to be compared element by element."""

    def __init__(self, value: Any) -> None:
        self.value, self.count = value, len(value)


_OTHER = _Other()


def _kept(value: Any, depth: int = 0) -> Any:
    """Return what a value is compared with later: itself, or a copy of a container."""
    if isinstance(value, (_PLAIN, _BY_IDENTITY)):
        return value
    if type(value) not in (tuple, list, dict) or depth > _DEEPEST:
        return _OTHER
    if len(value) > _LONGEST:
        return _Long(value)
    if type(value) is dict:
        return {key: _kept(one, depth + 1) for key, one in value.items()}
    return type(value)(_kept(one, depth + 1) for one in value)


def _same(value: Any, kept: Any) -> bool:
    """Tell whether a value is what it was when it was kept."""
    if value is kept:
        return True
    if kept is _OTHER:
        return not isinstance(value, (_PLAIN, _BY_IDENTITY))
    if type(kept) is _Long:
        return value is kept.value and len(value) == kept.count
    if type(value) is not type(kept):
        return False
    if type(kept) in (tuple, list):
        return len(value) == len(kept) and all(map(_same, value, kept))
    if type(kept) is dict:
        return list(value) == list(kept) and all(map(_same, value.values(), kept.values()))
    if isinstance(kept, (float, complex, numpy.inexact)):
        return repr(value) == repr(kept)
    return isinstance(kept, _PLAIN) and bool(value == kept)


def _arrays_in(value: Any, depth: int = 0) -> Iterator[Any]:
    if isinstance(value, Array):
        yield value
    elif type(value) in (tuple, list, dict) and depth <= _DEEPEST and len(value) <= _LONGEST:
        for one in value.values() if type(value) is dict else value:
            yield from _arrays_in(one, depth + 1)


class Guards:
    """What some blocks, and functions that they call, referred to before one of them was traced.

    Parameters
    ----------
    blocks : iterable of Block
        All that the trace goes through.
    internal : frozenset of str
        Attributes that are not looked at.
    """

    def __init__(self, blocks: Iterable[Any], internal: frozenset[str]) -> None:
        self._internal = internal
        self._count, self._time, self._meanings = CHANGES.count, now(), CHANGES.meanings
        # Lists and dicts, which can be changed without a block's knowing it.
        self._containers: list[tuple[Any, Any]] = []
        self._arrays: list[Any] = []
        self._rows = [[block, _latest(block), self._attributes(block)] for block in blocks]
        self._names: list[tuple[dict[str, Any], str, Any]] = []
        self._cells: list[tuple[types.CellType, Any]] = []
        seen: set[int] = set()
        for block, *_ in self._rows:
            self._note_values(block)
            called = [value for value in vars(block).values() if isinstance(value, types.FunctionType)]
            for function in (*_functions_of(type(block)), *called):
                self._note_function(function, seen)

    def _note_values(self, block: Any) -> None:
        for name, value in vars(block).items():
            if name not in self._internal and name not in block._not_compared:
                self._arrays += _arrays_in(value)
                if type(value) in (list, dict) and len(value) <= _LONGEST:
                    self._containers.append((value, _kept(value)))

    def _note_function(self, function: types.FunctionType, seen: set[int]) -> None:
        """Note the globals and closures of a function, and of functions that it calls by name."""
        space = function.__globals__
        if id(function) in seen or len(seen) > _MOST_FUNCTIONS:
            return
        if str(space.get("__name__", "")).partition(".")[0] in _LIBRARIES:
            return
        seen.add(id(function))
        called: list[Any] = []
        for name in _names_in(function.__code__):
            if name in space and not name.startswith("__"):
                kept = _kept(space[name])
                if kept is not _OTHER:
                    self._names.append((space, name, kept))
                    self._arrays += _arrays_in(space[name])
                    called.append(kept)
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # not set yet
                continue
            kept = _kept(value)
            if kept is not _OTHER:
                self._cells.append((cell, kept))
                self._arrays += _arrays_in(value)
                called.append(kept)
        for one in called:
            if isinstance(one, types.FunctionType):
                self._note_function(one, seen)

    def _attributes(self, block: Any) -> dict[str, Any]:
        skipped = self._internal | block._not_compared
        found = {name: _kept(value) for name, value in vars(block).items() if name not in skipped}
        found = {name: kept for name, kept in found.items() if kept is not _OTHER}
        found["children"] = tuple(id(child) for child in block._children.values())
        found["dtypes"] = tuple(_kept(parameter._dtype) for parameter in block._reg_params.values())
        return found

    def hold(self) -> bool:
        """Tell whether everything is what it was."""
        if self._meanings != CHANGES.meanings:
            return False
        for space, name, kept in self._names:
            if not _same(space.get(name), kept):
                return False
        for cell, kept in self._cells:
            if not _holds(cell, kept):
                return False
        for value, kept in self._containers:
            if not _same(value, kept):
                return False
        if self._arrays and last_write() > self._time:
            if any(written_since(array._data, self._time) for array in self._arrays):
                return False
            self._time = last_write()
        if self._count == CHANGES.count:
            return True
        count = CHANGES.count
        for row in self._rows:
            block, seen, attributes = row
            latest = _latest(block)
            if latest == seen:
                continue
            now_there = self._attributes(block)
            if now_there.keys() != attributes.keys() or not all(
                _same(now_there[name], attributes[name]) for name in now_there
            ):
                return False
            row[1] = latest
        self._count = count
        return True


def _holds(cell: types.CellType, kept: Any) -> bool:
    try:
        return _same(cell.cell_contents, kept)
    except ValueError:  # deleted since
        return False


def _latest(block: Any) -> tuple[Any, ...]:
    """Return the latest changes of a block and of its parameters."""
    parameters = [vars(parameter).get("_changes") for parameter in block._reg_params.values()]
    return (vars(block).get("_changes"), *parameters)


def _functions_of(cls: type) -> Iterator[types.FunctionType]:
    """Return the methods that users have written."""
    for one in cls.__mro__:
        if one.__module__.partition(".")[0] not in _LIBRARIES:
            for name, value in vars(one).items():
                if isinstance(value, types.FunctionType) and not name.startswith("__"):
                    yield value


def _names_in(code: types.CodeType) -> set[str]:
    """Return the names that a function, and those inside of it, look up."""
    found = set(code.co_names)
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            found |= _names_in(value)
    return found
