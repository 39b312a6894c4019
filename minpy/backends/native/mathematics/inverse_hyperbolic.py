"""arcsinh, arccosh and arctanh: logarithms of sums whose rounding errors are taken along; float in double precision."""

from __future__ import annotations

from minpy.backends.native.mathematics import coefficients
from minpy.backends.native.mathematics.logarithms import log1p, log1p_of_sum
from minpy.backends.native.mathematics.scalar_function import Value, polynomial, where

__all__ = ["arccosh", "arcsinh", "arctanh"]

# From here on arcsinh(x) and arccosh(x) are log(2x).
LARGE = 2.0**100
LOG_2 = 0.69314718055994530942


def _doubled_logarithm(x: Value, sum: Value, error: Value) -> Value:
    """Return log(1 + sum + error), log(2x) where x is large."""
    large = x >= LARGE
    zero = x.operand(0.0)
    result = log1p_of_sum(where(large, x, sum), where(large, zero, error)) + where(large, LOG_2, zero)
    return where(x < float("inf"), result, x)


def arcsinh(x: Value) -> Value:
    """log(1 + x + x² / (1 + sqrt(1 + x²))), near zero x + x³·P(x²)."""
    if x.type == "float":
        return arcsinh(x.to_double()).to_float()
    magnitude, z = abs(x), x * x
    small = x + x * z * polynomial(z, coefficients.ARCSINH["double"])
    more = z / ((z + 1).sqrt() + 1)
    total = magnitude + more
    error = where(magnitude > more, (magnitude - total) + more, (more - total) + magnitude)
    return where(magnitude < 0.5, small, _doubled_logarithm(magnitude, total, error)).with_sign_of(x)


def arccosh(x: Value) -> Value:
    """log(1 + t + sqrt(t · (t + 2))), t = x - 1."""
    if x.type == "float":
        return arccosh(x.to_double()).to_float()
    t = x - 1
    root = (t * (t + 2)).sqrt()
    total = t + root
    result = _doubled_logarithm(x, total, (root - total) + t)
    return where(x >= 1, result, float("nan"))


def arctanh(x: Value) -> Value:
    """log(1 + 2x / (1 - x)) / 2, where x < 1/2 of 2x + 2x·x / (1 - x)."""
    if x.type == "float":
        return arctanh(x.to_double()).to_float()
    magnitude = abs(x)
    double, small = magnitude + magnitude, magnitude < 0.5
    quotient = where(small, double * magnitude, double) / (1 - magnitude)
    result = 0.5 * log1p(where(small, double + quotient, quotient))
    return where(magnitude <= 1, result, float("nan")).with_sign_of(x)
