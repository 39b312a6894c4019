"""exp, exp2, expm1, sinh, cosh and tanh.

The argument is reduced to x = n·log 2 + r, |r| <= log(2) / 2, with log 2 in two parts of which the first has so few
bits that its product with n is exact (W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980,
chapter 6); exp(r) is a minimax polynomial. 2**n is multiplied in two factors, so that results below the smallest normal
number are rounded once, and those above the largest overflow.
"""

from __future__ import annotations

from minpy.backends.native.mathematics import coefficients
from minpy.backends.native.mathematics.scalar_function import Value, polynomial, where

__all__ = [
    "LOG2_E",
    "between",
    "cosh",
    "exp",
    "exp2",
    "exp_reduced",
    "expm1",
    "nearest_integer",
    "power_of_two",
    "scaled",
    "sinh",
    "tanh",
]

LOG2_E = 1.4426950408889634074
# Beyond these exp(x) is 0 (not even half the smallest number) or infinite.
UNDERFLOW = {"float": -104.0, "double": -746.0}
OVERFLOW = {"float": 89.0, "double": 710.0}


def nearest_integer(x: Value) -> tuple[Value, Value]:
    """Return the integer nearest to x, |x| < 2**21, as a number and as an integer."""
    format = x.format
    shifted = x + format.shifter
    return shifted - format.shifter, shifted.bits() - format.shifter_bits


def between(low: float, x: Value, high: float) -> Value:
    """Return x, moved into [low, high]; NaN stays NaN."""
    x = where(x > high, high, x)
    return where(x < low, low, x)


def power_of_two(n: Value) -> Value:
    """Return 2**n of an integer n, 1 - bias <= n <= bias."""
    format = n.format
    return ((n + format.bias) << format.fraction).as_number()


def scaled(x: Value, n: Value) -> Value:
    """Return x · 2**n, n an integer in -2·bias … 2·bias, rounded once if x is in [0.5, 2]."""
    format = x.format
    # The shift is logical, of a number that is not negative: AVX2 has no arithmetic one of 64 bits.
    half = (n + 4 * format.bias).shifted_right(1) - 2 * format.bias
    return x * power_of_two(half) * power_of_two(n - half)


def exp_reduced(x: Value) -> tuple[Value, Value]:
    """Return r's exp(r) - 1, and n."""
    high, low = coefficients.LOG_2[x.type]
    count, n = nearest_integer(x * LOG2_E)
    r = (x - count * high) - count * low
    return r + r * r * polynomial(r, coefficients.EXP[x.type]), n


def exp(x: Value) -> Value:
    """2**n · exp(r)."""
    reduced, n = exp_reduced(between(UNDERFLOW[x.type], x, OVERFLOW[x.type]))
    return scaled(reduced + 1, n)


def exp2(x: Value) -> Value:
    """2**n · 2**r with x = n + r."""
    bias, fraction = x.format.bias, x.format.fraction
    x = between(-bias - fraction - 2.0, x, bias + 2.0)
    count, n = nearest_integer(x)
    r = x - count
    return scaled(r * polynomial(r, coefficients.EXP2[x.type]) + 1, n)


def expm1(x: Value) -> Value:
    """2**n · (exp(r) - 1) + (2**n - 1), halved until the end, as 2**n itself may overflow."""
    reduced, n = exp_reduced(between({"float": -20.0, "double": -40.0}[x.type], x, OVERFLOW[x.type]))
    power = power_of_two(n - 1)
    result = 2 * (power * reduced + (power - 0.5))
    return where(abs(x) < 2.0 ** -(x.format.fraction + 4), x, result)


def _half_exp(x: Value) -> Value:
    """Return exp(x) / 2 of x >= 0."""
    reduced, n = exp_reduced(where(x > OVERFLOW[x.type] + 2, OVERFLOW[x.type] + 2, x))
    return scaled(reduced + 1, n - 1)


def sinh(x: Value) -> Value:
    """(exp(x) - exp(-x)) / 2, near zero x + x³·P(x²)."""
    z = x * x
    small = x + x * z * polynomial(z, coefficients.SINH[x.type])
    half = _half_exp(abs(x))
    return where(abs(x) < 1, small, (half - 0.25 / half).with_sign_of(x))


def cosh(x: Value) -> Value:
    """(exp(x) + exp(-x)) / 2, with halves of the exponentials, as exp(x) itself may overflow."""
    half = _half_exp(abs(x))
    return half + 0.25 / half


def tanh(x: Value) -> Value:
    """1 - 2 / (exp(2|x|) + 1), near zero x + x³·P(x²).

    exp(2|x|) is 2**t with t rounded: an error of it counts less in the result the larger it is.
    """
    magnitude, z = abs(x), x * x
    small = x + x * z * polynomial(z, coefficients.TANH[x.type])
    saturation = {"float": 28.0, "double": 64.0}[x.type]  # tanh of what makes this t rounds to 1
    t = magnitude * (2 * LOG2_E)
    t = where(t > saturation, saturation, t)
    count, n = nearest_integer(t)
    r = t - count
    power = power_of_two(n)
    large = 1 - 2 / (power * (r * polynomial(r, coefficients.EXP2[x.type])) + (power + 1))
    return where(magnitude < 0.55, small, large).with_sign_of(x)
