"""Functions of single elements as instructions of LLVM, with the results of NumPy, NaN and signed zeros included.

Integers wrap, and no operand makes them fail. Where NumPy's answer depends on how it was compiled, these say what they
give: casts of floats to integers that do not hold them (see `casts`), and the zero that the largest of two zeros of
different signs is (the second, as x86 has it).
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Sequence

import numpy

from minpy.backends.native import mathematics
from minpy.backends.native.kernels.casts import cast
from minpy.backends.native.kernels.function_writer import Writer, value_type
from minpy.backends.native.language.function_table import ELEMENTWISE, is_supported
from minpy.backends.native.mathematics.scalar_function import Value, where

__all__ = ["covers", "flops", "power_source", "write"]

Function = Callable[..., Value]


def covers(function: str, dtype: numpy.dtype) -> bool:
    """Tell whether kernels can compute a function of operands of a dtype; what they cannot has to be a call.

    Powers of integers are those with exponents that are not negative: NumPy refuses others, which no kernel can.

    Examples
    --------
    >>> covers("tanh", numpy.dtype("float32")), covers("tanh", numpy.dtype("int32"))
    (True, False)
    """
    row = ELEMENTWISE.get(function)
    if row is None or not is_supported(dtype) or dtype.kind not in row.kinds:
        return False
    if dtype.kind != "f" or function in _FUNCTIONS["f"] or function in ("cast", "copy", "where"):
        return True
    return all(mathematics.covers(part, value_type(dtype)) for part in _COMPOSED.get(function, (function,)))


def flops(function: str, dtype: numpy.dtype) -> int:
    """Return about how many operations a function takes, for estimates.

    >>> flops("add", numpy.dtype("float32")), flops("copy", numpy.dtype("float32"))
    (1, 0)
    """
    if function in ("copy", "where", "cast"):
        return 0
    if dtype.kind == "f" and (function not in _FUNCTIONS["f"] or function in _COMPOSED):
        return 20
    return _COSTS.get(function, 1)


_COSTS = {"divide": 4, "sqrt": 4, "reciprocal": 4, "floor_divide": 20, "remainder": 20, "fmod": 20, "power": 20}


def write(
    writer: Writer, function: str, dtype: numpy.dtype, values: Sequence[str], target: numpy.dtype | None = None
) -> str:
    """Write a function of values, and return the name of the result.

    `dtype`: of the operands (of `where`: of the last two). `values`: names, or literals. `target`: what a cast gives.

    Raises ValueError if there is no such function of that dtype.
    """
    if function == "copy":
        return values[0]
    kind = value_type(dtype)
    operands = [Value(writer, kind, value, dtype.kind not in "bu") for value in values]
    if function == "cast":
        assert target is not None
        return cast(operands[0], dtype, target).name
    if function == "where":
        return where(Value(writer, "i1", values[0]), *operands[1:]).name
    if not covers(function, dtype):
        raise ValueError(f"there is no native code for {function} of {dtype}: it has to be a call.")
    if function in _FUNCTIONS[dtype.kind]:
        return _FUNCTIONS[dtype.kind][function](*operands).name
    return _called(function, *operands).name


def _called(function: str, *values: Value) -> Value:
    """Write a call of a function of mathematics."""
    writer, kind = values[0].writer, values[0].type
    writer.uses.add((function, kind))
    name = power_symbol(kind) if kind.startswith("i") else mathematics.symbol(function, kind)
    # The tables that some of them read are accesses of the loop, too, once they are inlined.
    mark = "" if kind.startswith("i") else writer.mark()
    return values[0].result(f"call {kind} @{name}({', '.join(f'{kind} {value.name}' for value in values)}){mark}")


# -- floats ----------------------------------------------------------------------------------------------------------


def _scaled(factor: Callable[[type], float]) -> Function:
    return lambda a: a * float(factor(numpy.float32 if a.type == "float" else numpy.float64))


def _extreme(name: str, more: str) -> Function:
    """The larger or smaller of two; the first NaN, if there is one; one of equals, the second where that is cheap."""

    def written(a: Value, b: Value) -> Value:
        if _is_number(b):
            return where(a.compared(f"u{more}", "", b), a, b)
        if _is_number(a):
            return where(a.compared(f"o{more}", "", b), a, b)
        return a.call(name, b, flags="nsz ")

    return written


def _is_number(value: Value) -> bool:
    """Tell whether a float is a literal, and not NaN."""
    literal = value.name
    return literal.startswith("0x") and not math.isnan(struct.unpack(">d", bytes.fromhex(literal[2:]))[0])


def _sign(a: Value) -> Value:
    return where(a > 0, 1, where(a < 0, -1, a.operand(0)))


def _heaviside(a: Value, b: Value) -> Value:
    return where(a.is_nan(), a, where(a.equals(0), b, where(a < 0, 0, a.operand(1))))


def _float_divmod(a: Value, b: Value) -> tuple[Value, Value]:
    """Return the quotient rounded down and the remainder with the divisor's sign: `npy_divmod`, step by step."""
    remainder = a % b
    quotient = (a - remainder) / b
    is_inexact = remainder.differs(0)
    signs_differ = ((b < 0) ^ (remainder < 0)) & is_inexact
    quotient = where(signs_differ, quotient - 1, quotient)
    remainder = where(signs_differ, remainder + b, remainder)
    remainder = where(is_inexact, remainder, b.operand(0).with_sign_of(b))
    floor = quotient.floor()
    floor = where(quotient - floor > 0.5, floor + 1, floor)
    exact = a / b
    floor = where(quotient.differs(0), floor, b.operand(0).with_sign_of(exact))
    return where(b.equals(0), exact, floor), remainder


def _logaddexp(power: str, log_of_two: float, scale: float) -> Function:
    """The larger one, and what the other adds to its logarithm."""

    def written(a: Value, b: Value) -> Value:
        difference = a - b
        added = _called("log1p", _called(power, -abs(difference)))
        if scale != 1:
            added = added * scale
        result = where(difference.is_nan(), difference, where(difference > 0, a, b) + added)
        return where(a.equals(b), a + log_of_two, result)  # of infinities, too

    return written


# The functions of mathematics that others are composed of.
_COMPOSED = {"logaddexp": ("exp", "log1p"), "logaddexp2": ("exp2", "log1p")}


# -- integers ----------------------------------------------------------------------------------------------------------


def _lowest(a: Value) -> int:
    return -(1 << int(a.type[1:]) - 1)


def _reciprocal(a: Value) -> Value:
    """NumPy casts 1.0 / a: of zero that gives what an infinity gives."""
    result = where(a.equals(1), 1, a.operand(0))
    if a.is_signed:
        result = where(a.equals(-1), -1, result)
    return where(a.equals(0), _lowest(a), result) if a.is_signed and a.type in ("i32", "i64") else result


def _nonzero_divisor(a: Value, b: Value) -> Value:
    """Return a divisor that can be divided by: 1 in place of zero, and of -1 where the quotient would have no place."""
    refused = b.equals(0)
    if a.is_signed:
        refused = refused | (b.equals(-1) & a.equals(_lowest(a)))
    return where(refused, 1, b)


def _rounds_down(remainder: Value, divisor: Value) -> Value:
    return remainder.differs(0) & ((remainder ^ divisor) < 0)


def _floor_divide(a: Value, b: Value) -> Value:
    divisor = _nonzero_divisor(a, b)
    quotient = a / divisor  # the lowest number by -1 is divided by 1: it wraps to itself
    return where(b.equals(0), 0, where(_rounds_down(a % divisor, divisor), quotient - 1, quotient))


def _remainder(a: Value, b: Value) -> Value:
    divisor = _nonzero_divisor(a, b)
    remainder = a % divisor
    return where(b.equals(0), 0, where(_rounds_down(remainder, divisor), remainder + divisor, remainder))


def _fmod(a: Value, b: Value) -> Value:
    return where(b.equals(0), 0, a % _nonzero_divisor(a, b))


def _left_shift(a: Value, b: Value) -> Value:
    is_inside = b.unsigned() < int(a.type[1:])
    return where(is_inside, a << where(is_inside, b, 0), 0)


def _right_shift(a: Value, b: Value) -> Value:
    bits = int(a.type[1:])
    is_inside = b.unsigned() < bits
    if a.is_signed:
        return a >> where(is_inside, b, bits - 1)
    return where(is_inside, a >> where(is_inside, b, 0), 0)


def _power(base: Value, exponent: Value) -> Value:
    if exponent.name.startswith("%") or int(exponent.name) < 0:
        return _called("power", base, exponent)
    result, square, bits = base.operand(1), base, int(exponent.name)
    while bits:
        if bits & 1:
            result = result * square
        bits >>= 1
        if bits:
            square = square * square
    return result


def power_symbol(kind: str) -> str:
    """Return the name of the function that `power_source` defines."""
    return f"minpy_power_{kind}"


def power_source(kind: str) -> str:
    """Return the definition of a power of integers, by squaring; the exponent is read without a sign.

    >>> power_source("i32").splitlines()[0]
    'define internal i32 @minpy_power_i32(i32 %x, i32 %n) memory(none) nounwind {'
    """
    return f"""define internal {kind} @{power_symbol(kind)}({kind} %x, {kind} %n) memory(none) nounwind {{
entry:
  br label %again
again:
  %result = phi {kind} [ 1, %entry ], [ %next, %again ]
  %square = phi {kind} [ %x, %entry ], [ %squared, %again ]
  %left = phi {kind} [ %n, %entry ], [ %rest, %again ]
  %bit = trunc {kind} %left to i1
  %product = mul {kind} %result, %square
  %next = select i1 %bit, {kind} %product, {kind} %result
  %squared = mul {kind} %square, %square
  %rest = lshr {kind} %left, 1
  %done = icmp eq {kind} %rest, 0
  br i1 %done, label %end, label %again
end:
  ret {kind} %next
}}"""


# -- tables ------------------------------------------------------------------------------------------------------------

_COMPARISONS: dict[str, Function] = {
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
    "equal": Value.equals,
    "not_equal": Value.differs,
}
_ARITHMETIC: dict[str, Function] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "negative": operator.neg,
    "absolute": abs,
    "square": lambda a: a * a,
}
_BITWISE: dict[str, Function] = {
    "invert": operator.invert,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}
_FLOATS: dict[str, Function] = {
    "divide": operator.truediv,
    "fmod": operator.mod,
    "reciprocal": lambda a: 1 / a,
    "sqrt": Value.sqrt,
    "floor": Value.floor,
    "ceil": lambda a: a.call("ceil"),
    "trunc": Value.trunc,
    "rint": Value.rint,
    "copysign": Value.with_sign_of,
    "deg2rad": _scaled(lambda kind: kind(math.pi) / kind(180)),
    "rad2deg": _scaled(lambda kind: kind(180) / kind(math.pi)),
    "sign": lambda a: where(a.is_nan(), a, _sign(a)),
    "heaviside": _heaviside,
    "maximum": _extreme("maximum", "gt"),
    "minimum": _extreme("minimum", "lt"),
    "fmax": lambda a, b: where((a > b) | b.is_nan(), a, b),
    "fmin": lambda a, b: where((a < b) | b.is_nan(), a, b),
    "floor_divide": lambda a, b: _float_divmod(a, b)[0],
    "remainder": lambda a, b: _float_divmod(a, b)[1],
    "isnan": Value.is_nan,
    "isinf": lambda a: abs(a).equals(math.inf),
    "isfinite": lambda a: abs(a) < math.inf,
    "signbit": lambda a: a.bits() < 0,
    "logaddexp": _logaddexp("exp", math.log(2), 1),
    "logaddexp2": _logaddexp("exp2", 1.0, 1 / math.log(2)),
}
_INTEGERS: dict[str, Function] = {
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "fmod": _fmod,
    "power": _power,
    "sign": _sign,
    "reciprocal": _reciprocal,
    "maximum": lambda a, b: where(a > b, a, b),
    "minimum": lambda a, b: where(a < b, a, b),
    "left_shift": _left_shift,
    "right_shift": _right_shift,
}
_BOOLS: dict[str, Function] = {
    "add": operator.or_,
    "multiply": operator.and_,
    "maximum": operator.or_,
    "minimum": operator.and_,
    "logical_not": operator.invert,
    "logical_and": operator.and_,
    "logical_or": operator.or_,
    "logical_xor": operator.xor,
}
# By the kind of a dtype.
_FUNCTIONS: dict[str, dict[str, Function]] = {
    "f": {**_COMPARISONS, **_ARITHMETIC, **_FLOATS},
    "b": {**_COMPARISONS, **_BITWISE, **_BOOLS},
    "i": {**_COMPARISONS, **_ARITHMETIC, **_BITWISE, **_INTEGERS},
}
_FUNCTIONS["u"] = _FUNCTIONS["i"]
