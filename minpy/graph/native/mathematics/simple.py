"""Functions that are exact, or rounded once."""

from __future__ import annotations

import math
import struct

from minpy.graph.native.mathematics.writing import Value, where

__all__ = ["ceil", "copysign", "deg2rad", "floor", "heaviside", "rad2deg", "rint", "sign", "sqrt", "trunc"]


def floor(x: Value) -> Value:
    return x.floor()


def ceil(x: Value) -> Value:
    return x.ceil()


def rint(x: Value) -> Value:
    return x.rint()


def trunc(x: Value) -> Value:
    return x.trunc()


def sqrt(x: Value) -> Value:
    return x.sqrt()


def copysign(x: Value, y: Value) -> Value:
    return x.with_sign_of(y)


def sign(x: Value) -> Value:
    """1, -1, or 0 without a sign; NaN of NaN."""
    return where(x > 0, 1.0, where(x < 0, -1.0, where(x.equals(0), 0.0, x)))


def heaviside(x: Value, at_zero: Value) -> Value:
    return where(x > 0, 1.0, where(x < 0, 0.0, where(x.equals(0), at_zero, x)))


def deg2rad(x: Value) -> Value:
    return x * _quotient(x, math.pi, 180)


def rad2deg(x: Value) -> Value:
    return x * _quotient(x, 180, math.pi)


def _quotient(x: Value, dividend: float, divisor: float) -> float:
    """Return the quotient as NumPy has it: both rounded to the type of x before the division."""
    if x.type == "double":
        return dividend / divisor
    dividend, divisor = (float(struct.unpack("f", struct.pack("f", number))[0]) for number in (dividend, divisor))
    return dividend / divisor
