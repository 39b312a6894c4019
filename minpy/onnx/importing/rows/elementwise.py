"""Operators that compute element by element."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy

from minpy import symbol as sym
from minpy.onnx.importing.calls import ROWS, Call, row
from minpy.onnx.importing.refusals import Refusal
from minpy.onnx.importing.tensors import numpy_dtype

np, npx = sym.np, sym.npx


def _simple(function: Callable[..., Any]) -> Callable[[Call], Any]:
    return lambda call: function(*call.symbols())


def _of_two(function: Callable[..., Any]) -> Callable[[Call], Any]:
    return lambda call: function(*_pair(call))


_UNARY = {
    "Abs": np.abs, "Acos": np.arccos, "Acosh": np.arccosh, "Asin": np.arcsin, "Asinh": np.arcsinh,
    "Atan": np.arctan, "Atanh": np.arctanh, "BitwiseNot": np.invert, "Ceil": np.ceil, "Cos": np.cos, "Cosh": np.cosh,
    "Erf": npx.erf, "Exp": np.exp, "Floor": np.floor, "IsNaN": np.isnan, "Log": np.log, "Neg": np.negative,
    "Not": np.logical_not, "Reciprocal": np.reciprocal, "Round": np.rint, "Sigmoid": npx.sigmoid, "Sign": np.sign,
    "Sin": np.sin, "Sinh": np.sinh, "Sqrt": np.sqrt, "Tan": np.tan, "Tanh": np.tanh,
}  # fmt: skip
_BINARY = {
    "Add": np.add, "And": np.logical_and, "BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor, "Equal": np.equal, "Greater": np.greater, "GreaterOrEqual": np.greater_equal,
    "Less": np.less, "LessOrEqual": np.less_equal, "Mul": np.multiply, "Or": np.logical_or, "Sub": np.subtract,
    "Xor": np.logical_xor,
}  # fmt: skip
ROWS.update({name: _simple(function) for name, function in _UNARY.items()})
ROWS.update({name: _of_two(function) for name, function in _BINARY.items()})
ROWS["Where"] = _simple(np.where)


def _pair(call: Call) -> tuple[Any, Any]:
    """Return both inputs; before opset 7 the second is broadcast from an axis on."""
    first, second = call.symbol(0), call.symbol(1)
    if call.opset < 7 and call.get("broadcast", 0) and "axis" in call.attributes:
        missing = call.rank(0) - call.axis(0) - call.rank(1)
        if missing > 0:
            second = np.reshape(second, (*call.shape(1), *[1] * missing))
    return first, second


@row("Identity", "Dropout")
def identity(call: Call) -> Any:
    """The input itself: dropout is for training."""
    if call.operator == "Dropout" and call.has(2) and call.value(2, "training mode").any():
        raise Refusal("it drops numbers at random (training_mode). Export the model for inference")
    if call.operator == "Dropout" and len(call.outputs) > 1 and call.outputs[1].name:
        x = call.symbol(0)
        return call.tensor(0), np.ones_like(x, dtype="bool" if call.opset >= 10 else call.dtype().name)
    return call.tensor(0)


@row("Div")
def divide(call: Call) -> Any:
    """Integers are rounded towards zero."""
    first, second = _pair(call)
    if call.dtype().kind == "u":
        return np.floor_divide(first, second)
    if call.dtype().kind == "i":
        quotient = np.floor_divide(first, second)
        is_below = np.logical_and(np.less(quotient, 0), np.not_equal(np.multiply(quotient, second), first))
        return np.add(quotient, np.astype(is_below, call.dtype().name))
    return np.divide(first, second)


@row("Mod")
def modulo(call: Call) -> Any:
    """The sign is the divisor's, or with `fmod` the dividend's."""
    return (np.fmod if call.get("fmod", 0) else np.mod)(call.symbol(0), call.symbol(1))


@row("Pow")
def power(call: Call) -> Any:
    """The dtype is the base's."""
    base, exponent = _pair(call)
    constant = call.tensor(1).constant
    if constant is not None and constant.size == 1 and constant.ndim == 0 and float(constant) == 2.0:
        return np.square(base)
    if call.dtype(0) == call.dtype(1):
        return np.power(base, exponent)
    return np.astype(np.power(np.astype(base, "float64"), np.astype(exponent, "float64")), call.dtype(0).name)


@row("BitShift")
def _bit_shift(call: Call) -> Any:
    return (np.left_shift if call.get("direction") == "LEFT" else np.right_shift)(call.symbol(0), call.symbol(1))


@row("Max", "Min", "Sum", "Mean")
def of_several(call: Call) -> Any:
    """What folds any number of inputs."""
    function = {"Max": np.maximum, "Min": np.minimum}.get(call.operator, np.add)
    symbols = call.symbols()
    total = reduce(function, symbols) if len(symbols) > 1 else np.positive(symbols[0])
    return np.multiply(total, 1.0 / len(symbols)) if call.operator == "Mean" else total


@row("Cast", "CastLike")
def cast(call: Call) -> Any:
    """Another dtype."""
    if call.operator == "CastLike":
        dtype = call.dtype(1)
    else:
        import onnx

        to = call.get("to")
        dtype = numpy_dtype(onnx.TensorProto.DataType.Value(to) if isinstance(to, str) else int(to))
    return call.tensor(0) if dtype == call.tensor(0).dtype else np.astype(call.symbol(0), dtype.name)


@row("Relu")
def _relu(call: Call) -> Any:
    if call.dtype().kind in "iu":
        return np.maximum(call.symbol(), 0)
    return sym.Activation(call.symbol(), act_type="relu")


@row("LeakyRelu")
def _leaky_relu(call: Call) -> Any:
    return sym.LeakyReLU(call.symbol(), act_type="leaky", slope=call.get("alpha", 0.01))


@row("Elu")
def _elu(call: Call) -> Any:
    return sym.LeakyReLU(call.symbol(), act_type="elu", slope=call.get("alpha", 1.0))


@row("PRelu")
def prelu(call: Call) -> Any:
    """Classic where there is one slope a channel."""
    x, slope = call.symbol(0), call.tensor(1)
    shape = slope.static_shape
    if slope.constant is not None and shape is not None and call.rank() >= 2:
        channels = call.lengths()[1]
        if len(shape) == call.rank() - 1 and shape == (channels, *[1] * (len(shape) - 1)):
            return sym.LeakyReLU(x, call.parameter(slope.constant.reshape(-1), "slope"), act_type="prelu")
    gamma = call.symbol(1)
    if call.opset < 7 and shape is not None and len(shape) == 1 and shape[0] > 1:
        gamma = np.reshape(gamma, (shape[0], *[1] * (call.rank() - 2)))
    return np.where(np.less(x, 0), np.multiply(x, gamma), x)


@row("Selu")
def _selu(call: Call) -> Any:
    alpha, gamma = call.get("alpha", 1.67326319217681884765625), call.get("gamma", 1.05070102214813232421875)
    x = call.symbol()
    return np.multiply(np.where(np.greater(x, 0), x, np.multiply(np.expm1(np.minimum(x, 0)), alpha)), gamma)


@row("Celu")
def _celu(call: Call) -> Any:
    alpha, x = call.get("alpha", 1.0), call.symbol()
    return np.add(
        np.maximum(x, 0), np.minimum(np.multiply(np.expm1(np.multiply(np.minimum(x, 0), 1 / alpha)), alpha), 0)
    )


@row("HardSigmoid")
def _hard_sigmoid(call: Call) -> Any:
    x = np.add(np.multiply(call.symbol(), call.get("alpha", 0.2)), call.get("beta", 0.5))
    return np.maximum(np.minimum(x, 1.0), 0.0)


@row("HardSwish")
def _hard_swish(call: Call) -> Any:
    x = call.symbol()
    return np.multiply(x, np.maximum(np.minimum(np.add(np.multiply(x, 1 / 6), 0.5), 1.0), 0.0))


@row("Softplus")
def _softplus(call: Call) -> Any:
    return np.logaddexp(call.symbol(), 0.0)


@row("Softsign")
def _softsign(call: Call) -> Any:
    return sym.softsign(call.symbol())


@row("ThresholdedRelu")
def _thresholded_relu(call: Call) -> Any:
    x = call.symbol()
    return np.where(np.greater(x, call.get("alpha", 1.0)), x, np.zeros_like(x))


@row("Gelu")
def _gelu(call: Call) -> Any:
    x = call.symbol()
    if call.get("approximate", "none") == "tanh":
        inner = np.multiply(np.add(x, np.multiply(np.power(x, 3), 0.044715)), 0.7978845608028654)
        return np.multiply(np.multiply(x, 0.5), np.add(np.tanh(inner), 1.0))
    return sym.LeakyReLU(x, act_type="gelu")


@row("Shrink")
def _shrink(call: Call) -> Any:
    x, bias, limit = call.symbol(), call.get("bias", 0.0), call.get("lambd", 0.5)
    if call.dtype().kind != "f":
        raise Refusal("it shrinks integers. Cast them to floating point before it")
    zeros = np.zeros_like(x)
    return np.where(np.less(x, -limit), np.add(x, bias), np.where(np.greater(x, limit), np.subtract(x, bias), zeros))


@row("Clip")
def clip(call: Call) -> Any:
    """Limits are attributes before opset 11, then inputs."""
    x = call.symbol()
    low, high = call.get("min"), call.get("max")
    first, second = (call.tensor(index) if call.has(index) else None for index in (1, 2))
    if call.dtype().kind == "f" and all(entry is None or entry.constant is not None for entry in (first, second)):
        low = low if first is None else float(first.constant.ravel()[0])  # type: ignore[union-attr]
        high = high if second is None else float(second.constant.ravel()[0])  # type: ignore[union-attr]
        limits = numpy.finfo(call.dtype())
        return sym.clip(
            x, a_min=float(limits.min if low is None else low), a_max=float(limits.max if high is None else high)
        )
    if first is not None:
        x = np.maximum(x, call.symbol(1))
    if second is not None:
        x = np.minimum(x, call.symbol(2))
    return np.positive(x) if first is None and second is None else x


@row("IsInf")
def _is_inf(call: Call) -> Any:
    positive, negative, x = call.get("detect_positive", 1), call.get("detect_negative", 1), call.symbol()
    if positive and negative:
        return np.isinf(x)
    if not positive and not negative:
        return np.zeros_like(x, dtype="bool")
    return np.equal(x, float("inf") if positive else float("-inf"))
