"""The arithmetic of `NDArray`, and its methods that are operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any

import numpy

from minpy.core.operator import Operator
from minpy.ndarray import shape_methods
from minpy.ndarray.arithmetic import binary_methods, comparison_method
from minpy.ndarray.ndarray import NDArray
from minpy.ops.linalg import dot as linear
from minpy.ops.registry import FUNCTIONS, OPERATORS
from minpy.ops.tensor import arithmetic, comparison

__all__ = ["METHODS", "install_arithmetic", "install_comparisons"]

ARITHMETIC = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "truediv": arithmetic.divide,
    "pow": arithmetic.power,
    "mod": arithmetic.mod,
    "matmul": linear.matmul,
}

COMPARISONS = {
    "eq": (comparison.equal, numpy.equal),
    "ne": (comparison.not_equal, numpy.not_equal),
    "gt": (comparison.greater, numpy.greater),
    "ge": (comparison.greater_equal, numpy.greater_equal),
    "lt": (comparison.lesser, numpy.less),
    "le": (comparison.lesser_equal, numpy.less_equal),
}

_ELEMENTWISE = [
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "clip", "cos", "cosh",
    "degrees", "exp", "expm1", "fix", "floor", "log", "log10", "log1p", "log2", "radians", "rcbrt", "reciprocal",
    "relu", "rint", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
]  # fmt: skip
_REDUCTIONS = [
    "argmax", "argmax_channel", "argmin", "max", "mean", "min", "nanprod", "nansum", "norm", "prod", "sum",
]  # fmt: skip

_SHAPES = [
    "argsort", "broadcast_axes", "depth_to_space", "diag", "dot", "flip", "one_hot", "ones_like", "pad", "pick",
    "repeat", "shape_array", "size_array", "slice", "slice_axis", "slice_like", "softmax", "log_softmax", "softmin",
    "sort", "space_to_depth", "split", "split_v2", "swapaxes", "take", "tile", "topk", "zeros_like",
]  # fmt: skip

_OPERATORS = (*_ELEMENTWISE, *_REDUCTIONS, *_SHAPES)
METHODS = (*_OPERATORS, *shape_methods.METHODS)


def install_arithmetic(cls: Any, operators: dict[str, Operator]) -> None:
    """Give a class `x + y`, `y + x` and `x += y` for each of the operators."""
    for name, operator in operators.items():
        forward, reflected = binary_methods(cls, operator, cls._general)
        _set(cls, f"__{name}__", forward)
        _set(cls, f"__r{name}__", reflected)
        _set(cls, f"__i{name}__", _in_place(operator))


def install_comparisons(cls: Any, operators: Mapping[str, tuple[Any, numpy.ufunc]]) -> None:
    """Give a class `x < y` and its kin: for each name the operator that answers, and the ufunc that compares."""
    for name, (operator, ufunc) in operators.items():
        _set(cls, f"__{name}__", comparison_method(cls, operator, ufunc, cls._general))


def install_floor_division(cls: Any) -> None:
    """Give a class `x // y`, which MXNet does not have, and results of `x @ y` that have its shape of a scalar."""
    operator = FUNCTIONS[numpy.floor_divide]
    _set(cls, "__floordiv__", lambda self, other: cls._general(operator, self, other))
    _set(cls, "__rfloordiv__", lambda self, other: cls._general(operator, other, self))
    _set(cls, "__ifloordiv__", _in_place(operator))
    for name in ("__matmul__", "__rmatmul__"):
        _set(cls, name, _with_axes(getattr(cls, name)))


def _with_axes(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def with_axes(self: Any, other: Any) -> Any:
        result = method(self, other)
        return result.reshape((1,)) if isinstance(result, NDArray) and not result.ndim else result

    return with_axes


def _in_place(operator: Operator) -> Callable[[Any, Any], Any]:
    return lambda self, other: self._update(operator, other)


class _LateMethod:
    """A method that is an operator: it takes its place, as a function, when it is looked up for the first time."""

    def __init__(self, cls: Any, name: str) -> None:
        self.cls, self.name = cls, name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        method = _method(OPERATORS[self.name])
        _set(self.cls, self.name, method)
        return method if instance is None else MethodType(method, instance)


def _method(operator: Operator) -> Callable[..., Any]:
    def method(self: Any, *arguments: Any, **attributes: Any) -> Any:
        return operator(self, *arguments, **attributes)

    method.__doc__ = operator.__doc__
    return method


def _set(cls: Any, name: str, function: Callable[..., Any]) -> None:
    function.__name__ = name
    function.__qualname__ = f"{cls.__name__}.{name}"
    function.__module__ = cls.__module__  # where pickle finds it
    setattr(cls, name, function)


install_arithmetic(NDArray, ARITHMETIC)
install_comparisons(NDArray, COMPARISONS)
install_floor_division(NDArray)
for _name in _OPERATORS:
    setattr(NDArray, _name, _LateMethod(NDArray, _name))
for _name, _function in shape_methods.METHODS.items():
    _set(NDArray, _name, _function)
