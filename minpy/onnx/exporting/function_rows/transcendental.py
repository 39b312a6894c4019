"""Powers, logarithms and angles of NumPy's that ONNX has no operator for: made up of others, losing no digits."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.function_rows.elementwise import sign_bit
from minpy.onnx.exporting.row_parts import either, is_nan, loop_dtypes, number, real_only

__all__ = ["ROWS"]

ROWS = Rows()


# -- powers ------------------------------------------------------------------------------------------------------------


@ROWS.enter("power power_of_array float_power")
def _power(call: NodeCall, base: Any, exponent: Any, dtype: Any = None) -> Any:
    dtypes = call.loop([base, exponent], dtype)
    if call.key == "float_power":
        dtypes = [numpy.result_type(*dtypes[:2], numpy.float64)] * 3
    real_only(call, *dtypes)
    taken = dtypes[0]
    if taken.kind == "f":
        return call.node("Pow", call.array(base, taken), call.array(exponent, dtypes[1]))
    power = exponent.value if isinstance(exponent, Operand) else numpy.asarray(exponent)
    if power is not None and not power.ndim and power >= 0:
        return _whole_power(call, base, int(power), taken)
    # onnxruntime computes powers of integers in float64: by the bits of the exponent they are exact, modulo 2**64.
    return _power_by_bits(call, base, exponent, taken)


def _whole_power(call: NodeCall, base: Any, exponent: int, dtype: numpy.dtype) -> str:
    square = call.array(base, numpy.int64)
    result: str | None = None
    while exponent:
        if exponent & 1:
            result = square if result is None else call.node("Mul", result, square)
        exponent >>= 1
        if exponent:
            square = call.node("Mul", square, square)
    if result is None:
        return call.node("Expand", number(call, 1, dtype), call.ints(call.shape))
    return result if dtype == numpy.int64 else call.cast(result, dtype)


def _power_by_bits(call: NodeCall, base: Any, exponent: Any, dtype: numpy.dtype) -> str:
    square, left = call.array(base, numpy.int64), call.array(exponent, numpy.int64)
    two, one = number(call, 2, numpy.int64), number(call, 1, numpy.int64)
    result = one
    for _ in range(6):  # a base other than 0, 1 and -1 is 0 or meaningless from the 64th power on
        is_odd = call.cast(call.node("Mod", left, two), numpy.bool_)
        result = call.node("Mul", result, call.node("Where", is_odd, square, one))
        left = call.node("Div", left, two)
        square = call.node("Mul", square, square)
    return result if dtype == numpy.int64 else call.cast(result, dtype)


@ROWS.enter("exp2")
def _exp2(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x], dtype)[0]
    return call.node("Pow", number(call, 2, taken), call.array(x, taken))


@ROWS.enter("cbrt")
def _cbrt(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x], dtype)[0]
    value = call.array(x, taken)
    size = call.node("Abs", value)
    root = call.node("Pow", size, number(call, 1 / 3, taken))
    # One step of Newton's, as a third is rounded: root - (root - size / root**2) / 3.
    square = call.node("Mul", root, root)
    beyond = call.node("Sub", root, call.node("Div", size, square))
    better = call.node("Sub", root, call.node("Mul", beyond, number(call, 1 / 3, taken)))
    chosen = call.node("Where", is_nan(call, better), root, better)
    is_negative = call.node("Less", value, number(call, 0, taken))
    return call.node("Where", is_negative, call.node("Neg", chosen), chosen)


@ROWS.enter("hypot")
def _hypot(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x1, x2], dtype)[0]
    first, second = (call.node("Abs", call.array(value, taken)) for value in (x1, x2))
    infinite = number(call, numpy.inf, taken)
    longer, shorter = call.node("Max", first, second), call.node("Min", first, second)
    ratio = call.node("Div", shorter, longer)
    one = number(call, 1, taken)
    length = call.node("Mul", longer, call.node("Sqrt", call.node("Add", call.node("Mul", ratio, ratio), one)))
    length = call.node("Where", call.node("Equal", longer, number(call, 0, taken)), longer, length)
    is_infinite = either(call, *(call.node("Equal", side, infinite) for side in (first, second)))
    return call.node("Where", is_infinite, infinite, length)


# -- logarithms --------------------------------------------------------------------------------------------------------


@ROWS.enter("log2 log10")
def _logarithm(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x], dtype)[0]
    value, base = call.array(x, taken), 2 if call.key == "log2" else 10
    quotient = call.node("Div", call.node("Log", value), number(call, numpy.log(base), taken))
    # Of whole powers the logarithm is whole, not a little less: people round it down.
    whole = call.node("Round", quotient)
    is_whole = call.node("Equal", call.node("Pow", number(call, base, taken), whole), value)
    return call.node("Where", is_whole, whole, quotient)


@ROWS.enter("log1p")
def _log1p(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x], dtype)[0]
    return log1p(call, call.array(x, taken), taken)


def log1p(call: NodeCall, x: str, dtype: numpy.dtype) -> str:
    """Return the logarithm of 1 + x; near 0 what the sum loses is given back (W. Kahan's way)."""
    one = number(call, 1, dtype)
    total = call.node("Add", x, one)
    logarithm = call.node("Log", total)
    better = call.node("Mul", logarithm, call.node("Div", x, call.node("Sub", total, one)))
    better = call.node("Where", call.node("Equal", total, one), x, better)
    is_near = call.node("Less", call.node("Abs", x), number(call, 0.5, dtype))
    name: str = call.node("Where", is_near, better, logarithm)
    return name


@ROWS.enter("expm1")
def _expm1(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x], dtype)[0]
    return expm1(call, call.array(x, taken), taken)


def expm1(call: NodeCall, x: str, dtype: numpy.dtype) -> str:
    """Return exp(x) - 1; near 0 by the hyperbolic tangent, which loses nothing: 2 t / (1 - t), t = tanh(x / 2)."""
    one = number(call, 1, dtype)
    half = call.node("Tanh", call.node("Mul", x, number(call, 0.5, dtype)))
    near = call.node("Div", call.node("Add", half, half), call.node("Sub", one, half))
    is_near = call.node("Less", call.node("Abs", x), one)
    name: str = call.node("Where", is_near, near, call.node("Sub", call.node("Exp", x), one))
    return name


@ROWS.enter("logaddexp logaddexp2")
def _logaddexp(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x1, x2], dtype)[0]
    left, right = call.array(x1, taken), call.array(x2, taken)
    distance = call.node("Neg", call.node("Abs", call.node("Sub", left, right)))
    if call.key == "logaddexp":
        beyond = log1p(call, call.node("Exp", distance), taken)
        at_same = number(call, numpy.log(2), taken)
    else:
        natural = log1p(call, call.node("Pow", number(call, 2, taken), distance), taken)
        beyond = call.node("Mul", natural, number(call, 1 / numpy.log(2), taken))
        at_same = number(call, 1, taken)
    beyond = call.node("Where", call.node("Equal", left, right), at_same, beyond)  # two infinities, too
    return call.node("Add", call.node("Max", left, right), beyond)


# -- angles ------------------------------------------------------------------------------------------------------------


@ROWS.enter("deg2rad radians rad2deg degrees")
def _converted(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x], dtype)[0]
    factor = numpy.pi / 180 if call.key in ("deg2rad", "radians") else 180 / numpy.pi
    return call.node("Mul", call.array(x, taken), number(call, factor, taken))


@ROWS.enter("arctan2")
def _arctan2(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x1, x2], dtype)[0]
    y, x = call.array(x1, taken), call.array(x2, taken)
    height, width = call.node("Abs", y), call.node("Abs", x)
    # Two that are equal may be zeros, or infinities, which have no quotient.
    at_same = call.cast(call.node("Greater", height, number(call, 0, taken)), taken)
    ratio = call.node("Where", call.node("Equal", height, width), at_same, call.node("Div", height, width))
    angle = call.node("Atan", ratio)
    turned = call.node("Sub", number(call, numpy.pi, taken), angle)
    angle = call.node("Where", sign_bit(call, x, taken), turned, angle)
    return call.node("Where", sign_bit(call, y, taken), call.node("Neg", angle), angle)


@ROWS.enter("sinc")
def _sinc(call: NodeCall, x: Any) -> Any:
    dtype = call.result_dtype
    real_only(call, dtype)
    value = call.node("Mul", call.array(x, dtype), number(call, numpy.pi, dtype))
    is_zero = call.node("Equal", value, number(call, 0, dtype))
    return call.node("Where", is_zero, number(call, 1, dtype), call.node("Div", call.node("Sin", value), value))
