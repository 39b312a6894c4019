"""Where values are read: functions of a container and a key, which are asked again at each call of what was captured.

`reads` has those of containers and attributes as Python reads them; here are those that say what an object consists of:
its class, what that has, what the object itself has, and what is not there.
"""

from __future__ import annotations

import types
from typing import Any

import numpy

__all__ = [
    "ABSENT",
    "Absent",
    "class_of",
    "contents",
    "inherited",
    "is_instance",
    "is_subclass",
    "member",
    "module_member",
    "own_constant",
    "own_value",
    "slot_value",
]


class Absent:
    """What a read gives where there is nothing."""

    def __repr__(self) -> str:
        return "not there"

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


def class_of(owner: Any, _: Any) -> type:
    """Return the class of an object."""
    return type(owner)


def member(cls: Any, name: str) -> Any:
    """Return what a class, or the first of its bases, has under a name: a descriptor is not asked."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return ABSENT


def inherited(cls: Any, key: tuple[type, str]) -> Any:
    """Return what `super` finds of a class: under a name, in the bases after one of them."""
    start, name = key
    order = cls.__mro__
    for base in order[order.index(start) + 1 :]:
        if name in base.__dict__:
            return base.__dict__[name]
    return ABSENT


def own_value(owner: Any, name: str) -> Any:
    """Return what an object itself has under a name."""
    try:
        return object.__getattribute__(owner, "__dict__").get(name, ABSENT)
    except AttributeError:  # it has slots only
        return ABSENT


def own_constant(owner: Any, name: str) -> Any:
    """Return what an object itself has under a name, where the value is part of the graph even if it is a number."""
    return own_value(owner, name)


def slot_value(owner: Any, name: str) -> Any:
    """Return what is in a slot of an object."""
    try:
        return object.__getattribute__(owner, name)
    except AttributeError:
        return ABSENT


def module_member(module: Any, name: str) -> Any:
    """Return what a module has under a name."""
    return vars(module).get(name, ABSENT)


def contents(cell: types.CellType, _: Any) -> Any:
    """Return what is in the cell of a variable."""
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


def is_instance(value: Any, classes: Any) -> bool:
    """Tell whether an object is one of some classes: classes can be registered with others."""
    return isinstance(value, classes)


def is_subclass(cls: Any, classes: Any) -> bool:
    """Tell whether a class is one of some classes."""
    return issubclass(cls, classes)


# What is asked of a value again and again: these never change.
_EXACT_TYPES = frozenset(
    [type(None), type(Ellipsis), type(NotImplemented), bool, int, float, complex, str, bytes, range]
)


def is_constant(value: Any) -> bool:
    """Tell whether a value is one that never changes, so that it is compared by what it is.

    >>> is_constant(1.0), is_constant(numpy.float32(1)), is_constant([1.0])
    (True, True, False)
    """
    kind = type(value)
    if kind in _EXACT_TYPES:
        return True
    if isinstance(value, numpy.generic):
        return kind.__module__ == "numpy" and value.dtype.kind in "biufcSU"
    return isinstance(value, numpy.dtype) and value.fields is None
