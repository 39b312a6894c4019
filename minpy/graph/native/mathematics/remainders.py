"""fmod, remainder and floor_divide.

Remainders are exact, and take as many steps as the exponents are apart: LLVM's `frem` calls `fmod`, whose result is the
same in every library. It is called for each element, also where the loop around is vectorised.
"""

from __future__ import annotations

from minpy.graph.native.mathematics.writing import Value, where

__all__ = ["floor_divide", "fmod", "remainder"]


def fmod(x: Value, y: Value) -> Value:
    return x.writer.instruction(x.type, f"frem {x.type} {x.name}, {y.name}")


def _opposite(y: Value, rest: Value) -> Value:
    """Return whether the remainder's sign is not that of y, as Python's is."""
    return rest.differs(0) & ((y < 0) ^ (rest < 0))


def remainder(x: Value, y: Value) -> Value:
    rest = fmod(x, y)
    result = where(rest.equals(0), (rest * 0).with_sign_of(y), where(_opposite(y, rest), rest + y, rest))
    return where(y.equals(0), rest, result)


def floor_divide(x: Value, y: Value) -> Value:
    rest = fmod(x, y)
    quotient = (x - rest) / y
    quotient = where(_opposite(y, rest), quotient - 1, quotient)
    floor = quotient.floor()
    result = where(quotient - floor > 0.5, floor + 1, floor)
    result = where(quotient.equals(0), (quotient * 0).with_sign_of(x / y), result)
    return where(y.equals(0), x / y, result)
