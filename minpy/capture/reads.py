"""What a traced function refers to (globals, closures, attributes, defaults): compared at each call, arrays fetched.

A trace holds as long as every number, string and function is what it was; arrays may have other values, and be others,
as long as shape and dtype stay.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy

from minpy.core.array import raw_of
from minpy.core.errors import MXNetError
from minpy.graph.ir import Node, Value, variable

__all__ = ["PLAIN", "Reads", "attribute", "item", "keys", "length", "missing"]

# Immutable values that are compared; what else is captured must stay the same object.
PLAIN = (type(None), type(Ellipsis), bool, int, float, complex, str, bytes, numpy.generic, numpy.dtype, range)

Fetch = Callable[[Any, Any], Any]

# Where a value was read, as functions of a container and a key: what a dict, list or tuple holds; an attribute, such as
# the contents of a closure's cell.
item: Fetch = operator.getitem
attribute: Fetch = getattr


def length(container: Any, _: Any) -> int:
    """Return how many values a container has."""
    return len(container)


def keys(container: Any, _: Any) -> tuple[Any, ...]:
    """Return the keys of a dict."""
    return tuple(container)


def missing(container: Any, key: Any) -> bool:
    """Tell whether a namespace has no such name, so that a built-in one is meant."""
    return key not in container


class Reads:
    """What the traces of one program refer to."""

    def __init__(self) -> None:
        self._expected: dict[str, dict[Any, tuple[Fetch, Any, Any, Any]]] = {"forward": {}, "backward": {}}
        self._arrays: dict[Any, tuple[Node, Fetch, Any, Any, _Kind]] = {}
        self._checked: list[tuple[Fetch, Any, Any, Any]] | None = None

    def __bool__(self) -> bool:
        return bool(any(self._expected.values()) or self._arrays)

    def copy(self) -> Reads:
        """Return captures that go on from these."""
        made = self.attempt()
        made.adopt(self)
        return made

    def attempt(self) -> Reads:
        """Return captures for a trace that may fail: what it read counts once it is adopted."""
        made = Reads()
        made._arrays.update(self._arrays)
        return made

    def adopt(self, made: Reads) -> None:
        """Take over what a trace that succeeded read."""
        self._checked = None
        for part, expected in made._expected.items():
            self._expected[part] = {**expected, **self._expected[part]}
        self._arrays.update(made._arrays)

    def note(self, part: str, fetch: Fetch, container: Any, key: Any, value: Any) -> None:
        """Note that a part of the program ('forward', 'backward') read a value, which must stay what it is."""
        self._checked = None
        self._expected[part].setdefault((fetch, id(container), key), (fetch, container, key, value))

    def array(self, fetch: Fetch, container: Any, key: Any, value: Any, part: str, name: str) -> Value:
        """Return the variable for a captured array; each part of a program reads it when it runs."""
        place = (fetch, id(container), key, part)
        if place not in self._arrays:
            node = variable(f"captured {name}").node
            self._arrays[place] = (node, fetch, container, key, _kind(value))
        return Value(self._arrays[place][0])

    @property
    def nodes(self) -> list[Node]:
        """The variables of the captured arrays."""
        return [row[0] for row in self._arrays.values()]

    def hold(self) -> bool:
        """Tell whether all that was read is as it was, and captured arrays are of the same kind."""
        if self._checked is None:
            self._checked = list({**self._expected["backward"], **self._expected["forward"]}.values())
        return self._holds(self._checked)

    def _holds(self, rows: Iterable[tuple[Fetch, Any, Any, Any]]) -> bool:
        try:
            for fetch, container, key, expected in rows:
                value = fetch(container, key)
                if value is not expected and not _same(value, expected):
                    return False
            return all(_kind(fetch(container, key)) == kind for _, fetch, container, key, kind in self._arrays.values())
        except (AttributeError, KeyError, IndexError, ValueError):  # it is gone; an empty cell is a ValueError
            return False

    def require(self) -> None:
        """Raise an error if what the backward part read is not as it was when the forward part ran.

        Raises
        ------
        MXNetError
        """
        if not self._holds(self._expected["backward"].values()):
            raise MXNetError(
                "backward: a value that a gradient rule refers to (a global name, a closure's, an attribute) has "
                "changed since forward. Call forward again before backward."
            )

    def arrays(self) -> list[numpy.ndarray]:
        """Return the captured arrays as they are now, in the order of `nodes`."""
        return [raw_of(fetch(container, key)) for _, fetch, container, key, _ in self._arrays.values()]


class _Kind(NamedTuple):
    """What a captured array must stay: its class, shape and dtype."""

    cls: type
    shape: tuple[int, ...]
    dtype: Any


def _kind(value: Any) -> _Kind:
    raw = raw_of(value)
    return _Kind(type(value), raw.shape, raw.dtype)


def _same(value: Any, expected: Any) -> bool:
    if type(value) is not type(expected):
        return False
    if isinstance(value, tuple):
        return len(value) == len(expected) and all(map(_same, value, expected))
    if isinstance(value, (float, complex, numpy.inexact)):  # -0.0 is no 0.0, and nan is nan
        return repr(value) == repr(expected)
    return isinstance(value, PLAIN) and bool(value == expected)
