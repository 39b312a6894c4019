"""`minpy.sym`: symbols, and every operator as a function of symbols, by MXNet's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.core.operator import Operator
from minpy.namespaces import listing, missing
from minpy.ndarray.methods import METHODS
from minpy.ops.registry import OPERATORS
from minpy.symbol import binding, gradients, pickling, random  # noqa: F401  # they give `Symbol` methods
from minpy.symbol.arithmetic import install
from minpy.symbol.composing import Custom, compose, shown_signature, var
from minpy.symbol.creation import arange, eye, full, hypot, linspace, ones, pow, with_numbers, zeros  # noqa: A004
from minpy.symbol.saving import fromjson, load, load_json
from minpy.symbol.symbol import Group, Symbol

Variable = var

__all__ = [
    "Custom",
    "Group",
    "Symbol",
    "Variable",
    "arange",
    "eye",
    "fromjson",
    "full",
    "hypot",
    "linspace",
    "load",
    "load_json",
    "ones",
    "pow",
    "random",
    "var",
    "zeros",
    *(name for name in OPERATORS if not name.startswith("_")),
]

install(METHODS)
Operator.modes_in.extend(["minpy.ndarray.checking", "minpy.symbol.checking"])


def _function(kind: str) -> Callable[..., Symbol]:
    operator = OPERATORS[kind]

    def function(*arguments: Any, **keywords: Any) -> Symbol:
        return compose(operator, kind, arguments, keywords)

    function.__name__ = function.__qualname__ = kind
    function.__doc__ = operator.__doc__
    vars(function)["__signature__"] = shown_signature(operator)
    return function


globals().update({kind: with_numbers(kind, _function(kind)) for kind in OPERATORS if kind not in globals()})
__dir__ = listing(__all__)
__getattr__ = missing("minpy.sym", "operator", __all__)
