"""The arithmetic of symbols, and operators as their methods: the same that arrays have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.errors import ArgumentError, NoValueError, describe
from minpy.ops.registry import OPERATORS, find_operator
from minpy.symbol.composition import compose
from minpy.symbol.symbol import Symbol

__all__ = ["install"]


def _call(kind: str, symbols: list[Symbol], hint: str | None = None, **attributes: Any) -> Symbol:
    return compose(find_operator(kind), kind, symbols, attributes, hint)


def _scalar_call(symbol: Symbol, kind: str, scalar: Any) -> Symbol:
    return _call(kind, [symbol], kind.replace("_scalar", "scalar") if kind in _JOINED else None, scalar=scalar)


# What MXNet calls the nodes: `_plusscalar0`, but `_greater_scalar0`.
_JOINED = {
    f"_{name}_scalar"
    for name in ("plus", "minus", "rminus", "mul", "div", "rdiv", "mod", "rmod", "power")
}  # fmt: skip
_BINARY = {
    "add": ("elemwise_add", "_plus", "_plus_scalar", "_plus_scalar"),
    "sub": ("elemwise_sub", "_minus", "_minus_scalar", "_rminus_scalar"),
    "mul": ("elemwise_mul", "_mul", "_mul_scalar", "_mul_scalar"),
    "truediv": ("elemwise_div", "_div", "_div_scalar", "_rdiv_scalar"),
    "mod": ("_mod", "_mod", "_mod_scalar", "_rmod_scalar"),
    "pow": ("_power", "_power", "_power_scalar", "_rpower_scalar"),
}
_COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "lt": "lesser",
    "le": "lesser_equal",
}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, numpy.number)) and not isinstance(value, bool)


def _binary(kind: str, hint: str, scalar_kind: str) -> Callable[[Symbol, Any], Any]:
    def method(self: Symbol, other: Any) -> Any:
        if isinstance(other, Symbol):
            return _call(kind, [self, other], hint)
        return _scalar_call(self, scalar_kind, other) if _is_number(other) else _refused(self, other, kind)

    return method


def _refused(symbol: Symbol, value: Any, kind: str) -> Any:
    if isinstance(value, str) or value is None:
        return NotImplemented
    raise (NoValueError if isinstance(value, (Array, numpy.ndarray)) else ArgumentError)(
        f"{kind} of {symbol!r} and {describe(value)}: symbols are combined with symbols and numbers. Make the array an "
        "input: mx.sym.var(name), with its value given when the graph is bound."
    )


def _method(kind: str) -> Callable[..., Symbol]:
    def method(self: Symbol, *arguments: Any, **attributes: Any) -> Symbol:
        return compose(find_operator(kind), kind, (self, *arguments), attributes)

    method.__doc__ = f"Return `mx.sym.{kind}` of this symbol."
    return method


def _negative(self: Symbol) -> Symbol:
    return _scalar_call(self, "_mul_scalar", -1.0)


def _absolute(self: Symbol) -> Symbol:
    return _call("abs", [self])


def _astype(self: Symbol, dtype: Any) -> Symbol:
    """Return `mx.sym.Cast` of this symbol."""
    return _call("Cast", [self], "cast", dtype=dtype)


def _reshape(self: Symbol, *shape: Any, **attributes: Any) -> Symbol:
    """Return `mx.sym.reshape` of this symbol; the lengths may be given one by one."""
    if shape:
        attributes["shape"] = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return _call("reshape", [self], **attributes)


def _flatten(self: Symbol, inplace: bool = False, **attributes: Any) -> Symbol:
    """Return `mx.sym.flatten` of this symbol; `inplace` is for arrays, and makes no difference."""
    return _call("flatten", [self], **attributes)


def _expand_dims(self: Symbol, axis: int, inplace: bool = False, **attributes: Any) -> Symbol:
    """Return `mx.sym.expand_dims` of this symbol; `inplace` is for arrays, and makes no difference."""
    return _call("expand_dims", [self], axis=axis, **attributes)


def _squeeze(self: Symbol, axis: Any = None, inplace: bool = False, **attributes: Any) -> Symbol:
    """Return `mx.sym.squeeze` of this symbol; `inplace` is for arrays, and makes no difference."""
    return _call("squeeze", [self], **attributes, **({} if axis is None else {"axis": axis}))


def _transpose(self: Symbol, *axes: Any, **attributes: Any) -> Symbol:
    """Return `mx.sym.transpose` of this symbol; the axes may be given one by one."""
    if axes:
        attributes["axes"] = tuple(axes[0]) if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
    return _call("transpose", [self], **attributes)


def install(methods: Sequence[str]) -> None:
    """Give `Symbol` its arithmetic, and as methods the operators that arrays have as methods."""
    for name, (kind, hint, scalar_kind, reflected_kind) in _BINARY.items():
        _set(f"__{name}__", _binary(kind, hint, scalar_kind))
        _set(f"__r{name}__", _binary(kind, hint, reflected_kind))
    for name, relation in _COMPARISONS.items():
        _set(f"__{name}__", _binary(f"_{relation}", f"_{relation}", f"_{relation}_scalar"))
    for name in methods:
        if name in OPERATORS and not hasattr(Symbol, name):
            _set(name, _method(name))
    for method in (_reshape, _astype, _transpose, _flatten, _expand_dims, _squeeze):
        _set(method.__name__.removeprefix("_"), method)
    _set("__neg__", _negative)
    _set("__abs__", _absolute)


def _set(name: str, method: Callable[..., Any]) -> None:
    """Make a function a method, under the name by which help shows it and pickle finds it."""
    method.__name__, method.__qualname__, method.__module__ = name, f"Symbol.{name}", Symbol.__module__
    setattr(Symbol, name, method)
