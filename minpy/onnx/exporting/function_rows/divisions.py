"""Functions of NumPy's that divide, round, and take numbers apart; those of bits and of whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.emitter import EmittedGraph
from minpy.onnx.exporting.function_rows.elementwise import sign_bit
from minpy.onnx.exporting.row_parts import either, is_nan, loop_dtypes, number, real_only, wide

__all__ = ["ROWS", "truncated"]

ROWS = Rows()


def truncated(call: NodeCall, x: str, dtype: numpy.dtype) -> str:
    """Return an array without what is behind the point."""
    is_negative = call.node("Less", x, number(call, 0, dtype))
    name: str = call.node("Where", is_negative, call.node("Ceil", x), call.node("Floor", x))
    return name


@ROWS.enter("trunc fix")
def _trunc(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    taken = call.result_dtype if call.key == "fix" else loop_dtypes(call, [x], dtype)[0]
    real_only(call, taken)
    value = call.array(x, taken)
    return truncated(call, value, taken) if taken.kind == "f" else value


@ROWS.enter("modf")
def _modf(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x], dtype)[0]
    value = call.array(x, taken)
    whole = truncated(call, value, taken)
    is_infinite = call.node("Equal", call.node("Abs", value), number(call, numpy.inf, taken))
    fraction = call.node("Where", is_infinite, number(call, 0, taken), call.node("Sub", value, whole))
    return fraction, whole


@ROWS.enter("frexp")
def _frexp(call: NodeCall, x: Any) -> Any:
    taken = loop_dtypes(call, [x])[0]
    value, two = call.array(x, taken), number(call, 2, taken)
    size = call.node("Abs", value)
    one, zero = number(call, 1, taken), number(call, 0, taken)
    is_ordinary = call.node(
        "And", call.node("Greater", size, zero), call.node("Less", size, number(call, numpy.inf, taken))
    )
    size = call.node("Where", is_ordinary, size, one)
    exponent = call.node("Floor", call.node("Div", call.node("Log", size), number(call, numpy.log(2), taken)))
    # The logarithm may be rounded to the next whole number: one up or down.
    power = call.node("Pow", two, exponent)
    exponent = call.node("Sub", exponent, call.cast(call.node("Greater", power, size), taken))
    power = call.node("Pow", two, exponent)
    is_more = call.node("GreaterOrEqual", call.node("Div", size, power), two)
    exponent = call.node("Add", call.node("Add", exponent, one), call.cast(is_more, taken))
    # Halves of the exponent, as 2 to the whole of it may be too large a number.
    half = call.node("Floor", call.node("Div", exponent, two))
    mantissa = call.node("Div", value, call.node("Pow", two, half))
    mantissa = call.node("Div", mantissa, call.node("Pow", two, call.node("Sub", exponent, half)))
    exponent = call.node("Where", is_ordinary, exponent, zero)
    return call.node("Where", is_ordinary, mantissa, value), call.cast(exponent, call.results[1].dtype)


@ROWS.enter("ldexp")
def _ldexp(call: NodeCall, x1: Any, x2: Any) -> Any:
    taken = loop_dtypes(call, [x1, x2])[0]
    two, whole = number(call, 2, numpy.int64), call.array(x2, numpy.int64)
    half = call.node("Div", whole, two)
    power = number(call, 2, taken)
    scaled = call.node("Mul", call.array(x1, taken), call.node("Pow", power, call.cast(half, taken)))
    remaining = call.cast(call.node("Sub", whole, half), taken)
    return call.node("Mul", scaled, call.node("Pow", power, remaining))


# -- division ----------------------------------------------------------------------------------------------------------


class _Division:
    """Operands of a division in the dtype of the loop; of integers, with no zero to divide by."""

    def __init__(self, call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> None:
        self.call = call
        self.taken = loop_dtypes(call, [x1, x2], dtype)[0]
        if self.taken.kind == "b":
            self.taken = numpy.dtype("int8")
        self.dtype = wide(self.taken)
        self.left, self.right = call.array(x1, self.dtype), call.array(x2, self.dtype)
        self.zero = number(call, 0, self.dtype)
        divisor = x2.value if isinstance(x2, Operand) else numpy.asarray(x2)
        self.is_zero: str | None = None
        if self.dtype.kind != "f" and (divisor is None or not divisor.all()):
            self.is_zero = call.node("Equal", self.right, self.zero)
            self.right = call.node("Where", self.is_zero, number(call, 1, self.dtype), self.right)
        self.is_positive = divisor is not None and bool((divisor > 0).all())

    def result(self, name: str) -> str:
        """Return a result in the dtype of the call: 0 where integers are divided by 0."""
        if self.is_zero is not None:
            name = self.call.node("Where", self.is_zero, self.zero, name)
        return name if self.dtype == self.taken else self.call.cast(name, self.taken)

    def truncated_remainder(self) -> str:
        name: str = self.call.node("Mod", self.left, self.right, fmod=1)
        return name

    def differs(self, remainder: str) -> str:
        """Return where a remainder, which has the sign of the dividend, has not that of the divisor."""
        call = self.call
        if self.is_positive:
            name: str = call.node("Less", remainder, self.zero)
            return name
        is_other = call.node("Xor", call.node("Less", self.right, self.zero), call.node("Less", remainder, self.zero))
        return str(call.node("And", is_other, call.node("Not", call.node("Equal", remainder, self.zero))))

    def remainder(self) -> str:
        """Return the remainder that has the sign of the divisor."""
        call = self.call
        if self.dtype.kind != "f":
            name: str = call.node("Mod", self.left, self.right)
            return name
        remainder = self.truncated_remainder()
        return str(call.node("Where", self.differs(remainder), call.node("Add", remainder, self.right), remainder))

    def quotient(self) -> str:
        """Return the quotient rounded down."""
        call = self.call
        if self.dtype.kind == "u":
            name: str = call.node("Div", self.left, self.right)
            return name
        if self.dtype.kind != "f":
            return str(call.node("Div", call.node("Sub", self.left, self.remainder()), self.right))
        remainder = self.truncated_remainder()
        quotient = call.node("Div", call.node("Sub", self.left, remainder), self.right)
        quotient = call.node("Sub", quotient, call.cast(self.differs(remainder), self.dtype))
        quotient = call.node("Round", quotient)
        by_zero = call.node("Equal", self.right, self.zero)
        return str(call.node("Where", by_zero, call.node("Div", self.left, self.right), quotient))


@ROWS.enter("remainder")
def _remainder(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
    division = _Division(call, x1, x2, dtype)
    return division.result(division.remainder())


@ROWS.enter("fmod")
def _fmod(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
    division = _Division(call, x1, x2, dtype)
    return division.result(division.truncated_remainder())


@ROWS.enter("floor_divide")
def _floor_divide(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
    division = _Division(call, x1, x2, dtype)
    return division.result(division.quotient())


@ROWS.enter("divmod")
def _divmod(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
    division = _Division(call, x1, x2, dtype)
    return division.result(division.quotient()), division.result(division.remainder())


# -- bits --------------------------------------------------------------------------------------------------------------


def _low_bits(mask: Any) -> int | None:
    """Return the modulus whose remainders a mask of the lowest bits leaves; None for what is no such mask."""
    value = mask.value if isinstance(mask, Operand) else numpy.asarray(mask)
    if value is None or value.ndim or value < 0 or value >= 2**62 or (int(value) + 1) & int(value):
        return None
    return int(value) + 1


def _bitwise(op_type: str, of_truths: str) -> Callable[..., Any]:
    def row(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
        taken = loop_dtypes(call, [x1, x2], dtype)[0]
        if taken.kind == "b":
            return call.node(of_truths, call.array(x1, taken), call.array(x2, taken))
        if call.opset < 18:
            for value, mask in ((x1, x2), (x2, x1)):
                if op_type == "BitwiseAnd" and (modulus := _low_bits(mask)) is not None:
                    remainder = call.node("Mod", call.array(value, numpy.int64), number(call, modulus, numpy.int64))
                    return remainder if taken == numpy.int64 else call.cast(remainder, taken)
            raise call.refuse(f"bits of integers before opset 18 (this is {call.opset})")
        return call.node(op_type, call.array(x1, taken), call.array(x2, taken))

    return row


ROWS.update(
    {f"bitwise_{name.lower()}": _bitwise(f"Bitwise{name}", name) for name in ("And", "Or", "Xor")}
)  # fmt: skip


@ROWS.enter("invert")
def _invert(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x], dtype)[0]
    value = call.array(x, taken)
    if taken.kind == "b":
        return call.node("Not", value)
    if call.opset >= 18:
        return call.node("BitwiseNot", value)
    value = call.array(x, wide(taken))  # -1 - x
    return call.cast(call.node("Sub", number(call, -1, numpy.int64), call.cast(value, numpy.int64)), taken)


@ROWS.enter("left_shift right_shift")
def _shift(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x1, x2], dtype)[0]
    if taken.name == "uint64":
        raise call.refuse("shifts of uint64")
    bits = 8 * taken.itemsize
    # Powers of 2 by the number of places, up to what shifts all bits out.
    powers = numpy.array([1 << place for place in range(63)] + [-(2**63)], numpy.int64)
    places = call.node("Clip", call.array(x2, numpy.int64), number(call, 0, numpy.int64), number(call, 63, numpy.int64))
    factor = call.node("Gather", call.emitter.stored(powers), places, axis=0)
    value = call.array(x1, numpy.int64)
    last = number(call, bits - 1, numpy.int64)
    is_out = call.node("Greater", call.array(x2, numpy.int64), last)
    zero = number(call, 0, numpy.int64)
    if call.key == "left_shift":
        shifted = call.node("Where", is_out, zero, call.node("Mul", value, factor))
    else:
        emptied = call.node("Where", call.node("Less", value, zero), number(call, -1, numpy.int64), zero)
        is_out = either(call, is_out, call.node("Equal", places, number(call, 63, numpy.int64)))
        factor = call.node("Where", is_out, number(call, 1, numpy.int64), factor)
        rounded = call.node("Sub", value, call.node("Mod", value, factor))
        shifted = call.node("Where", is_out, emptied, call.node("Div", rounded, factor))
    return shifted if taken == numpy.int64 else call.cast(shifted, taken)


# -- whole numbers -----------------------------------------------------------------------------------------------------


@ROWS.enter("gcd lcm")
def _gcd(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x1, x2], dtype)[0]
    left, right = (call.node("Abs", call.array(value, numpy.int64)) for value in (x1, x2))
    zero, one = number(call, 0, numpy.int64), number(call, 1, numpy.int64)
    divisor = _euclid(
        call,
        call.node("Add", left, call.node("Mul", right, zero)),
        call.node("Add", right, call.node("Mul", left, zero)),
    )
    if call.key == "lcm":
        safe = call.node("Where", call.node("Equal", divisor, zero), one, divisor)
        divisor = call.node("Mul", call.node("Div", left, safe), right)
    return divisor if taken == numpy.int64 else call.cast(divisor, taken)


def _euclid(call: NodeCall, left: str, right: str) -> str:
    """Return the greatest common divisors of two arrays of one shape, which are not negative, by a loop."""
    outside, body = call.emitter, call.emitter.of_graph()
    int64, truth = numpy.dtype(numpy.int64), numpy.dtype(bool)
    count, go_on, larger, smaller = (
        body.fresh(f"{body.prefix}{name}") for name in ("count", "go_on", "larger", "smaller")
    )
    zero = number(call, 0, int64)
    (is_done,) = body.add("Equal", [smaller, zero], 1, {})
    (divisor,) = body.add("Where", [is_done, number(call, 1, int64), smaller], 1, {})
    (remainder,) = body.add("Mod", [larger, divisor], 1, {})
    (next_larger,) = body.add("Where", [is_done, larger, smaller], 1, {})
    (next_smaller,) = body.add("Where", [is_done, zero, remainder], 1, {})
    (most,) = body.add("ReduceMax", [next_smaller], 1, {"keepdims": 0})
    (is_left,) = body.add("Cast", [most], 1, {"to": truth})
    shape = (-1,) * call.ndim if outside.open_lengths else call.shape
    graph = EmittedGraph(
        f"{body.prefix}euclid",
        body.nodes,
        [(count, (), int64), (go_on, (), truth), (larger, shape, int64), (smaller, shape, int64)],
        [is_left, next_larger, next_smaller],
        [((), truth), (shape, int64), (shape, int64)],
    )
    start = number(call, True, truth)
    return outside.add("Loop", ["", start, left, right], 2, {"body": graph})[0]


# -- neighbours --------------------------------------------------------------------------------------------------------


def _next_away(call: NodeCall, x: str, dtype: numpy.dtype, towards_less: str) -> str:
    """Return the next numbers by their bits: those of numbers that are not zero count up away from it."""
    if call.opset < 26 or dtype.name not in ("float32", "float64"):
        raise call.refuse(f"neighbours of {dtype.name} at opset {call.opset} (of float32 and float64, from 26 on)")
    whole = numpy.dtype("int32" if dtype.name == "float32" else "int64")
    one, zero = number(call, 1, whole), number(call, 0, dtype)
    bits = call.node("BitCast", x, to=whole)
    away = call.node("Not", call.node("Xor", towards_less, call.node("Less", x, zero)))
    stepped = call.node(
        "BitCast", call.node("Add", bits, call.node("Where", away, one, number(call, -1, whole))), to=dtype
    )
    tiny = numpy.nextafter(dtype.type(0), dtype.type(1))
    at_zero = call.node("Where", towards_less, number(call, -tiny, dtype), number(call, tiny, dtype))
    name: str = call.node("Where", call.node("Equal", x, zero), at_zero, stepped)
    return name


@ROWS.enter("nextafter")
def _nextafter(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x1, x2], dtype)[0]
    x, target = call.array(x1, taken), call.array(x2, taken)
    stepped = _next_away(call, x, taken, call.node("Less", target, x))
    result = call.node("Where", call.node("Equal", x, target), target, stepped)
    total = call.node("Add", x, target)
    missing = either(call, is_nan(call, x), is_nan(call, target))
    return call.node("Where", missing, total, result)


@ROWS.enter("spacing")
def _spacing(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x], dtype)[0]
    value = call.array(x, taken)
    is_negative = sign_bit(call, value, taken)
    stepped = _next_away(call, value, taken, is_negative)
    distance = call.node("Sub", stepped, value)
    is_finite = call.node("Less", call.node("Abs", value), number(call, numpy.inf, taken))
    return call.node("Where", is_finite, distance, number(call, numpy.nan, taken))
