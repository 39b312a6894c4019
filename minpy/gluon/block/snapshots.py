"""What a value was: snapshots that later values are compared with, and in words how one is another.

A container is compared by what is in it. Writes into arrays of NumPy are noted nowhere: these are compared with copies.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator
from operator import is_
from typing import Any

import numpy

from minpy.capture.guard_sources import ABSENT
from minpy.capture.reads import CONSTANT_TYPES, same_value
from minpy.core.array import Array

__all__ = ["DEEPEST", "LONGEST", "ArrayContents", "arrays_in", "difference", "is_same", "parts_of", "snapshot"]

# Containers of other things than constants are compared up to this depth and length.
DEEPEST, LONGEST = 4, 64
_MOST_ARRAYS = 1024
_FEW_BYTES = 1 << 16
_CONSTANT: tuple[Any, ...] = (*CONSTANT_TYPES, slice)
_CONTAINERS = (tuple, list, dict, set, frozenset)


class _Container:
    """What was in a container: snapshots of the values, and the keys of a dict."""

    def __init__(self, value: Any, depth: int) -> None:
        self.kind = type(value)
        self.keys = list(value) if isinstance(value, dict) else None
        self.parts: Any = frozenset(value) if isinstance(value, (set, frozenset)) else None
        if self.parts is None:
            self.parts = [snapshot(part, depth + 1) for part in parts_of(value)]

    def is_same(self, value: Any) -> bool:
        """Tell whether a value has the class and the parts that the container had."""
        parts = self.parts
        if type(value) is not self.kind or len(value) != len(parts):
            return False
        if isinstance(parts, frozenset):
            return bool(parts == value)
        if self.keys is not None and list(value) != self.keys:
            return False
        values = parts_of(value)
        return all(map(is_, values, parts)) or all(map(is_same, values, parts))

    def difference(self, path: str, value: Any) -> str:
        """Return in words how a container of the same class is another than it was."""
        if isinstance(self.parts, frozenset):
            return f"`{path}` was {reprlib.repr(self.parts)}, is {reprlib.repr(value)}"
        if len(value) != len(self.parts):
            return f"`len({path})` was {len(self.parts)}, is {len(value)}"
        if self.keys is not None and list(value) != self.keys:
            return f"the keys of `{path}` were {reprlib.repr(self.keys)}, are {reprlib.repr(list(value))}"
        keys: Iterable[Any] = range(len(self.parts)) if self.keys is None else self.keys
        return next(
            difference(f"{path}[{key!r}]", part, was)
            for key, part, was in zip(keys, parts_of(value), self.parts, strict=True)
            if not is_same(part, was)
        )


class _LongContainer:
    """Stands for a container that is too long to be compared part by part: it stays the same, and as long."""

    def __init__(self, value: Any) -> None:
        self.kind, self.value, self.count = type(value), value, len(value)

    def is_same(self, value: Any) -> bool:
        """Tell whether a value is the container, and as long as it was."""
        return value is self.value and len(value) == self.count

    def difference(self, path: str, value: Any) -> str:
        """Return in words how a container of the same class is another than it was."""
        if len(value) == self.count:
            return f"`{path}` is another {self.kind.__name__}"
        return f"`len({path})` was {self.count}, is {len(value)}"


def snapshot(value: Any, depth: int = 0) -> Any:
    """Return what later values are compared with: what is in a container, and anything else itself.

    >>> factors = [1.0, 2.0]
    >>> was = snapshot(factors)
    >>> factors[1] = 3.0
    >>> is_same(factors, was), difference('factors', factors, was)
    (False, '`factors[1]` was 2.0, is 3.0')
    """
    if not isinstance(value, _CONTAINERS) or depth > DEEPEST:
        return value
    if len(value) <= LONGEST:
        return _Container(value, depth)
    is_flat = isinstance(value, (tuple, list, dict)) and all(isinstance(part, _CONSTANT) for part in parts_of(value))
    return _Container(value, depth) if is_flat else _LongContainer(value)


def is_same(value: Any, was: Any) -> bool:
    """Tell whether a value is what it was when its snapshot was taken."""
    if value is was:
        return True
    if isinstance(was, (_Container, _LongContainer)):
        return was.is_same(value)
    if type(value) is slice and type(was) is slice:
        return same_value((value.start, value.stop, value.step), (was.start, was.stop, was.step))
    return same_value(value, was)


def difference(path: str, value: Any, was: Any) -> str:
    """Return in words how a value that users call `path` is another than when its snapshot was taken."""
    if isinstance(was, (_Container, _LongContainer)):
        if type(value) is was.kind:
            return was.difference(path, value)
        return f"the class of `{path}` was {was.kind.__name__}, is {type(value).__name__}"
    if any(value_or_before is ABSENT or isinstance(value_or_before, _CONSTANT) for value_or_before in (value, was)):
        return f"`{path}` was {reprlib.repr(was)}, is {reprlib.repr(value)}"
    return f"`{path}` is another {type(value).__name__}"


def parts_of(container: Any) -> Iterable[Any]:
    """Return what is in a container: of a dict the values."""
    return container.values() if isinstance(container, dict) else container


def arrays_in(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield the arrays, ours and NumPy's, in nested tuples, lists and dicts."""
    if isinstance(value, (Array, numpy.ndarray)):
        yield value
    elif isinstance(value, (tuple, list, dict)) and depth <= DEEPEST and len(value) <= _MOST_ARRAYS:
        for part in parts_of(value):
            yield from arrays_in(part, depth + 1)


class ArrayContents:
    """An array of NumPy, and what was in it."""

    def __init__(self, array: numpy.ndarray) -> None:
        self.array = array
        self._copy = array.copy()
        self._has_bytes = array.dtype.kind in "biufcSU"
        is_small = self._has_bytes and array.flags.c_contiguous and array.nbytes <= _FEW_BYTES
        self._bytes = array.tobytes() if is_small else None

    def is_same(self) -> bool:
        """Tell whether the array is what it was, bit by bit."""
        array, copy = self.array, self._copy
        if array.shape != copy.shape or array.dtype != copy.dtype:
            return False
        if self._bytes is not None:
            return array.tobytes() == self._bytes
        if not self._has_bytes:
            return bool((array == copy).all())
        if array.flags.c_contiguous and copy.flags.c_contiguous:
            return bool((array.reshape(-1).view(numpy.uint8) == copy.reshape(-1).view(numpy.uint8)).all())
        return array.tobytes() == copy.tobytes()
