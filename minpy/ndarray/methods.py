"""The arithmetic of `NDArray`, and its methods that are operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.core.operator import Operator
from minpy.core.registry import OPERATORS
from minpy.ndarray.arithmetic import binary_methods
from minpy.ndarray.ndarray import NDArray
from minpy.ops import arithmetic, comparison

__all__ = ["METHODS", "install_arithmetic", "install_comparisons"]

ARITHMETIC = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "truediv": arithmetic.divide,
    "pow": arithmetic.power,
    "mod": arithmetic.mod,
}

COMPARISONS = {
    "eq": comparison.equal,
    "ne": comparison.not_equal,
    "gt": comparison.greater,
    "ge": comparison.greater_equal,
    "lt": comparison.lesser,
    "le": comparison.lesser_equal,
}

_ELEMENTWISE = (
    "abs arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil clip cos cosh degrees exp expm1 fix floor log log10 "
    "log1p log2 radians rcbrt reciprocal relu rint round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc"
).split()
_REDUCTIONS = "argmax argmax_channel argmin max mean min nanprod nansum norm prod sum".split()

METHODS = (*_ELEMENTWISE, *_REDUCTIONS)


def install_arithmetic(cls: Any, operators: dict[str, Operator]) -> None:
    """Give a class `x + y`, `y + x` and `x += y` for each of the operators."""
    for name, operator in operators.items():
        forward, reflected = binary_methods(cls, operator, cls._general)
        _set(cls, f"__{name}__", forward)
        _set(cls, f"__r{name}__", reflected)
        _set(cls, f"__i{name}__", _in_place(operator))


def install_comparisons(cls: Any, operators: dict[str, Any]) -> None:
    """Give a class `x < y` and its kin."""
    for name, operator in operators.items():
        _set(cls, f"__{name}__", _comparison(operator, cls._general))


def _in_place(operator: Operator) -> Callable[[Any, Any], Any]:
    return lambda self, other: self._update(operator, other)


def _comparison(operator: Any, general: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: general(operator, self, other)


def _method(operator: Operator) -> Callable[..., Any]:
    def method(self: Any, *arguments: Any, **attributes: Any) -> Any:
        return operator(self, *arguments, **attributes)

    method.__doc__ = operator.__doc__
    return method


def _set(cls: Any, name: str, function: Callable[..., Any]) -> None:
    function.__name__ = name
    function.__qualname__ = f"{cls.__name__}.{name}"
    setattr(cls, name, function)


install_arithmetic(NDArray, ARITHMETIC)
install_comparisons(NDArray, COMPARISONS)
for _name in METHODS:
    _set(NDArray, _name, _method(OPERATORS[_name]))
