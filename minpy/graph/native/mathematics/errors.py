"""erf and erfc."""

from __future__ import annotations

from minpy.graph.native.mathematics import coefficients
from minpy.graph.native.mathematics.exponentials import exp_reduced, power_of_two
from minpy.graph.native.mathematics.writing import Value, polynomial, where

__all__ = ["erf"]


def erf(x: Value) -> Value:
    """Near zero x + x·P(x²), elsewhere 1 - exp(log erfc|x|), the logarithm a polynomial."""
    magnitude, z = abs(x), x * x
    small = x + x * polynomial(z, coefficients.ERF[x.type])
    bounded = where(magnitude > 4, 4.0, magnitude)  # erf(4) rounds to 1
    reduced, n = exp_reduced(polynomial(bounded, coefficients.LOG_ERFC[x.type]))
    power = power_of_two(n)
    large = (1 - power) - power * reduced
    return where(magnitude < 0.93, small, large.with_sign_of(x))
