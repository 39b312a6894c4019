"""Elementary functions as LLVM IR: scalar, without branches and calls, so that loops over them are vectorised.

No version of a mathematical library decides what they return: the same bits come out on every processor. `accuracy`
says how far off they may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from minpy.graph.native.mathematics import (
    errors,
    exponentials,
    inverse_hyperbolic,
    inverse_trigonometric,
    logarithms,
    powers,
    trigonometric,
)
from minpy.graph.native.mathematics.writing import FORMATS, Value, Writer

__all__ = ["FUNCTIONS", "accuracy", "arity", "covers", "definitions", "requires", "source", "symbol"]


class Function(NamedTuple):
    """A function: its number of arguments, what writes it, and its largest error in units in the last place.

    Attributes
    ----------
    write : callable
        Values of the arguments -> Value of the result.
    ulps : dict of str to float
        `float` and `double`, or the one that is covered: the bound.
    """

    write: Callable[..., Value]
    ulps: dict[str, float]
    arity: int = 1


FUNCTIONS = {
    "exp": Function(exponentials.exp, {"float": 1.1, "double": 1.1}),
    "exp2": Function(exponentials.exp2, {"float": 1.1, "double": 1.1}),
    "expm1": Function(exponentials.expm1, {"float": 2, "double": 2}),
    "log": Function(logarithms.log, {"float": 1.1, "double": 1.1}),
    "log2": Function(logarithms.log2, {"float": 2, "double": 1.1}),
    "log10": Function(logarithms.log10, {"float": 1, "double": 1.1}),
    "log1p": Function(logarithms.log1p, {"float": 2, "double": 2}),
    "sinh": Function(exponentials.sinh, {"float": 2, "double": 2}),
    "cosh": Function(exponentials.cosh, {"float": 2, "double": 2}),
    "tanh": Function(exponentials.tanh, {"float": 2, "double": 2}),
    "sin": Function(trigonometric.sin, {"float": 2, "double": 2}),
    "cos": Function(trigonometric.cos, {"float": 2, "double": 2}),
    "tan": Function(trigonometric.tan, {"float": 2, "double": 2}),
    "arcsin": Function(inverse_trigonometric.arcsin, {"float": 2, "double": 2}),
    "arccos": Function(inverse_trigonometric.arccos, {"float": 2, "double": 2}),
    "arctan": Function(inverse_trigonometric.arctan, {"float": 2, "double": 2}),
    "arcsinh": Function(inverse_hyperbolic.arcsinh, {"float": 1, "double": 2}),
    "arccosh": Function(inverse_hyperbolic.arccosh, {"float": 1, "double": 2}),
    "arctanh": Function(inverse_hyperbolic.arctanh, {"float": 1, "double": 2}),
    "cbrt": Function(powers.cbrt, {"float": 1, "double": 1}),
    "erf": Function(errors.erf, {"float": 2, "double": 2}),
    "erfc": Function(errors.erfc, {"float": 1, "double": 3}),
    "power": Function(powers.power, {"float": 1, "double": 2}, 2),
    "hypot": Function(powers.hypot, {"float": 1, "double": 2}, 2),
    "arctan2": Function(inverse_trigonometric.arctan2, {"float": 2, "double": 2}, 2),
}


def covers(name: str, dtype: str) -> bool:
    """Return whether there is IR of a function for `float` or `double`; where not, the operator stays a call."""
    return name in FUNCTIONS and dtype in FUNCTIONS[name].ulps


def accuracy(name: str, dtype: str) -> float:
    return FUNCTIONS[name].ulps[dtype]


def arity(name: str) -> int:
    return FUNCTIONS[name].arity


def symbol(name: str, dtype: str) -> str:
    return f"minpy_{name}_{FORMATS[dtype].suffix}"


@cache
def _written(name: str, dtype: str) -> tuple[str, dict[str, str]]:
    function = FUNCTIONS[name]
    writer = Writer(symbol(name, dtype), FORMATS[dtype], function.arity)
    return writer.finish(function.write(*writer.arguments)), writer.needed


def source(name: str, dtype: str) -> str:
    return _written(name, dtype)[0]


def requires(name: str, dtype: str) -> frozenset[str]:
    return frozenset(_written(name, dtype)[1])


def definitions(functions: Iterable[tuple[str, str]]) -> str:
    needed: dict[str, str] = {}
    sources = []
    for name, dtype in dict.fromkeys(functions):
        text, more = _written(name, dtype)
        sources.append(text)
        needed.update(more)
    return "\n".join([*(needed[name] for name in sorted(needed)), "", *sources])
