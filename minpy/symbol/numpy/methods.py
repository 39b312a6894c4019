"""The arithmetic and methods of `_Symbol`: the same that `minpy.np.ndarray` has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from minpy.core.errors import ArgumentError
from minpy.numpy_table.table import METHODS as NUMPY_METHODS
from minpy.symbol.numpy.elementwise import with_number
from minpy.symbol.numpy.shapes import require_order
from minpy.symbol.numpy.symbol_class import _Symbol, as_np, call, set_method
from minpy.symbol.symbol import METHODS, Symbol

__all__ = ["COMPARISONS", "SIGNS", "install"]

SIGNS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "mod",
    "pow": "power",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}
COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "lt": "less",
    "le": "less_equal",
}


def _binary(function: Callable[..., Any], is_reflected: bool = False) -> Callable[..., Any]:
    def method(self: Any, operand: Any) -> Any:
        if operand is None or isinstance(operand, str):
            return NotImplemented
        return function(operand, self) if is_reflected else function(self, operand)

    return method


def _first(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return function(self, *arguments, **keywords)

    method.__doc__ = function.__doc__
    return method


def _converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of `Symbol`, an operator of `mx.sym`, so that its result has NumPy's semantics, too."""

    def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        result = function(Symbol(self.values), *arguments, **keywords)
        if not isinstance(result, Symbol):
            return result
        return as_np(result) if len(result.values) == 1 else [_Symbol([value]) for value in result.values]

    method.__doc__ = function.__doc__
    return method


def _negative(self: Any) -> Any:
    return with_number("_npi_multiply_scalar", self, -1.0, "negative")


def _reshape(self: Any, *shape: Any, order: str = "C", **keywords: Any) -> Any:
    """Return the symbol of the array in another shape; the lengths may be given one by one."""
    require_order(order, "reshape")
    target = keywords.get("newshape", keywords.get("shape", shape))
    if len(target) == 1 and not isinstance(target[0], int):
        (target,) = target
    return call("_np_reshape", [self], "reshape", newshape=tuple(target), order=order)


def _transpose(self: Any, *axes: Any) -> Any:
    """Return the symbol of the array with its axes permuted; they may be given one by one."""
    chosen = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return call("_np_transpose", [self], "transpose", axes=tuple(chosen) if chosen else None)


def _flatten(self: Any, order: str = "C") -> Any:
    """Return the symbol of the array with one axis."""
    require_order(order, "flatten")
    return call("_np_reshape", [self], "reshape", newshape=(-1,), order=order)


def _astype(self: Any, dtype: Any, **options: Any) -> Any:
    """Return the symbol of the array in another dtype."""
    return call("Cast", [self], "cast", dtype=dtype)


def _values(name: str) -> Callable[..., Any]:
    def method(self: Any, *arguments: Any) -> Any:
        raise ArgumentError(f"{self!r}.{name}: a symbol has no values. Bind it, and ask its output.")

    return method


def install(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Give `_Symbol` its arithmetic and methods, from NumPy's functions of symbols."""
    for name, inherited in list(vars(Symbol).items()):
        made_of_operator = getattr(inherited, "__doc__", None) and "`mx.sym." in inherited.__doc__
        if made_of_operator and name not in METHODS and not name.startswith("_"):
            set_method(name, _converted(inherited))
    for sign, name in SIGNS.items():
        set_method(f"__{sign}__", _binary(functions[name]))
        set_method(f"__r{sign}__", _binary(functions[name], is_reflected=True))
    for sign, name in COMPARISONS.items():
        set_method(f"__{sign}__", _binary(functions[name]))
    for name in ("copy", *NUMPY_METHODS):
        set_method(name, _first(functions[name]))
    for method in (_reshape, _transpose, _flatten, _astype):
        set_method(method.__name__.removeprefix("_"), method)
    for name in ("item", "tolist"):
        set_method(name, _values(name))
    set_method("__neg__", _negative)
    set_method("__abs__", _first(functions["abs"]))
    set_method("__invert__", _first(functions["invert"]))
    _Symbol.__hash__ = Symbol.__hash__  # type: ignore[method-assign]
    _Symbol.T = property(_transpose)  # type: ignore[attr-defined]
    for name in ("real", "imag"):
        setattr(_Symbol, name, property(_first(functions[name])))
