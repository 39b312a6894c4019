"""log, log2, log10 and log1p.

x = 2**k · m with m in [sqrt(1/2), sqrt(2)), f = m - 1, s = f / (2 + f): log(1 + f) = 2·artanh(s) = f - s·(f - R), R
even in s (P.-T. P. Tang, Table-driven implementation of the logarithm function in IEEE floating-point arithmetic,
ACM TOMS 16, 1990, describes such steps; no table is used here).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minpy.backends.native.mathematics import coefficients
from minpy.backends.native.mathematics.exponentials import LOG2_E, power_of_two
from minpy.backends.native.mathematics.scalar_function import Value, polynomial, where

__all__ = ["log", "log1p", "log1p_of_sum", "log2", "log10", "split", "split_any"]

Parts = Mapping[str, Sequence[float]]
SQRT_HALF_BITS = {"float": 0x3F3504F3, "double": 0x3FE6A09E667F3BCD}


def split(x: Value) -> tuple[Value, Value, Value]:
    """Return k, as an integer and as a number, and m of a positive finite x that is not below the smallest normal."""
    format = x.format
    one_bits, root_half_bits = format.bias << format.fraction, SQRT_HALF_BITS[format.type]
    bits = x.bits() + (one_bits - root_half_bits)
    k = bits.shifted_right(format.fraction) - format.bias
    m = ((bits & ((1 << format.fraction) - 1)) + root_half_bits).as_number()
    return k, k.to_number(), m


def split_any(x: Value) -> tuple[Value, Value]:
    """Return k, as a number, and m of a positive finite x."""
    format = x.format
    tiny = x < format.smallest_normal
    _, k, m = split(where(tiny, x * 2.0 ** (format.fraction + 1), x))
    return k - where(tiny, x.operand(format.fraction + 1.0), 0.0), m


def log_reduced(f: Value) -> Value:
    """Return what log(1 + f) is less than f."""
    s = f / (f + 2)
    z = s * s
    return s * (f - z * polynomial(z, coefficients.LOG_QUOTIENT[f.type]))


def _from_parts(k: Value, f: Value) -> Value:
    """Return k·log 2 + log(1 + f)."""
    high, low = coefficients.LOG_2[f.type]
    return k * high - ((log_reduced(f) - k * low) - f)


def _outside(x: Value, result: Value, at_pole: Value | float) -> Value:
    """Return the result where x is positive and finite, and what a logarithm is elsewhere."""
    infinity, nan = float("inf"), float("nan")
    pole = where(x.equals(0), at_pole, x.operand(nan))
    return where(x > 0, where(x < infinity, result, x), pole)


def log(x: Value) -> Value:
    """k·log 2 + log(1 + f)."""
    k, m = split_any(x)
    return _outside(x, _from_parts(k, m - 1), float("-inf"))


def log1p(x: Value) -> Value:
    """log(1 + f) + k·log 2, 1 + x = 2**k · (1 + f), f = 2**-k · x + (2**-k - 1): rounded once, exact where k = 0."""
    one_more, count, product, less, _ = _split_one_more(x)
    result = _outside(one_more, _from_parts(count, product + less), float("-inf"))
    return where(abs(x) < 2.0 ** -(x.format.fraction + 3), x, result)


def log1p_of_sum(x: Value, low: Value) -> Value:
    """Return log(1 + x + low), low being a rounding error of x, for 0 <= x < infinity."""
    _, count, product, less, power = _split_one_more(x)
    f = product + less
    # The rounding error of f (D. E. Knuth, The Art of Computer Programming 2, section 4.2.2, theorem B).
    part = f - product
    error = (product - (f - part)) + (less - part) + low * power
    return _from_parts(count, f) + error * (1 - f)


def _split_one_more(x: Value) -> tuple[Value, Value, Value, Value, Value]:
    """Return 1 + x, k, 2**-k · x, 2**-k - 1 and 2**-k, where 1 + x = 2**k · m.

    Where x is so large that 1 is lost in it, m, -1 and 0 stand for the last three.
    """
    fraction = x.format.fraction
    one_more = x + 1
    k, count, m = split(one_more)
    large = x > 2.0 ** (fraction + 2)
    power = where(large, 0.0, power_of_two(where(large, 0, -k)))
    return one_more, count, where(large, m, x * power), power - 1, power


def log2(x: Value) -> Value:
    """k + log2(1 + f), exact for powers of two."""
    k, m = split_any(x)
    if x.type == "float":
        f = m - 1
        curved = log_reduced(f)
        result = (f * (LOG2_E - 1) - curved * (LOG2_E - 1) - curved + f) + k
    else:
        result = _in_base(k, m - 1, coefficients.LOG2_E, {"double": (1.0, 0.0)})
    return _outside(x, result, float("-inf"))


def log10(x: Value) -> Value:
    """k·log10(2) + log10(1 + f)."""
    k, m = split_any(x)
    return _outside(x, _in_base(k, m - 1, coefficients.LOG10_E, coefficients.LOG10_2), float("-inf"))


def _in_base(k: Value, f: Value, inverse: Parts, two: Parts) -> Value:
    """Return log(1 + f) · inverse + k · two, both factors in two parts, with little more than one rounding.

    The logarithm is taken apart so that the product of the high parts is exact (T. J. Dekker, A floating-point
    technique for extending the available precision, Numerische Mathematik 18, 1971).
    """
    (inverse_high, inverse_low), (two_high, two_low) = inverse[f.type], two[f.type]
    half_square = f * f * 0.5
    high = (f - half_square).without_low_bits({"float": 12, "double": 32}[f.type])
    low = ((f - high) - half_square) + (half_square - log_reduced(f))
    product = high * inverse_high
    low_part = (low + high) * inverse_low + low * inverse_high
    whole = k * two_high
    total = whole + product
    return total + (((whole - total) + product) + low_part + k * two_low)
