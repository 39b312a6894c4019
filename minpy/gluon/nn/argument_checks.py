"""Checks of layers' arguments, when a layer is made and not at its first call."""

from __future__ import annotations

import numbers
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, describe

__all__ = ["count", "fraction", "integer", "number"]


def integer(layer: str, name: str, value: Any) -> int:
    """Return an integer."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ArgumentError(f"{layer}: {name} is {describe(value)}; expected an integer.")
    return int(value)


def count(layer: str, name: str, value: Any, least: int = 1) -> int:
    """Return how many there are of something."""
    whole = integer(layer, name, value)
    if whole < least:
        unknown = " (0: it follows from the first call)" if least == 0 else ""
        raise ArgumentValueError(f"{layer}: {name} is {whole}; expected an integer of at least {least}{unknown}.")
    return whole


def number(layer: str, name: str, value: Any, noun: str = "number") -> Any:
    """Return a number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ArgumentError(f"{layer}: {name} is {describe(value)}; expected a {noun}.")
    return value


def fraction(layer: str, name: str, value: Any) -> Any:
    """Return a number from 0 to 1."""
    if not 0 <= number(layer, name, value, "number from 0 to 1") <= 1:
        raise ArgumentValueError(f"{layer}: {name} is {value}; expected a number from 0 to 1.")
    return value
