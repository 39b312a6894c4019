"""Guards of a specialization: as source text for its entry, and in words where one fails."""

from __future__ import annotations

import builtins
import os
import types
from typing import Any

import numpy

from minpy.capture.allowed import OF_PYTHON as _OF_PYTHON
from minpy.capture.guard_sources import ABSENT, class_of, contents, member, module_member, own_constant, own_value
from minpy.capture.places import SourceLocation
from minpy.capture.reads import ArrayKind, ArrayRead, Read, attribute, item, keys, length, missing, same_value
from minpy.core.array import raw_of

__all__ = [
    "GONE",
    "Names",
    "array_failure",
    "array_source",
    "different",
    "expression",
    "failure",
    "guard_condition",
    "kind_difference",
    "shortened",
    "where",
]

# What reading a place raises where its value is gone; an empty cell raises a ValueError.
GONE = (AttributeError, IndexError, KeyError, ValueError)

_LONGEST_TEXT = 60


class Names:
    """The names of generated code, and what each of them means; one object has one name."""

    def __init__(self, **constants: Any) -> None:
        self.values: dict[str, Any] = dict(constants)
        self._names: dict[int, str] = {}

    def of(self, value: Any) -> str:
        """Return the name of an object."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"k{len(self._names)}"
            self.values[name] = value  # which keeps it, so that nothing else gets its id
        return name


def different(value: Any, expected: Any) -> bool:
    """Tell whether a value that is another object is no constant that means the same."""
    return not same_value(value, expected)


def expression(read: Read | ArrayRead, names: Names) -> str:
    """Return the source text that reads a value anew."""
    container, key = names.of(read.container), read.key
    if read.source is attribute and isinstance(key, str) and key.isidentifier() and not key.startswith("__debug"):
        return f"{container}.{key}"
    key_text = repr(key) if type(key) in (str, int) else names.of(key)
    if read.source is item:
        return f"{container}[{key_text}]"
    if read.source is length:
        return f"len({container})"
    if read.source is keys:
        return f"tuple({container})"
    if read.source is missing and hasattr(builtins, str(read.key)):
        return f"{key_text} not in {container}"
    if read.source is contents and isinstance(read, Read) and read.expected is not ABSENT:
        return f"{container}.cell_contents"
    is_own = read.source in (own_value, own_constant) and hasattr(read.container, "__dict__")
    if read.source is module_member or is_own:
        return f"{container}.__dict__.get({key_text}, {names.of(ABSENT)})"
    return f"{names.of(read.source)}({container}, {key_text})"


def guard_condition(read: Read, names: Names) -> str:
    """Return the condition under which a value is not what it was; reading it may raise one of `GONE`."""
    if read.source is class_of:
        return f"type({names.of(read.container)}) is not {names.of(read.expected)}"
    if read.source is member and type(read.container).__mro__[-2] is type and type(read.key) is str:
        return _member_source(read, names)
    text = expression(read, names)
    if read.source is length:
        return f"{text} != {read.expected}"
    if read.source is missing and hasattr(builtins, str(read.key)):
        return f"not ({text})" if read.expected else text
    return _is_another(text, read.expected, names)


def _is_another(text: str, value: Any, names: Names) -> str:
    """Return the condition under which an expression is another value."""
    expected = names.of(value)
    if value is None or type(value) in (bool, type) or not _is_constant(value):
        return f"{text} is not {expected}"
    return f"(v := {text}) is not {expected} and different(v, {expected})"


def _member_source(read: Read, names: Names) -> str:
    """Return the condition under which a class, with its bases, has another value under a name.

    Built-in classes cannot be changed; the order of the bases is one object until bases are set.
    """
    conditions = [f"{names.of(read.container)}.__mro__ is not {names.of(read.container.__mro__)}"]
    for base in read.container.__mro__:
        owns = read.key in base.__dict__
        if base.__flags__ & _OF_PYTHON:
            own = f"{names.of(base)}.__dict__"
            conditions.append(
                _is_another(f"{own}.get({read.key!r}, {names.of(ABSENT)})", read.expected, names)
                if owns
                else f"{read.key!r} in {own}"
            )
        if owns:
            break
    return " or ".join(conditions)


def _is_constant(value: Any) -> bool:
    """Tell whether another object may mean the same."""
    return same_value(value, value)


def array_source(read: ArrayRead, variable: str, names: Names) -> list[str]:
    """Return the lines that fetch an array into a variable, and the condition under which it is of another kind."""
    kind = read.kind
    buffer = f"{variable}" if issubclass(kind.cls, numpy.ndarray) else f"{variable}._data"
    condition = f"type({variable}) is not {names.of(kind.cls)} or {buffer}.shape != {kind.shape!r}"
    return [f"{variable} = {expression(read, names)}", f"{condition} or {buffer}.dtype is not {names.of(kind.dtype)}"]


def failure(read: Read) -> str | None:
    """Return in words how a value is another than it was; None if it is the same."""
    if hasattr(read.source, "explain"):
        return None if read.holds() else read.source.explain(read) + where(read.place)
    try:
        value = read.source(read.container, read.key)
    except GONE:
        value = ABSENT
    before = read.expected
    if value is before or same_value(value, before):
        return None
    return _difference(read, before, value) + where(read.place)


def _difference(read: Read, before: Any, value: Any) -> str:
    """Return in words what a value was, and is."""
    path = read.path
    if read.source is keys:
        path = path.removeprefix("the keys of ")
        if isinstance(read.container, (set, frozenset)):
            return f"`{path}` was {_text(set(before))}, is {_text(set(value))}"
        return f"the keys of `{path}` were {_listed(before)}, are {_listed(value)}"
    if read.source is length:
        return f"`{path if path.startswith('len(') else f'len({path})'}` was {before}, is {_text(value)}"
    if read.source is missing and hasattr(builtins, str(read.key)):
        return f"`{path}` was {'a builtin, is a global' if before else 'a global, is a builtin'}"
    if read.source is missing:
        return f"`{path}` was missing, is {_text(read.container[read.key])}" if before else f"`{path}` is missing"
    if read.source is class_of:
        path = path.removeprefix("type(").removesuffix(")")
        return f"the class of `{path}` was {before.__name__}, is {type(read.container).__name__}"
    if isinstance(read.container, types.FunctionType):
        if read.key == "__code__":
            return f"the code of `{path}` is another"
        if read.key in ("__defaults__", "__kwdefaults__"):
            return _default_difference(read.container, path, before, value)
    if before is ABSENT or value is ABSENT or _is_constant(before) or _is_constant(value):
        return f"`{path}` was {_text(before)}, is {_text(value, before)}"
    kind = "function" if isinstance(value, types.FunctionType) else type(value).__name__
    return f"`{path}` is another {kind}"


def _default_difference(function: Any, path: str, before: Any, value: Any) -> str:
    """Return in words which default of a function is another."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    was, now = (
        dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        if isinstance(defaults, tuple)
        else dict(defaults if isinstance(defaults, dict) else {})
        for defaults in (before, value)
    )
    for name in {**was, **now}:
        default_before, default = was.get(name, ABSENT), now.get(name, ABSENT)
        if default_before is not default and not same_value(default_before, default):
            return f"the default of {name} in `{path}` was {_text(default_before)}, is {_text(default, default_before)}"
    return f"the defaults of `{path}` are others"


def array_failure(read: ArrayRead) -> str | None:
    """Return in words how an array that a function refers to is of another kind than it was; None if it is not."""
    try:
        value = read.source(read.container, read.key)
    except GONE:
        return f"`{read.path}` was an array, is missing{where(read.place)}"
    difference = kind_difference(read.kind, value)
    return None if difference is None else f"`{read.path}`: {difference}{where(read.place)}"


def kind_difference(kind: ArrayKind, value: Any) -> str | None:
    """Return in words how a value is no array of a kind; None if it is one."""
    if type(value) is not kind.cls:
        return f"class was {kind.cls.__name__}, is {type(value).__name__}"
    buffer = raw_of(value)
    if len(kind.shape) != buffer.ndim:
        return f"rank was {len(kind.shape)}, is {buffer.ndim}"
    if kind.shape != buffer.shape:
        return f"shape was {kind.shape}, is {buffer.shape}"
    return None if buffer.dtype == kind.dtype else f"dtype was {kind.dtype}, is {buffer.dtype}"


def where(place: SourceLocation | None) -> str:
    """Return a line of a user's code as it stands behind a reason."""
    return "" if place is None else f" ({os.path.basename(place.file)}:{place.line})"


def _listed(values: Any) -> str:
    return ", ".join(map(_text, values)) or "none"


def _text(value: Any, before: Any = ABSENT) -> str:
    if value is ABSENT:
        return "missing"
    text = repr(value)
    if before is not ABSENT and type(before) is not type(value) and repr(before) == text:
        text = f"{text}, a {type(value).__name__}"
    return shortened(text)


def shortened(text: str) -> str:
    """Return a text, or the beginning of a long one."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
