"""Elementary functions as LLVM IR: scalar, without branches and calls, so that loops over them are vectorised.

No version of a mathematical library decides what they return: the same bits come out on every processor. `accuracy`
says how far off they may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from minpy.backends.native.mathematics import (
    error_functions,
    exponentials,
    inverse_hyperbolic,
    inverse_trigonometric,
    logarithms,
    powers,
    trigonometric,
)
from minpy.backends.native.mathematics.scalar_function import FORMATS, Value, Writer
from minpy.core.errors import KeyMissingError

__all__ = ["FUNCTIONS", "accuracy", "arity", "covers", "definitions", "requires", "source", "symbol"]


class Function(NamedTuple):
    """A function: its number of arguments, what writes it, and its largest error in units in the last place."""

    write: Callable[..., Value]  # values of the arguments -> Value of the result
    ulps: dict[str, float]  # `float` and `double`, or the one that is covered: the bound
    arity: int = 1


FUNCTIONS = {
    "exp": Function(exponentials.exp, {"float": 1.1, "double": 1.1}),
    "exp2": Function(exponentials.exp2, {"float": 1.1, "double": 1.25}),
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
    "tan": Function(trigonometric.tan, {"float": 1, "double": 2.5}),
    "arcsin": Function(inverse_trigonometric.arcsin, {"float": 2, "double": 2}),
    "arccos": Function(inverse_trigonometric.arccos, {"float": 2, "double": 2}),
    "arctan": Function(inverse_trigonometric.arctan, {"float": 2, "double": 2}),
    "arcsinh": Function(inverse_hyperbolic.arcsinh, {"float": 1, "double": 2}),
    "arccosh": Function(inverse_hyperbolic.arccosh, {"float": 1, "double": 2.5}),
    "arctanh": Function(inverse_hyperbolic.arctanh, {"float": 1, "double": 2}),
    "cbrt": Function(powers.cbrt, {"float": 1, "double": 1}),
    "erf": Function(error_functions.erf, {"float": 2, "double": 2}),
    "erfc": Function(error_functions.erfc, {"float": 1, "double": 3.5}),
    "power": Function(powers.power, {"float": 1, "double": 2}, 2),
    "hypot": Function(powers.hypot, {"float": 1, "double": 2}, 2),
    "arctan2": Function(inverse_trigonometric.arctan2, {"float": 2, "double": 2}, 2),
}


def covers(name: str, dtype: str) -> bool:
    """Return whether there is IR of a function; where there is none, the operator stays a call.

    `name`: as NumPy calls the function; `erf` and `erfc`. `dtype`: LLVM's name of a type: `float` or `double`.

    Examples
    --------
    >>> covers("tanh", "float"), covers("tanh", "half"), covers("frexp", "float")
    (True, False, False)
    """
    return name in FUNCTIONS and dtype in FUNCTIONS[name].ulps


def accuracy(name: str, dtype: str) -> float:
    """Return how far results may be from the exact values, in units in the last place of the result.

    0.5 is the nearest number. tools/measure_mathematics.py measures it, for float over all arguments.

    Raises KeyMissingError if the function is not covered.

    Examples
    --------
    >>> accuracy("exp", "float")
    1.1
    """
    return _covered(name, dtype).ulps[dtype]


def arity(name: str) -> int:
    """Return the number of arguments of a function.

    >>> arity("exp"), arity("power")
    (1, 2)
    """
    return FUNCTIONS[name].arity


def symbol(name: str, dtype: str) -> str:
    """Return what a function is called in IR, without the `@`.

    >>> symbol("tanh", "double")
    'minpy_tanh_f64'
    """
    return f"minpy_{name}_{FORMATS[dtype].suffix}"


def source(name: str, dtype: str) -> str:
    """Return the IR of a function.

    `name`, `dtype`: as of `covers`.

    It is one `define internal`, which is always inlined. What `requires` names has to be in the module, too.

    Raises KeyMissingError if the function is not covered.

    Examples
    --------
    >>> print(source("hypot", "float").splitlines()[0])
    define internal float @minpy_hypot_f32(float %x0, float %x1) alwaysinline nounwind willreturn {
    """
    return _written(name, dtype)[0]


def requires(name: str, dtype: str) -> frozenset[str]:
    """Return the names of what a module must declare or define for a function: intrinsics, and tables of constants.

    Raises KeyMissingError if the function is not covered.

    Examples
    --------
    >>> sorted(requires("hypot", "float"))
    ['llvm.fabs.f32', 'llvm.sqrt.f64']
    """
    return frozenset(_written(name, dtype)[1])


def definitions(functions: Iterable[tuple[str, str]]) -> str:
    """Return the IR of several functions with all that they require, each once: a module, or the start of one.

    `functions`: names and dtypes.

    Raises KeyMissingError if one is not covered.

    Examples
    --------
    >>> text = definitions([("tanh", "float"), ("exp", "float"), ("exp", "float")])
    >>> text.count("define "), text.count("declare float @llvm.fabs.f32")
    (2, 1)
    """
    required: dict[str, str] = {}
    sources = []
    for name, dtype in dict.fromkeys(functions):
        text, more = _written(name, dtype)
        sources.append(text)
        required.update(more)
    return "\n".join([*(required[name] for name in sorted(required)), "", *sources])


def _covered(name: str, dtype: str) -> Function:
    if not covers(name, dtype):
        covered = ", ".join(sorted(name for name in FUNCTIONS if covers(name, dtype))) or "none"
        raise KeyMissingError(f"there is no IR of {name!r} for {dtype!r}; of that type there are: {covered}.")
    return FUNCTIONS[name]


@cache
def _written(name: str, dtype: str) -> tuple[str, dict[str, str]]:
    function = _covered(name, dtype)
    writer = Writer(symbol(name, dtype), FORMATS[dtype], function.arity)
    return writer.finish(function.write(*writer.arguments)), writer.required
