"""What a captured function refers to (globals, closures, attributes, defaults): compared at each call, arrays fetched.

A capture is valid as long as every number, string and function is what it was; arrays may have other values, and be
others, as long as shape and dtype stay.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy

from minpy.capture.places import SourceLocation
from minpy.core.array import raw_of
from minpy.core.errors import MXNetError
from minpy.graph.ir import Node, Value, variable

__all__ = [
    "CONSTANT_TYPES",
    "ArrayKind",
    "ArrayRead",
    "Read",
    "Reads",
    "attribute",
    "item",
    "keys",
    "length",
    "missing",
    "same_value",
]

# Immutable values that are compared; what else is captured must stay the same object.
CONSTANT_TYPES = (type(None), type(Ellipsis), bool, int, float, complex, str, bytes, numpy.generic, numpy.dtype, range)

Source = Callable[[Any, Any], Any]

# Where a value was read, as functions of a container and a key: what a dict, list or tuple holds; an attribute, such as
# the contents of a closure's cell.
item: Source = operator.getitem
attribute: Source = getattr


def length(container: Any, _: Any) -> int:
    """Return how many values a container has."""
    return len(container)


def keys(container: Any, _: Any) -> tuple[Any, ...]:
    """Return the keys of a dict."""
    return tuple(container)


def missing(container: Any, key: Any) -> bool:
    """Tell whether a namespace has no such name, so that a built-in one is meant."""
    return key not in container


class Read(NamedTuple):
    """A value that a function read, which must stay what it is."""

    source: Source  # gives the value of a container and a key: `item`, `attribute`, `length`, `keys`, `missing`
    container: Any
    key: Any
    expected: Any  # what it was
    path: str = ""  # what the user's code calls it: `cfg.lr`
    place: SourceLocation | None = None  # the line that read it, where that is known

    def holds(self) -> bool:
        """Tell whether it is what it was."""
        try:
            value = self.source(self.container, self.key)
        except (AttributeError, KeyError, IndexError, ValueError):  # it is gone; an empty cell is a ValueError
            return False
        return value is self.expected or same_value(value, self.expected)


class ArrayKind(NamedTuple):
    """What a captured array must stay: its class, shape and dtype."""

    cls: type
    shape: tuple[int, ...]
    dtype: Any


class ArrayRead(NamedTuple):
    """An array that a function read: an input of its graph, fetched at each call."""

    node: Node
    source: Source
    container: Any
    key: Any
    kind: ArrayKind
    path: str = ""
    place: SourceLocation | None = None


class Reads:
    """What the captures of one program refer to."""

    def __init__(self) -> None:
        self._expected: dict[str, dict[Any, Read]] = {"forward": {}, "backward": {}}
        self._arrays: dict[Any, ArrayRead] = {}
        self._checked: list[Read] | None = None

    def __bool__(self) -> bool:
        return bool(any(self._expected.values()) or self._arrays)

    def copy(self) -> Reads:
        """Return reads that go on from these."""
        reads = self.attempt()
        reads.adopt(self)
        return reads

    def attempt(self) -> Reads:
        """Return reads for a capture that may fail: what it read counts once it is adopted."""
        reads = Reads()
        reads._arrays.update(self._arrays)
        return reads

    def adopt(self, reads: Reads) -> None:
        """Take over what a capture that succeeded read."""
        self._checked = None
        for part, expected in reads._expected.items():
            self._expected[part] = {**expected, **self._expected[part]}
        self._arrays.update(reads._arrays)

    def note(
        self,
        part: str,
        source: Source,
        container: Any,
        key: Any,
        value: Any,
        path: str = "",
        place: SourceLocation | None = None,
    ) -> None:
        """Note that a part of the program ('forward', 'backward') read a value, which must stay what it is."""
        self._checked = None
        self._expected[part].setdefault(
            (source, id(container), key), Read(source, container, key, value, path or str(key), place)
        )

    def array(
        self,
        source: Source,
        container: Any,
        key: Any,
        value: Any,
        part: str,
        name: str,
        place: SourceLocation | None = None,
    ) -> Value:
        """Return the variable for a captured array; each part of a program reads it when it runs."""
        where = (source, id(container), key, part)
        if where not in self._arrays:
            node = variable(f"captured {name}").node
            self._arrays[where] = ArrayRead(node, source, container, key, kind_of(value), name, place)
        return Value(self._arrays[where].node)

    def forget_arrays(self) -> None:
        """Keep what must stay what it is only."""
        self._arrays.clear()

    @property
    def nodes(self) -> list[Node]:
        """The variables of the captured arrays."""
        return [row.node for row in self._arrays.values()]

    @property
    def rows(self) -> list[Read]:
        """All that was read and must stay what it is."""
        return list({**self._expected["backward"], **self._expected["forward"]}.values())

    @property
    def array_rows(self) -> list[ArrayRead]:
        """The arrays that were read."""
        return list(self._arrays.values())

    def hold(self) -> bool:
        """Tell whether all that was read is as it was, and captured arrays are of the same kind."""
        if self._checked is None:
            self._checked = self.rows
        return self._holds(self._checked)

    def _holds(self, rows: Iterable[Read]) -> bool:
        try:
            for source, container, key, expected, *_ in rows:
                value = source(container, key)
                if value is not expected and not same_value(value, expected):
                    return False
            return all(kind_of(row.source(row.container, row.key)) == row.kind for row in self._arrays.values())
        except (AttributeError, KeyError, IndexError, ValueError):  # it is gone; an empty cell is a ValueError
            return False

    def require(self) -> None:
        """Raise an `MXNetError` if what the backward part read is not as it was when the forward part ran."""
        if not self._holds(self._expected["backward"].values()):
            raise MXNetError(
                "backward: a value that a gradient rule refers to (a global name, a closure's, an attribute) has "
                "changed since forward. Call forward again before backward."
            )

    def arrays(self) -> list[numpy.ndarray]:
        """Return the captured arrays as they are now, in the order of `nodes`."""
        return [raw_of(row.source(row.container, row.key)) for row in self._arrays.values()]


def kind_of(value: Any) -> ArrayKind:
    """Return the class, shape and dtype of an array."""
    buffer = raw_of(value)
    return ArrayKind(type(value), buffer.shape, buffer.dtype)


def same_value(value: Any, expected: Any) -> bool:
    """Tell whether two values that are not one object are constants that mean the same, of the same type.

    >>> same_value(float("nan"), float("nan")), same_value(0.0, -0.0), same_value(1, True)
    (True, False, False)
    """
    if type(value) is not type(expected):
        return False
    if isinstance(value, tuple):
        return len(value) == len(expected) and all(
            part is expected_part or same_value(part, expected_part)
            for part, expected_part in zip(value, expected, strict=True)
        )
    if isinstance(value, (float, complex, numpy.inexact)):  # -0.0 is no 0.0, and nan is nan
        return repr(value) == repr(expected)
    return isinstance(value, CONSTANT_TYPES) and bool(value == expected)
