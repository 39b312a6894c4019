"""arcsin, arccos, arctan and arctan2.

arctan(y / x), by its addition theorem, from the arctangent of a quotient in [-1/2, 1/2]; arcsin(x) beyond 1/2 from
π/2 - 2·arcsin(sqrt((1 - x) / 2)) (W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980,
chapters 10 and 11).
"""

from __future__ import annotations

from minpy.backends.native.mathematics import coefficients
from minpy.backends.native.mathematics.scalar_function import Value, polynomial, where

__all__ = ["arccos", "arcsin", "arctan", "arctan2"]


def _arcsin_beyond(x: Value) -> tuple[Value, Value]:
    """Return s and arcsin(s) - s, where s = |x| up to 1/2, else sqrt((1 - |x|) / 2)."""
    magnitude = abs(x)
    small = magnitude < 0.5
    z = where(small, x * x, (1 - magnitude) * 0.5)
    s = where(small, magnitude, z.sqrt())
    return s, s * z * polynomial(z, coefficients.ARCSIN[x.type])


def arcsin(x: Value) -> Value:
    """s + s³·P(s²), beyond 1/2 from π/2; of the difference the rounding error is taken along."""
    high, low = coefficients.HALF_PI[x.type]
    s, more = _arcsin_beyond(x)
    difference = high - 2 * s
    beyond = difference - (2 * more - (((high - difference) - 2 * s) + low))
    return where(abs(x) < 0.5, s + more, beyond).with_sign_of(x)


def arccos(x: Value) -> Value:
    """π/2 - arcsin(x), beyond 1/2 from 2·arcsin(sqrt((1 - |x|) / 2))."""
    high, low = coefficients.HALF_PI[x.type]
    s, more = _arcsin_beyond(x)
    near = high - (x - (low - more.with_sign_of(x)))
    return where(abs(x) < 0.5, near, where(x < 0, 2 * (high - (s + (more - low))), 2 * (s + more)))


def _angle(y: Value, x: Value) -> Value:
    """Return arctan(y / x) of y >= 0 and x >= 0, not both zero and not both infinite."""
    high, low = coefficients.HALF_PI[x.type]
    zero = x.operand(0.0)
    steep, middle = y > x + x, y + y > x
    t = where(steep, -x, where(middle, y - x, y)) / where(steep, y, where(middle, y + x, x))
    z = t * t
    more = t * z * polynomial(z, coefficients.ARCTAN[x.type]) + where(steep, low, where(middle, zero + low * 0.5, zero))
    return where(steep, high, where(middle, zero + high * 0.5, zero)) + (t + more)


def arctan(x: Value) -> Value:
    """The angle of x to 1."""
    return _angle(abs(x), x.operand(1.0)).with_sign_of(x)


def arctan2(y: Value, x: Value) -> Value:
    """The angle of |y| to |x|, in the quadrant that the signs say, those of zeros included."""
    high, low = coefficients.HALF_PI[x.type]
    infinity = float("inf")
    rise, run = abs(y), abs(x)
    # Of two infinities the quotient is 1; nothing below overflows once large numbers are made smaller.
    both = rise.equals(infinity) & run.equals(infinity)
    rise, run = where(both, 1.0, rise), where(both, 1.0, run)
    large = (rise > x.format.largest / 8) | (run > x.format.largest / 8)
    rise, run = where(large, rise * 0.125, rise), where(large, run * 0.125, run)
    run = where(rise.equals(0) & run.equals(0), 1.0, run)
    angle = _angle(rise, run)
    return where(x.bits() < 0, 2 * high - (angle - 2 * low), angle).with_sign_of(y)
