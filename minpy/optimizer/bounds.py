"""Limits on reading a pickle of optimizer states: work and memory in proportion to its bytes, and a bounded depth.

A pickle may refer to one value many times. Tuples that each hold the previous one twice take a few bytes a level, but
hashing, printing or walking them costs twice as much with every level. So what is passed to a call, becomes a key or
is returned is first counted as the tree that it unfolds to.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.errors import FileFormatError

__all__ = ["Budget", "require_harmless_call"]

_MAX_DEPTH = 100
_FREE, _PER_BYTE = 1 << 17, 8
_SEQUENCES = (tuple, list, set, frozenset, collections.deque)
_SIZED = (str, bytes, bytearray, range)
_BYTES_TYPES = (bytes, bytearray, numpy.bytes_)
_ENCODINGS = ("latin-1", "latin1", "utf-8", "utf8", "ascii", "strict", "surrogatepass")
_ADVICE = "Updater.get_states and Trainer.save_states write none like that: the file is damaged, or means harm."


class Budget:
    """How many values may still be read from a pickle."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._left = _FREE + _PER_BYTE * size

    def spend(self, values: Iterable[Any]) -> list[Any]:
        """Count the values, and what containers hold at each occurrence; return those that are no containers."""
        left, leaves = self._left, []
        path = [iter(values)]
        while path:
            for value in path[-1]:
                inner = _contents(value)
                left -= 1 if inner is not None else 1 + _length(value)
                if left < 0:
                    most = _FREE + _PER_BYTE * self._size
                    raise FileFormatError(
                        f"optimizer states: {self._size} bytes that would unfold to more than {most} values, named "
                        f"again and again inside of each other. {_ADVICE}"
                    )
                if inner is not None:
                    if len(path) > _MAX_DEPTH:
                        raise FileFormatError(
                            f"optimizer states: {self._size} bytes with containers that are nested more than "
                            f"{_MAX_DEPTH} deep, or hold themselves. {_ADVICE}"
                        )
                    path.append(inner)
                    break
                leaves.append(value)
            else:
                path.pop()
        self._left = left
        return leaves

    def spend_whole(self, value: Any) -> None:
        """Count a value with what its instances hold, each instance once."""
        waiting = [[value]]
        seen = set()
        while waiting:
            for leaf in self.spend(waiting.pop()):
                attributes = None if isinstance(leaf, type) else getattr(leaf, "__dict__", None)
                if isinstance(attributes, dict) and id(leaf) not in seen:
                    seen.add(id(leaf))
                    waiting.append([*attributes.values()])


def _contents(value: Any) -> Iterator[Any] | None:
    """Return what a container holds; None for what is none."""
    if isinstance(value, dict):
        return chain(dict.keys(value), dict.values(value))
    if isinstance(value, _SEQUENCES):
        return iter(value)
    if isinstance(value, slice):
        return iter((value.start, value.stop, value.step))
    return None


def _length(value: Any) -> int:
    """Return how many elements a copy of a value has."""
    if isinstance(value, _SIZED):
        return len(value)
    if isinstance(value, numpy.dtype):
        return value.itemsize
    buffer = value._data if isinstance(value, Array) and hasattr(value, "_data") else value
    return buffer.size if isinstance(buffer, (numpy.ndarray, numpy.generic)) else 0


def require_harmless_call(function: Any, arguments: Iterable[Any]) -> None:
    """Raise for calls that cost more than their arguments suggest: bytes of a length, text by a slow encoding."""
    values = [*arguments]
    named = [function, *values]
    if any(value is kind for value in named for kind in _BYTES_TYPES):
        for argument in values:
            if hasattr(type(argument), "__index__") and not isinstance(argument, bool):
                raise ValueError("it makes bytes of a number")
    if any(value is kind for value in named for kind in (str, *_BYTES_TYPES)):
        for argument in values[1:]:
            if isinstance(argument, str) and argument not in _ENCODINGS:
                raise ValueError(f"it decodes text by {argument[:40]!r}")
