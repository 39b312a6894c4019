"""Arguments of the iterators over files: given by name, as values or as MXNet's strings, checked against a table."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, ArgumentValueError, describe, nearest
from minpy.core.source_lines import warn_at_program

__all__ = ["ITERATOR", "REQUIRED", "arguments", "parsed"]

# What the iterators over files return and raise.
ITERATOR = """
    Returns
    -------
    MXDataIter

    Raises
    ------
    ArgumentError
        For arguments that there are not, or that lack, or are of another kind; a batch size larger than the data.
    FileMissingError, FileAccessError
        If a file is not there, or cannot be read.
    """

# In the place of a default: the argument must be given.
REQUIRED = object()
Table = Mapping[str, tuple[str, Any]]


def _boolean(value: Any) -> bool:
    if not isinstance(value, str):
        return bool(value)
    return ("false", "0", "true", "1").index(value.strip().lower()) >= 2


def _integer(value: Any) -> int:
    number = int(value.strip(), 0) if isinstance(value, str) else int(value)
    if not isinstance(value, str) and number != value:
        raise ValueError
    return number


def _count(value: Any) -> int:
    number = _integer(value)
    if number < 0:
        raise ValueError
    return number


def _optional(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None or value == "None" else convert(value)


def _text(value: Any) -> str:
    return "" if value is None else os.fspath(value)


def _tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        value = ast.literal_eval(value)
    return tuple(value) if isinstance(value, (tuple, list)) or hasattr(value, "__len__") else (value,)


def _shape(value: Any) -> tuple[int, ...]:
    shape = tuple(_integer(length) for length in _tuple(value))
    if any(length <= 0 for length in shape):
        raise ValueError
    return shape


def _floats(value: Any) -> tuple[float, ...]:
    return tuple(float(number) for number in _tuple(value))


_KINDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "bool": (_boolean, "True or False"),
    "int": (_integer, "an integer"),
    "count": (_count, "an integer that is not negative"),
    "int?": (_optional(_integer), "an integer or None"),
    "float": (float, "a number"),
    "float?": (_optional(float), "a number or None"),
    "str": (_text, "a string"),
    "shape": (_shape, "a tuple of positive integers"),
    "floats": (_floats, "a tuple of numbers"),
    "dtype": (_optional(lambda value: numpy.dtype(value).name), "a dtype or None"),
    "any": (lambda value: value, "anything"),
}


def arguments(kind: str, **defaults: Any) -> dict[str, tuple[str, Any]]:
    """Return rows of a table: arguments of one kind (a key of `_KINDS`), with their defaults."""
    return {name: (kind, default) for name, default in defaults.items()}


# Of which it has been said that they are ignored.
_IGNORED: set[tuple[str, str]] = set()


def parsed(function: str, table: Table, positional: tuple[Any, ...], named: Mapping[str, Any]) -> SimpleNamespace:
    """Return the arguments of a call, with the defaults of the table. Of others there is one warning each."""
    if positional:
        raise ArgumentError(
            f"{function}: got {describe(positional[0])} without a name; its arguments are given by name: "
            f"{function}({next(iter(table))}=...)."
        )
    for name in named:
        if name not in table and (function, name) not in _IGNORED:
            _IGNORED.add((function, name))
            warn_at_program(
                f"{function} ignores {name}=...: it has no such argument, as in MXNet.{nearest(name, table)} "
                "Leave it out."
            )
    values = {name: default for name, (_, default) in table.items()}
    for name in [name for name in table if name in named]:
        convert, expected = _KINDS[table[name][0]]
        try:
            values[name] = convert(named[name])
        except (TypeError, ValueError, SyntaxError) as error:
            raise ArgumentValueError(f"{function}: {name} is {describe(named[name])}; expected {expected}.") from error
    for name, value in values.items():
        if value is REQUIRED:
            raise ArgumentError(f"{function}: the argument {name!r} is required.")
    return SimpleNamespace(**values)
