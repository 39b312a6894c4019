"""What blocks and functions refer to, as values that are read again and compared: globals, cells, members, arrays."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy

from minpy.capture.guard_sources import ABSENT
from minpy.core.array import Array, now
from minpy.core.buffers import last_write, written_since
from minpy.gluon.block.snapshots import ArrayContents, arrays_in, difference, is_same, snapshot
from minpy.gluon.block.traced_draws import GENERATORS

__all__ = ["Reference", "References"]

# Of these nothing can be compared: what is in them, or comes next, is found by asking.
_UNSEEN_MODULES = ("collections", "_collections", "array", "itertools", "contextvars", "weakref", "ctypes", "_ctypes")
_UNSEEN: tuple[Any, ...] = (
    bytearray,
    memoryview,
    types.MappingProxyType,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)
_CONSTANT_TYPES = frozenset([type(None), bool, int, float, complex, str, bytes])
_NO_VALUE = object()
# Attributes of functions that may be set.
_FUNCTION_PARTS = ("__code__", "__defaults__", "__kwdefaults__")


class Reference(NamedTuple):
    """A value that something refers to, as users call it (`path`), with a snapshot of what it was."""

    read: Callable[[], Any]  # returns it as it is now; a `functools.partial` of a built-in function costs least
    constant: Any  # the value, if what is in it cannot change; else something that is no value
    was: Any
    path: str


class References:
    """What some blocks, and functions that they call, refer to."""

    def __init__(self) -> None:
        self.frozen: dict[str, str] = {}  # by name, the classes of values of which no changes are noticed
        self.generators: dict[int, Any] = {}  # of random numbers, by id
        self._time = now()
        self._values: list[Reference] = []
        # Functions without defaults, each with its code.
        self._functions: list[tuple[types.FunctionType, types.CodeType]] = []
        # Lists and dicts, which can be changed without a block's knowing it: each, a snapshot, and its path.
        self._containers: list[tuple[Any, Any, str]] = []
        # Each with its buffer, which is not handed over to another array meanwhile, as it is seen here.
        self._arrays: list[tuple[Any, numpy.ndarray, str]] = []
        self._contents: dict[int, tuple[ArrayContents, str]] = {}

    def __bool__(self) -> bool:
        return bool(self._values or self._functions or self._containers or self._contents or self._arrays)

    def add(self, read: Callable[[], Any], path: str) -> Any:
        """Note a value that can be read again, and the arrays in it; return it."""
        value = read()
        was = snapshot(value)
        is_constant = was is value or (type(value) is tuple and all(type(part) in _CONSTANT_TYPES for part in value))
        self._values.append(Reference(read, value if is_constant else _NO_VALUE, was, path))
        self.add_arrays(value, path)
        return value

    def add_function(self, function: types.FunctionType) -> None:
        """Note the code and the defaults of a function, which may be set."""
        if function.__defaults__ is None and function.__kwdefaults__ is None:  # most; this costs least
            self._functions.append((function, function.__code__))
            return
        for part in _FUNCTION_PARTS:
            self.add(partial(getattr, function, part), f"{function.__qualname__}.{part}")

    def add_container(self, container: Any, path: str) -> None:
        """Note what is in a container that stays where it is."""
        self._containers.append((container, snapshot(container), path))

    def add_arrays(self, value: Any, path: str) -> None:
        """Note what is in the arrays in a value."""
        for array in arrays_in(value):
            if isinstance(array, Array):
                self._arrays.append((array, array._data, path))
            elif id(array) not in self._contents:
                self._contents[id(array)] = ArrayContents(array), path

    def add_generator(self, value: Any) -> bool:
        """Note a generator of random numbers; tell whether the value is one."""
        is_generator = isinstance(value, GENERATORS)
        if is_generator:
            self.generators[id(value)] = value
        return is_generator

    def add_unseen(self, name: str, value: Any) -> None:
        """Note a value that is named, if no changes of it can be noticed."""
        cls = type(value)
        is_unseen = isinstance(value, _UNSEEN) or (
            cls.__module__ in _UNSEEN_MODULES and not isinstance(value, (dict, tuple, type))
        )
        if is_unseen or (isinstance(value, Iterator) and not isinstance(value, Array)):
            is_builtin = cls.__module__ == "builtins"
            self.frozen[name] = cls.__qualname__ if is_builtin else f"{cls.__module__}.{cls.__name__}"

    def failure(self) -> str | None:
        """Return in words which value is another than it was; None if all are the same."""
        for function, code in self._functions:
            if function.__code__ is code and function.__defaults__ is None and function.__kwdefaults__ is None:
                continue
            for part, was in zip(_FUNCTION_PARTS, (code, None, None), strict=True):
                if getattr(function, part) is not was:
                    return difference(f"{function.__qualname__}.{part}", getattr(function, part), was)
        try:
            for read, constant, was, path in self._values:
                value = read()
                if value is not constant and not is_same(value, was):
                    return difference(path, value, was)
        except ValueError:  # a cell is empty now
            return difference(path, ABSENT, was)
        for container, was, path in self._containers:
            if not is_same(container, was):
                return difference(path, container, was)
        for contents, path in self._contents.values():
            if not contents.is_same():
                return _written(path)
        return self._array_failure() if self._arrays else None

    def _array_failure(self) -> str | None:
        for array, data, path in self._arrays:
            if array._data is not data:
                return _written(path)
        latest = last_write()
        if latest > self._time:
            for _, data, path in self._arrays:
                if written_since(data, self._time):
                    return _written(path)
            self._time = latest
        return None


def _written(path: str) -> str:
    return f"an array, `{path}` or one in it, was written to"
