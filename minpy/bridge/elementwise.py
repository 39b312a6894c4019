"""Elementwise functions of NumPy for which autograd has no rule, or one that divides by 0: with gradients."""

from __future__ import annotations

from typing import Any

import autograd.numpy as anp
import numpy
from autograd.extend import defvjp, primitive
from autograd.numpy.numpy_vjps import unbroadcast_f

from minpy.bridge.composition_values import value_of

__all__ = ["ELEMENTWISE"]


@primitive
def _remainder(x1: Any, x2: Any, function: Any) -> Any:
    """Return the remainder of a division, which `x1 - x2 * quotient` is not: a large quotient is rounded."""
    return function(x1, x2)


def _vjp_of_divisor(ans: Any, x1: Any, x2: Any, function: Any) -> Any:
    quotient = numpy.rint((value_of(x1) - value_of(ans)) / value_of(x2))
    return unbroadcast_f(x2, lambda g: -g * quotient)


defvjp(_remainder, lambda ans, x1, x2, function: unbroadcast_f(x1, lambda g: g), _vjp_of_divisor, argnums=(0, 1))


def _divmod(x1: Any, x2: Any) -> Any:
    return numpy.floor_divide(value_of(x1), value_of(x2)), _remainder(x1, x2, numpy.remainder)


def _float_power(x1: Any, x2: Any) -> Any:
    return anp.power(x1 * numpy.float64(1.0), x2 * numpy.float64(1.0))


def _heaviside(x1: Any, x2: Any) -> Any:
    at_zero = value_of(x1) == 0
    steps = numpy.where(at_zero, 0.0, numpy.heaviside(value_of(x1), 0.0)).astype(anp.result_type(x1, x2))
    return steps + at_zero * x2


def _sinc(x: Any) -> Any:
    # Near 0, where autograd's rule divides by x squared, the gradient is that of the first terms of the series.
    turn = numpy.pi * x
    is_small = numpy.abs(value_of(turn)) < 1e-2
    safe = anp.where(is_small, 1.0, turn)
    squares = anp.where(is_small, turn, 0.0) ** 2
    return anp.where(is_small, 1 - squares / 6 + squares**2 / 120 - squares**3 / 5040, anp.sin(safe) / safe)


def _unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * numpy.pi) -> Any:
    value, length = value_of(p), value_of(period)
    turns = numpy.rint((numpy.unwrap(value, value_of(discont), axis, period=length) - value) / length)
    return p + turns.astype(anp.result_type(p)) * period


ELEMENTWISE: dict[Any, Any] = {
    numpy.divmod: _divmod,
    numpy.float_power: _float_power,
    numpy.fmod: lambda x1, x2: _remainder(x1, x2, numpy.fmod),
    numpy.heaviside: _heaviside,
    numpy.sinc: _sinc,
    numpy.unwrap: _unwrap,
}
