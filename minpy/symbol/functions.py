"""Every operator as a function of symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.ops.registry import OPERATORS, operators_under
from minpy.symbol.composing import compose, shown_signature
from minpy.symbol.creation import with_numbers
from minpy.symbol.symbol import Symbol

__all__ = ["FUNCTIONS", "function_of", "functions_under"]


# What nodes without a name are called after, where that is not the function's name: MXNet's makes another operator.
_HINTS = {"split_v2": "_split_v2"}


def function_of(kind: str, name: str | None = None, module: str = "minpy.symbol") -> Callable[..., Symbol]:
    """Return an operator as a function of symbols.

    Parameters
    ----------
    kind : str
        The operator's name, which nodes and files hold.
    name : str, optional
        That of the function in its module; nodes without a name are called after it.
    module : str
        Where the function is found.
    """
    operator = OPERATORS[kind]
    name = name or kind
    hint = _HINTS.get(kind, name).lower()

    def function(*arguments: Any, **keywords: Any) -> Symbol:
        return compose(operator, kind, arguments, keywords, hint)

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = operator.__doc__
    vars(function)["__signature__"] = shown_signature(operator)
    return function


# By the operators' names.
FUNCTIONS: dict[str, Callable[..., Symbol]] = {kind: with_numbers(kind, function_of(kind)) for kind in OPERATORS}


def functions_under(prefix: str, module: str) -> dict[str, Callable[..., Symbol]]:
    """Return the functions of a module for the operators whose names begin with a prefix, by the rest of the names."""
    return {name: function_of(f"{prefix}{name}", name, module) for name in operators_under(prefix)}
