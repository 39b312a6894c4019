"""power, cbrt and hypot."""

from __future__ import annotations

from minpy.graph.native.mathematics import coefficients
from minpy.graph.native.mathematics.exponentials import LOG2_E, between, nearest_integer, power_of_two
from minpy.graph.native.mathematics.logarithms import split
from minpy.graph.native.mathematics.writing import Value, polynomial, where

__all__ = ["cbrt", "hypot", "power"]

INFINITY = float("inf")


def power(x: Value, y: Value) -> Value:
    """exp2(y · log2|x|) in double precision; its exponents hold all that float32 can, the smallest numbers, too."""
    base, exponent = abs(x).to_double(), y.to_double()
    _, k, m = split(base)
    s = (m - 1) / (m + 1)
    z = s * s
    logarithm = s * (z * polynomial(z, coefficients.LOG_QUOTIENT["float"]) + 2)
    logarithm = logarithm * LOG2_E + k
    logarithm = where(base.equals(0), -INFINITY, where(base < INFINITY, logarithm, base))
    t = between(-151.0, exponent * logarithm, 129.0)
    count, n = nearest_integer(t)
    r = t - count
    result = ((r * polynomial(r, coefficients.EXP2["float"]) + 1) * power_of_two(n)).to_float()
    return _signed_power(x, y, result)


def _signed_power(x: Value, y: Value, result: Value) -> Value:
    """Return x**y where |x|**y is `result` (C99, F.9.4.4)."""
    half = y * 0.5
    integer, odd = y.trunc().equals(y), half.trunc().differs(half)
    one = x.writer.constant(x.type, 1.0)
    result = where(abs(x).equals(1) & abs(y).equals(INFINITY), one, result)
    result = where((x.bits() < 0) & integer & odd, -result, result)
    result = where((x < 0) & (x > -INFINITY) & ~integer, float("nan"), result)
    return where(y.equals(0) | x.equals(1), one, result)


def hypot(x: Value, y: Value) -> Value:
    x, y = abs(x).to_double(), abs(y).to_double()
    result = (x * x + y * y).sqrt()
    return where(x.equals(INFINITY) | y.equals(INFINITY), INFINITY, result).to_float()


def cbrt(x: Value) -> Value:
    raise NotImplementedError
