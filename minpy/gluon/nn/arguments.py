"""What layers are given, checked when they are made: a mistake is named where it is, not at the first call."""

from __future__ import annotations

import numbers
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, describe

__all__ = ["count", "fraction", "integer"]


def integer(layer: str, name: str, value: Any) -> int:
    """Return an integer.

    Raises
    ------
    ArgumentError
        For anything else.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ArgumentError(f"{layer}: {name} is {describe(value)}; expected an integer.")
    return int(value)


def count(layer: str, name: str, value: Any, least: int = 1) -> int:
    """Return how many there are of something.

    Raises
    ------
    ArgumentError
        For what is no integer, or is below `least`.
    """
    number = integer(layer, name, value)
    if number < least:
        unknown = " (0: it follows from the first call)" if least == 0 else ""
        raise ArgumentValueError(f"{layer}: {name} is {number}; expected an integer of at least {least}{unknown}.")
    return number


def fraction(layer: str, name: str, value: Any) -> Any:
    """Return a number from 0 to 1.

    Raises
    ------
    ArgumentError
        For anything else.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ArgumentError(f"{layer}: {name} is {describe(value)}; expected a number from 0 to 1.")
    if not 0 <= value <= 1:
        raise ArgumentValueError(f"{layer}: {name} is {value}; expected a number from 0 to 1.")
    return value
