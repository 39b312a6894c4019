"""Arguments of the iterators over files: given by name, as values or as MXNet's strings, checked against a table."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, describe, nearest
from minpy.core.source_lines import warn_at_program

__all__ = ["REQUIRED", "parsed"]

# In the place of a default: the argument must be given.
REQUIRED = object()
Table = Mapping[str, tuple[str, Any]]


def _boolean(value: Any) -> bool:
    if isinstance(value, str):
        found = {"true": True, "1": True, "false": False, "0": False}.get(value.strip().lower())
        if found is None:
            raise ValueError
        return found
    return bool(value)


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


def _optional_float(value: Any) -> float | None:
    return None if value is None or value == "None" else float(value)


def _optional_integer(value: Any) -> int | None:
    return None if value is None or value == "None" else _integer(value)


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


def _dtype(value: Any) -> str | None:
    import numpy

    return None if value is None or value == "None" else numpy.dtype(value).name


_KINDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "bool": (_boolean, "True or False"),
    "int": (_integer, "an integer"),
    "count": (_count, "an integer that is not negative"),
    "int?": (_optional_integer, "an integer or None"),
    "float": (float, "a number"),
    "float?": (_optional_float, "a number or None"),
    "str": (_text, "a string"),
    "shape": (_shape, "a tuple of positive integers"),
    "floats": (_floats, "a tuple of numbers"),
    "dtype": (_dtype, "a dtype or None"),
    "any": (lambda value: value, "anything"),
}


# Of which it has been said that they are ignored.
_IGNORED: set[tuple[str, str]] = set()


def parsed(function: str, table: Table, positional: tuple[Any, ...], given: Mapping[str, Any]) -> SimpleNamespace:
    """Return the arguments of a call, with the defaults of the table. Of others there is one warning each."""
    if positional:
        raise ArgumentError(
            f"{function}: got {describe(positional[0])} without a name; its arguments are given by name: "
            f"{function}({next(iter(table))}=...)."
        )
    for name in given:
        if name not in table and (function, name) not in _IGNORED:
            _IGNORED.add((function, name))
            warn_at_program(
                f"{function} ignores {name}=...: it has no such argument, as in MXNet.{nearest(name, table)} "
                "Leave it out."
            )
    found = {}
    for name, (kind, default) in table.items():
        value = given.get(name, default)
        if value is REQUIRED:
            raise ArgumentError(f"{function}: the argument {name!r} is required.")
        convert, expected = _KINDS[kind]
        if name not in given:
            found[name] = value
            continue
        try:
            found[name] = convert(value)
        except (TypeError, ValueError, SyntaxError) as error:
            raise ArgumentValueError(f"{function}: {name} is {describe(value)}; expected {expected}.") from error
    return SimpleNamespace(**found)
