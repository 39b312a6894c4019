"""NumPy's elementwise functions of symbols, and of symbols and numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, describe
from minpy.numpy_table.table import ROWS
from minpy.ops.numpy.named_elementwise import REFLECTED, WITH_NUMBERS
from minpy.symbol.numpy.symbol_class import call, generic, is_symbol, named

__all__ = ["BINARY", "FUNCTIONS", "UNARY", "with_number"]

# By name in NumPy, what MXNet calls the operator; nodes are named after the function.
UNARY = {name: row.mxnet for name, row in ROWS.items() if row.mxnet}
UNARY |= {"abs": UNARY["absolute"], "bitwise_not": UNARY["invert"]}
_HINTS = {"fabs": "abs", "invert": "bitwise_not"}

BINARY = {name: name for name in WITH_NUMBERS} | {
    "divide": "true_divide",
    "hypot": "hypot",
    "maximum": "maximum",
    "minimum": "minimum",
    "remainder": "mod",
}
# Those that are of MXNet's older operators.
_OLDER = {"maximum": "broadcast_maximum", "minimum": "broadcast_minimum"}
_OLDER_WITH_NUMBERS = {name: f"_{name}_scalar" for name in ("maximum", "minimum", "hypot")}

# What ufuncs take as keywords, and means nothing at these values.
_MEANINGLESS = {"out": None, "where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}


def _meaning(keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of a call that say something."""
    return {
        key: value
        for key, value in keywords.items()
        if key not in _MEANINGLESS or is_symbol(value) or value != _MEANINGLESS[key]
    }


def _unary(name: str, kind: str) -> Callable[..., Any]:
    hint = _HINTS.get(name, name)

    def function(x: Any, out: Any = None, **kwargs: Any) -> Any:
        keywords = _meaning({"out": out, **kwargs})
        if not is_symbol(x):
            return getattr(numpy, name)(x, **keywords)
        node_name = keywords.pop("name", None)
        if keywords:
            return generic(name, (x,), keywords)
        return call(kind, [x], hint, name=node_name)

    return named(name, function)


def _number(value: Any, name: str) -> float | int:
    if isinstance(value, numpy.generic):
        value = value.item()
    if isinstance(value, (bool, int, float)):
        return value
    raise ArgumentError(
        f"sym.np.{name}: {describe(value)}; expected a symbol or a number. Make an array an input: "
        "mx.sym.var(name).as_np_ndarray()."
    )


def with_number(kind: str, symbol: Any, number: Any, name: str) -> Any:
    """Return the symbol of an operator of an array and a number."""
    value = _number(number, name)
    hint = kind.removeprefix("_npi_").removeprefix("_")
    return call(kind, [symbol], hint, scalar=float(value), is_int=isinstance(value, int))


def _binary(name: str, base: str) -> Callable[..., Any]:
    def function(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        keywords = _meaning({"out": out, **kwargs})
        if keywords:
            return generic(name, (x1, x2), keywords)
        if is_symbol(x1) and is_symbol(x2):
            return call(_OLDER.get(base, f"_npi_{base}"), [x1, x2], base)
        if is_symbol(x1):
            return with_number(_OLDER_WITH_NUMBERS.get(base) or WITH_NUMBERS[base], x1, x2, name)
        if is_symbol(x2):
            return with_number(_OLDER_WITH_NUMBERS.get(base) or REFLECTED[base], x2, x1, name)
        return getattr(numpy, name)(x1, x2)

    return named(name, function)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Return the symbol of elements of x where the condition is true, and of y elsewhere."""
    if x is None or y is None:
        return generic("where", (condition,), {})
    if is_symbol(x) and is_symbol(y):
        return call("_npi_where", [condition, x, y], "where")
    if is_symbol(x):
        return call("_npi_where_rscalar", [condition, x], "where_rscalar", scalar=float(_number(y, "where")))
    if is_symbol(y):
        return call("_npi_where_lscalar", [condition, y], "where_lscalar", scalar=float(_number(x, "where")))
    numbers = {"x": float(_number(x, "where")), "y": float(_number(y, "where"))}
    return call("_npi_where_scalar2", [condition], "where_scalar2", **numbers)


def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None) -> Any:
    """Return the symbol of an array whose elements are not below a_min nor above a_max (None: no bound)."""
    if is_symbol(a_min) or is_symbol(a_max):
        return generic("clip", (a, a_min, a_max), {"out": out})
    low, high = float("-inf") if a_min is None else a_min, float("inf") if a_max is None else a_max
    return call("clip", [a], "clip", a_min=low, a_max=high)


def around(x: Any, decimals: int = 0, out: Any = None, **kwargs: Any) -> Any:
    """Return the symbol of numbers rounded to some decimals."""
    return call("_npi_around", [x], "around", decimals=int(decimals))


def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None, **kwargs: Any
) -> Any:
    """Return the symbol of an array with numbers for what is none."""
    return call("_npi_nan_to_num", [x], "nan_to_num", copy=copy, nan=nan, posinf=posinf, neginf=neginf)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _unary(name, kind) for name, kind in UNARY.items()},
    **{name: _binary(name, base) for name, base in BINARY.items()},
    **{function.__name__: function for function in (around, clip, nan_to_num, where)},
    "round": around,
    "round_": around,
}
