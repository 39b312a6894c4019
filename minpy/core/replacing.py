"""Warnings where a user's definition replaces an earlier one, probably by mistake: a forgotten `argnum`."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from minpy.core.source_lines import line_of_program, warn_at_program

__all__ = ["Definitions", "is_run_again", "place_of"]

# How the methods that define something for an argument are called.
_CALLS_WITH_ARGNUM = {
    "def_grad": "def_grad(rule, argnum={})",
    "def_grad_zero": "def_grad_zero({})",
    "def_grad_kernel": "def_grad_kernel(rule, argnum={})",
    "def_grad_into": "def_grad_into(rule, argnum={})",
    "def_jvp": "def_jvp(rule, argnum={})",
}


class _Definition(NamedTuple):
    method: str
    function: Any
    place: str


class Definitions:
    """The definitions that a user has given for an operator: which function, and where."""

    __slots__ = ("_earlier", "_operator")

    def __init__(self, operator: Any) -> None:
        self._operator = operator
        self._earlier: dict[tuple[str, Any], _Definition] = {}

    def note(self, method: str, role: str, argument: int | str | None, function: Any) -> None:
        """Note that a method of the operator defines something, and warn if it replaces another definition.

        `argument`: for which argument: the position, or the name of one that is given by keyword; None for the whole
        call. `function`: None if it is defined without a function.
        """
        place, key = place_of(function), (role, argument)
        earlier = self._earlier.get(key)
        self._earlier[key] = _Definition(method, function, place)
        if role == "gradient":  # faster forms of an earlier rule are dropped with it
            for form in ("kernel of the gradient", "form for given memory of the gradient"):
                self._earlier.pop((form, argument), None)
        if earlier is not None and not is_run_again(earlier.function, function):
            warn_at_program(
                f"{self._operator.__name__}.{method}: the {role}{self._of(argument)} is defined already, with "
                f"{earlier.method} at {earlier.place}; what is at {place} replaces it.{self._remedy(method)}"
            )

    def _of(self, argument: int | str | None) -> str:
        if not isinstance(argument, int):
            return "" if argument is None else f" of {argument}"
        return f" of argument {argument - self._operator.is_method} ({self._operator.argument_name(argument)})"

    def _remedy(self, method: str) -> str:
        if method not in _CALLS_WITH_ARGNUM:
            return ""
        operator = self._operator
        inputs = range(operator.is_method, len(operator.signature.inputs))
        free = next((str(index - operator.is_method) for index in inputs if not operator.has_rule(index)), "...")
        return f" If it is meant for another argument, say for which: {_CALLS_WITH_ARGNUM[method].format(free)}."


def place_of(function: Any) -> str:
    """Return file and line of a function; for None, the line of the program that runs."""
    code = getattr(function, "__code__", None)
    return line_of_program() if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def is_run_again(first: Any, second: Any) -> bool:
    """Tell whether a definition is that of an earlier one run again: the same one, or an edited cell of a notebook."""
    codes: list[Any] = [getattr(function, "__code__", None) for function in (first, second)]
    if None in codes:
        return first is second
    if codes[0] == codes[1] and _refers_to(first) == _refers_to(second):
        return True
    files = [code.co_filename for code in codes]
    same_name = first.__qualname__ == second.__qualname__ and "<lambda>" not in first.__qualname__
    return same_name and files[0] != files[1] and not any(map(os.path.isfile, files))


def _refers_to(function: Any) -> list[int]:
    """Return the identities of a function's closure cells and defaults."""
    cells = getattr(function, "__closure__", None) or ()
    defaults = getattr(function, "__defaults__", None) or ()
    return [*(id(cell) for cell in cells), *map(id, defaults)]
