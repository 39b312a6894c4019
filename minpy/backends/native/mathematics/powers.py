"""power, cbrt and hypot."""

from __future__ import annotations

from minpy.backends.native.mathematics import coefficients
from minpy.backends.native.mathematics.exponentials import LOG2_E, between, nearest_integer, power_of_two, scaled
from minpy.backends.native.mathematics.logarithms import split, split_any
from minpy.backends.native.mathematics.scalar_function import Value, polynomial, where

__all__ = ["cbrt", "hypot", "power"]

INFINITY = float("inf")


def power(x: Value, y: Value) -> Value:
    """exp2(y · log2|x|), the logarithm and its product with more precision than the result."""
    return _signed_power(x, y, _power_single(x, y) if x.type == "float" else _power_double(x, y))


def _power_single(x: Value, y: Value) -> Value:
    """In double precision, whose exponents hold all that float32 can, the smallest numbers, too."""
    base, exponent = abs(x).to_double(), y.to_double()
    _, k, m = split(base)
    s = (m - 1) / (m + 1)
    z = s * s
    logarithm = s * (z * polynomial(z, coefficients.LOG_QUOTIENT_SHORT["double"]) + 2)
    logarithm = logarithm * LOG2_E + k
    logarithm = where(base.equals(0), -INFINITY, where(base < INFINITY, logarithm, base))
    t = between(-151.0, exponent * logarithm, 129.0)
    count, n = nearest_integer(t)
    r = t - count
    return ((r * polynomial(r, coefficients.EXP2["float"]) + 1) * power_of_two(n)).to_float()


def _power_double(x: Value, y: Value) -> Value:
    """With the logarithm as a sum of two numbers, the first of 26 bits, so that its product with half of y is exact.

    All products of leading parts are exact in this way (T. J. Dekker, Numerische Mathematik 18, 1971). With
    s = (m - 1) / (m + 1), log2(m) = 2 / (3·log 2) · s · (3 + s² + r), r = (3/5)·s⁴ + …; the relative error of the
    logarithm is about 2**-65.
    """
    base = abs(x)
    k, m = split_any(base)
    f, divisor = m - 1, m + 1
    divisor_low = m - (divisor - 1)
    divisor_high = divisor.without_low_bits(27)
    inverse = 1 / divisor
    s_high = (f * inverse).without_low_bits(27)
    residual = (f - s_high * divisor_high) - s_high * (divisor - divisor_high) - s_high * divisor_low
    s_low = residual * inverse
    s = s_high + s_low
    square = s_high * s_high
    square_low = (s_high + s) * s_low
    z = square + square_low
    r = square_low + z * z * polynomial(z, coefficients.LOG_POWER["double"])
    t_high = (3 + square + r).without_low_bits(27)
    t_low = r - ((t_high - 3) - square)
    u = s_high * t_high
    v = s_low * t_high + t_low * s
    p_high = (u + v).without_low_bits(27)
    p_low = v - (p_high - u)
    factor_high, factor_low = coefficients.CUBED_LOGARITHM["double"]
    z_high = factor_high * p_high
    z_low = factor_low * p_high + p_low * (factor_high + factor_low)
    log_high = (k + z_high + z_low).without_low_bits(27)
    log_low = z_low - ((log_high - k) - z_high)
    # No logarithm but 0 is so small that more than this would make a difference; NaN stays.
    y = between(-(2.0**65), y, 2.0**65)
    y_high = y.without_low_bits(27)
    product = y_high * log_high
    product_low = (y - y_high) * log_high + y * log_low
    total = product + product_low
    outside = abs(total) > 1100
    count, n = nearest_integer(between(-1100.0, total, 1030.0))
    r = where(outside, 0.0, (product - count) + product_low)
    result = scaled(r * polynomial(r, coefficients.EXP2["double"]) + 1, n)
    result = where(base.equals(0), where(y < 0, INFINITY, y * 0), result)
    return where(base < INFINITY, result, where(base.equals(INFINITY), where(y < 0, 0.0, y + INFINITY), base))


def _signed_power(x: Value, y: Value, result: Value) -> Value:
    """Return x**y where |x|**y is `result` (C99, F.9.4.4)."""
    half = y * 0.5
    integer, odd = y.trunc().equals(y), half.trunc().differs(half)
    result = where(abs(x).equals(1) & abs(y).equals(INFINITY), 1.0, result)
    result = where((x.bits() < 0) & integer & odd, -result, result)
    result = where((x < 0) & (x > -INFINITY) & ~integer, float("nan"), result)
    return where(y.equals(0) | x.equals(1), 1.0, result)


def hypot(x: Value, y: Value) -> Value:
    """sqrt(x² + y²): in double precision, or with both moved away from overflow and underflow."""
    if x.type == "float":
        x, y = abs(x).to_double(), abs(y).to_double()
        result = (x * x + y * y).sqrt().to_float()
        return where(x.equals(INFINITY) | y.equals(INFINITY), INFINITY, result)
    x, y = abs(x), abs(y)
    unscaled = x.operand(1.0)
    large, small = (x > 2.0**500) | (y > 2.0**500), (x < 2.0**-500) & (y < 2.0**-500)
    down = where(large, 2.0**-600, where(small, 2.0**600, unscaled))
    up = where(large, 2.0**600, where(small, 2.0**-600, unscaled))
    u, v = x * down, y * down
    result = (u * u + v * v).sqrt() * up
    return where(x.equals(INFINITY) | y.equals(INFINITY), INFINITY, result)


def cbrt(x: Value) -> Value:
    """A polynomial, a step of Halley's method, and one of Newton's from 26 bits, whose square is exact."""
    if x.type == "float":
        return cbrt(x.to_double()).to_float()
    magnitude = abs(x)
    k, m = split_any(magnitude)
    third, q = nearest_integer(k * (1 / 3))
    remainder = k - 3 * third
    above, below = remainder > 0.5, remainder < -0.5
    unscaled = x.operand(1.0)
    m_scaled = m * where(above, 2.0, where(below, 0.5, unscaled))
    root = polynomial(m, coefficients.CBRT["double"]) * where(
        above, 2 ** (1 / 3), where(below, 0.5 ** (1 / 3), unscaled)
    )
    cube = root * root * root
    root = root * (cube + 2 * m_scaled) / (2 * cube + m_scaled)
    root = root.without_low_bits(27)
    quotient = m_scaled / (root * root)
    root = root + root * (quotient - root) / (2 * root + quotient)
    result = (root * power_of_two(q)).with_sign_of(x)
    return where((magnitude > 0) & (magnitude < INFINITY), result, x)
