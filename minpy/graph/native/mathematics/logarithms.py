"""log, log2, log10 and log1p.

x = 2**k · m with m in [sqrt(1/2), sqrt(2)), f = m - 1. float: log(1 + f) = f - f²/2 + f³·P(f). double: with
s = f / (2 + f), log(1 + f) = 2·artanh(s) = f - s·(f - R), R even in s (P.-T. P. Tang, Table-driven implementation of the
logarithm function in IEEE floating-point arithmetic, ACM TOMS 16, 1990, describes both steps; no table is used here).
"""

from __future__ import annotations

from collections.abc import Sequence

from minpy.graph.native.mathematics import coefficients
from minpy.graph.native.mathematics.exponentials import power_of_two
from minpy.graph.native.mathematics.writing import Value, polynomial, where

__all__ = ["log", "log1p", "log2", "log10", "log_reduced", "split"]

SQRT_HALF_BITS = {"float": 0x3F3504F3, "double": 0x3FE6A09E667F3BCD}


def split(x: Value) -> tuple[Value, Value, Value]:
    """Return k, as an integer and as a number, and m of a positive finite x that is not below the smallest normal."""
    format = x.format
    one, half = format.bias << format.fraction, SQRT_HALF_BITS[format.type]
    bits = x.bits() + (one - half)
    k = bits.shifted_right(format.fraction) - format.bias
    m = ((bits & ((1 << format.fraction) - 1)) + half).as_number()
    return k, k.to_number(), m


def _split_any(x: Value) -> tuple[Value, Value]:
    """Return k, as a number, and m of a positive finite x."""
    format = x.format
    tiny = x < format.smallest_normal
    _, k, m = split(where(tiny, x * 2.0 ** (format.fraction + 1), x))
    return k - where(tiny, x.writer.constant(x.type, format.fraction + 1.0), 0.0), m


def log_reduced(f: Value) -> tuple[Value, Value]:
    """Return h = f²/2 and what is added to f - h for log(1 + f)."""
    half_square = f * f * 0.5
    if f.type == "float":
        return half_square, f * (f * f) * polynomial(f, coefficients.LOG["float"])
    s = f / (f + 2)
    z = s * s
    return half_square, s * (half_square + z * polynomial(z, coefficients.LOG_QUOTIENT["double"]))


def _from_parts(k: Value, f: Value) -> Value:
    """Return k·log 2 + log(1 + f)."""
    high, low = coefficients.LOG_2[f.type]
    half_square, rest = log_reduced(f)
    return ((rest + k * low) - half_square + f) + k * high


def _outside(x: Value, result: Value, at_pole: Value | float) -> Value:
    """Return the result where x is positive and finite, and what a logarithm is elsewhere."""
    infinity, nan = float("inf"), float("nan")
    pole = where(x.equals(0), at_pole, x.writer.constant(x.type, nan))
    return where(x > 0, where(x < infinity, result, x), pole)


def log(x: Value) -> Value:
    k, m = _split_any(x)
    return _outside(x, _from_parts(k, m - 1), float("-inf"))


def log1p(x: Value) -> Value:
    """log(1 + f) + k·log 2 with 1 + x = 2**k · (1 + f), f = 2**-k · x + (2**-k - 1): rounded once, exact where k = 0."""
    fraction = x.format.fraction
    one_more = x + 1
    k, count, m = split(one_more)
    large = x > 2.0 ** (fraction + 2)
    power = power_of_two(where(large, k.writer.constant(k.type, 0), -k))
    f = where(large, m - 1, x * power + (power - 1))
    result = _outside(one_more, _from_parts(count, f), float("-inf"))
    return where(abs(x) < 2.0 ** -(fraction + 3), x, result)


def log2(x: Value) -> Value:
    k, m = _split_any(x)
    f = m - 1
    if x.type == "float":
        half_square, rest = log_reduced(f)
        rest = rest - half_square
        result = (rest * 0.44269504088896340736 + f * 0.44269504088896340736 + rest + f) + k
    else:
        result = _in_base(k, f, coefficients.LOG2_E["double"], (1.0, 0.0))
    return _outside(x, result, float("-inf"))


def log10(x: Value) -> Value:
    if x.type == "float":
        return log10(x.to_double()).to_float()
    k, m = _split_any(x)
    result = _in_base(k, m - 1, coefficients.LOG10_E["double"], coefficients.LOG10_2["double"])
    return _outside(x, result, float("-inf"))


def _in_base(k: Value, f: Value, inverse: Sequence[float], two: Sequence[float]) -> Value:
    """Return log(1 + f) · inverse + k · two, both factors in two parts, with little more than one rounding.

    The logarithm is taken apart so that the product of the high parts is exact (T. J. Dekker, A floating-point
    technique for extending the available precision, Numerische Mathematik 18, 1971).
    """
    half_square, rest = log_reduced(f)
    high = (f - half_square).without_low_bits(32)
    low = (f - high) - half_square + rest
    products = high * inverse[0], (low + high) * inverse[1] + low * inverse[0]
    whole = k * two[0]
    total = whole + products[0]
    return total + (((whole - total) + products[0]) + products[1] + k * two[1])
