"""erf and erfc.

Up to 1/2, erf(x) = x + x·P(x²). Beyond, erfc(x) = exp(-x²) / (x + 2) · Q((x - 2) / (x + 2)), as exp(x²)·erfc(x) falls
like 1 / x (W. J. Cody, Rational Chebyshev approximations for the error function, Mathematics of Computation 23, 1969).
"""

from __future__ import annotations

from minpy.backends.native.mathematics import coefficients
from minpy.backends.native.mathematics.exponentials import (
    LOG2_E,
    between,
    nearest_integer,
    power_of_two,
    scaled,
)
from minpy.backends.native.mathematics.scalar_function import Value, polynomial, where

__all__ = ["erf", "erfc"]


def erf(x: Value) -> Value:
    """x + x·P(x²), and 1 - erfc|x|; for float, log2(erfc|x|) is a polynomial."""
    magnitude, z = abs(x), x * x
    small = x + x * polynomial(z, coefficients.ERF[x.type])
    if x.type == "double":
        large = 1 - _erfc_beyond(between(0.5, magnitude, 6.0), "double")  # erf(6) rounds to 1
    else:
        t = polynomial(where(magnitude > 4, 4.0, magnitude), coefficients.LOG2_ERFC["float"])  # erf(4) rounds to 1
        count, n = nearest_integer(t)
        r, power = t - count, power_of_two(n)
        large = (1 - power) - power * (r * polynomial(r, coefficients.EXP2_SHORT["float"]))
    return where(magnitude < 0.93, small, large.with_sign_of(x))


def erfc(x: Value) -> Value:
    """1 - erf(x) up to 1/2, erfc(x), and 2 - erfc|x| for negative x; float in double precision."""
    precision = x.type
    bound = {"float": 11.0, "double": 28.0}[precision]  # erfc of it rounds to 0
    x = x.to_double()
    magnitude, z = abs(x), x * x
    small = 1 - (x + x * polynomial(z, coefficients.ERF_SMALL[precision]))
    beyond = _erfc_beyond(where(magnitude > bound, bound, magnitude), precision)
    beyond = where(x < 0, 2 - beyond, beyond)
    result = where(magnitude < 0.5, small, beyond)
    return result.to_float() if precision == "float" else result


def _erfc_beyond(x: Value, precision: str) -> Value:
    """Return erfc(x) of 1/2 <= x <= 28. Of x² the rounding error is taken along."""
    high, low = coefficients.LOG_2["double"]
    x_high = x.without_low_bits(27)
    square, square_low = x_high * x_high, (x - x_high) * (x + x_high)
    count, n = nearest_integer(square * -LOG2_E)
    r = ((-square - count * high) - count * low) - square_low
    exponential = r + r * r * polynomial(r, coefficients.EXP[precision])  # less 1
    divisor = x + 2
    inverse = 1 / divisor
    inverse = inverse - inverse * inverse * (x - (divisor - 2))  # what was lost in the sum
    quotients = (coefficients.ERFCX if precision == "double" else coefficients.ERFCX_SHORT)["double"]
    result = inverse * polynomial((x - 2) * inverse, quotients)
    return scaled(result + result * exponential, n)
