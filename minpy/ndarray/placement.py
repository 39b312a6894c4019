"""Where and how arrays are stored: `place` makes one on a context. Only those elsewhere than on cpu(0) know theirs."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.context import CPU, Context
from minpy.core import aligned
from minpy.core.errors import ArgumentValueError

__all__ = ["place", "rebuild", "require_dense"]

_placed_classes: dict[type, type] = {}


def place(cls: type, data: numpy.ndarray, context: Context, node: Any = None) -> Any:
    """Return an array of class `cls` on a context. Arrays elsewhere than cpu(0) carry it in a hidden subclass."""
    array: Any
    plain = getattr(cls, "_plain_class", cls)
    if context is CPU or context == CPU:
        array = object.__new__(plain)
    else:
        if plain not in _placed_classes:
            _placed_classes[plain] = _make_placed_class(plain)
        array = object.__new__(_placed_classes[plain])
        array._context = context
    array._data = data
    array._node = node
    if data.nbytes >= aligned.LARGE:
        aligned.prepare()
    return array


def _make_placed_class(plain: Any) -> type:
    class Placed(plain):
        __slots__ = ("_context",)

        _plain_class = plain
        _precedence = plain._precedence

        @property
        def context(self) -> Context:
            return self._context

        def _like(self, data: numpy.ndarray, node: Any = None) -> Any:
            return place(plain, data, self._context, node)

        def __reduce__(self) -> Any:
            return rebuild, (plain, self._data, self._context)

    Placed.__name__ = plain.__name__
    Placed.__qualname__ = plain.__qualname__
    Placed.__module__ = plain.__module__
    return Placed


def rebuild(cls: type, data: numpy.ndarray, context: Context) -> Any:
    """Return what `place` does, from what a pickle holds."""
    return place(cls, data, context)


def require_dense(name: str, stype: Any) -> None:
    """Raise for a storage type that there is not."""
    if stype not in (None, "default"):
        raise ArgumentValueError(
            f"{name}: stype={stype!r} is not supported: there are no sparse arrays here. Leave stype out, for a dense "
            "array."
        )
