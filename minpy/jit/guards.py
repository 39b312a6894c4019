"""What a specialization holds for, as source text of its entry, and in words where it does not hold any more."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.capture.allowed import OF_PYTHON as _OF_PYTHON
from minpy.capture.reads import ArrayRead, Read, attribute, item, keys, length, missing, same_value
from minpy.capture.sources import ABSENT, class_of, contents, member, module_member, own_value

__all__ = ["GONE", "Names", "array_failure", "array_source", "different", "expression", "failure", "source"]

# What reading a place raises where there is nothing any more; an empty cell is a ValueError.
GONE = (AttributeError, IndexError, KeyError, ValueError)

_LONGEST_TEXT = 60


class Names:
    """The names of generated code, and what each of them means; one object has one name."""

    def __init__(self, **known: Any) -> None:
        self.values: dict[str, Any] = dict(known)
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
    if read.fetch is attribute and isinstance(key, str) and key.isidentifier() and not key.startswith("__debug"):
        return f"{container}.{key}"
    key_text = repr(key) if type(key) in (str, int) else names.of(key)
    if read.fetch is item:
        return f"{container}[{key_text}]"
    if read.fetch is length:
        return f"len({container})"
    if read.fetch is keys:
        return f"tuple({container})"
    if read.fetch is missing:
        return f"{key_text} not in {container}"
    if read.fetch is contents and isinstance(read, Read) and read.expected is not ABSENT:
        return f"{container}.cell_contents"
    if read.fetch is module_member or (read.fetch is own_value and hasattr(read.container, "__dict__")):
        return f"{container}.__dict__.get({key_text}, {names.of(ABSENT)})"
    return f"{names.of(read.fetch)}({container}, {key_text})"


def source(read: Read, names: Names) -> str:
    """Return the condition under which a value is not what it was; reading it may raise one of `GONE`."""
    if read.fetch is class_of:
        return f"type({names.of(read.container)}) is not {names.of(read.expected)}"
    if read.fetch is member and type(read.container).__mro__[-2] is type and type(read.key) is str:
        return _member_source(read, names)
    text = expression(read, names)
    if read.fetch is length:
        return f"{text} != {read.expected}"
    if read.fetch is missing:
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
    raw = f"{variable}" if issubclass(kind.cls, numpy.ndarray) else f"{variable}._data"
    condition = f"type({variable}) is not {names.of(kind.cls)} or {raw}.shape != {kind.shape!r}"
    return [f"{variable} = {expression(read, names)}", f"{condition} or {raw}.dtype is not {names.of(kind.dtype)}"]


def failure(read: Read) -> str | None:
    """Return in words how a value is another than it was; None if it is the same."""
    where = f" ({read.place})" if read.place is not None else ""
    if hasattr(read.fetch, "explain"):
        return None if read.holds() else f"{read.fetch.explain(read)}{where}"
    try:
        value = read.fetch(read.container, read.key)
    except GONE:
        return f"`{read.path}` was {_text(read.expected)}, and is gone{where}"
    if value is read.expected or same_value(value, read.expected):
        return None
    if read.fetch is length:
        return f"`{read.path}` had {read.expected} values, has {value}{where}"
    if read.fetch is keys:
        return f"the keys of `{read.path}` were {_text(read.expected)}, are {_text(value)}{where}"
    if read.fetch is missing:
        return f"`{read.path}` {'was not defined, and is' if read.expected else 'was defined, and is not'}{where}"
    if read.key == "__code__":
        return f"`{read.path}` is a function with other code than before{where}"
    if read.key == "__defaults__":
        return f"`{read.path}` has other defaults than before{where}"
    if type(value) is not type(read.expected):
        return (
            f"`{read.path}` was {_text(read.expected)}, of type {type(read.expected).__name__}, "
            f"is {_text(value)}, of type {type(value).__name__}{where}"
        )
    if not _is_constant(read.expected):
        return f"`{read.path}` is another {type(value).__name__} than before{where}"
    return f"`{read.path}` was {_text(read.expected)}, is {_text(value)}{where}"


def array_failure(read: ArrayRead) -> str | None:
    """Return in words how an array that a function refers to is of another kind than it was; None if it is not."""
    where = f" ({read.place})" if read.place is not None else ""
    try:
        value = read.fetch(read.container, read.key)
    except GONE:
        return f"`{read.path}` was an array, and is gone{where}"
    cls, shape, dtype = read.kind
    if type(value) is not cls:
        return f"`{read.path}` was of type {cls.__name__}, is of type {type(value).__name__}{where}"
    if value.shape != shape:
        return f"`{read.path}`: shape was {shape}, is {value.shape}{where}"
    raw = value if issubclass(cls, numpy.ndarray) else value._data
    return None if raw.dtype == dtype else f"`{read.path}`: dtype was {dtype}, is {raw.dtype}{where}"


def _text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
