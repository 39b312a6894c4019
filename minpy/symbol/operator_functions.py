"""Every operator as a function of symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from minpy.late import LateTable, late_names
from minpy.namespaces import missing
from minpy.ops.registry import OPERATORS, names_under
from minpy.symbol.composition import compose, shown_signature
from minpy.symbol.creation import with_numbers
from minpy.symbol.symbol import Symbol

__all__ = ["FUNCTIONS", "function_of", "late_functions"]


# What nodes without a name are called after, where that is not the function's name: MXNet's makes another operator.
_HINTS = {"split_v2": "_split_v2"}


def function_of(kind: str, name: str | None = None, module: str = "minpy.symbol") -> Callable[..., Symbol]:
    """Return an operator as a function of symbols in a module; nodes without a name are called after its name there."""
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
FUNCTIONS: LateTable[Callable[..., Symbol]] = LateTable(OPERATORS, lambda kind: with_numbers(kind, function_of(kind)))


def late_functions(module: str, called: str, prefix: str, names: Iterable[str]) -> Callable[[str], Any]:
    """Let a module have functions for operators whose names begin with a prefix; return its `__getattr__`.

    `called` is what messages call the module, `minpy.sym.linalg`; `names` are all that it has, without the prefix.
    """
    functions = names_under(prefix)
    return late_names(
        module,
        functions,
        lambda name: function_of(functions[name], name, module),
        missing(called, "operator", names),
    )
