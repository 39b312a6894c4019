"""Special functions that ONNX lacks, as formulas in float64: the gamma function, its logarithm, the inverse of erf."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.expressions import Expression, where
from minpy.onnx.exporting.function_rows import special

__all__ = ["ROWS"]

ROWS = Rows()

_DOUBLE = numpy.dtype("float64")


def _formula(function: Callable[[Expression], Expression]) -> Callable[..., Any]:
    def row(call: NodeCall, data: Operand) -> Any:
        return function(Expression(call, call.array(data, _DOUBLE), _DOUBLE)).cast(call.result_dtype).name

    return row


def _polynomial(x: Expression, coefficients: Sequence[float]) -> Expression:
    """Return a polynomial by Horner's scheme, from the highest power on."""
    total: Any = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        total = total * x + coefficient
    return total


@ROWS.enter("erf")
def _erf(call: NodeCall, data: Operand) -> Any:
    if data.dtype.name not in ("float16", "float32"):
        return special.ROWS["erf"](call, data)
    value = call.node("Erf", call.array(data, numpy.float32))
    return value if data.dtype == numpy.float32 else call.cast(value, data.dtype)


# -- gamma -------------------------------------------------------------------------------------------------------------

# Of Lanczos' approximation with g = 7 and nine terms, which is good to 15 digits for x > 0.5.
_G = 7
_LANCZOS = (
    676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
    -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
)  # fmt: skip


def _log_gamma_above(x: Expression) -> Expression:
    """Return the logarithm of gamma for x >= 0.5."""
    shifted = x - 1
    total: Any = 0.99999999999980993
    for number, coefficient in enumerate(_LANCZOS, 1):
        total = (shifted + number).node("Reciprocal") * coefficient + total
    t = shifted + (_G + 0.5)
    value = t.node("Log") * (shifted + 0.5) - t + total.node("Log") + 0.5 * math.log(2 * math.pi)
    return where(x.equal(numpy.inf), numpy.inf, value)


def _sine_of_pi(x: Expression) -> Expression:
    """Return sin(pi x), which is zero at whole numbers."""
    remainder = x - x.node("Floor")
    return (remainder.minimum(1 - remainder) * math.pi).node("Sin")


def _log_gamma(x: Expression) -> Expression:
    """Return log |gamma(x)|, below 0.5 by reflection."""
    above = x >= 0.5
    value = _log_gamma_above(where(x < 0.5, 1 - x, x))
    reflected = math.log(math.pi) - _sine_of_pi(x).node("Log") - value
    value = where(above, value, reflected)
    return where(x.equal(-numpy.inf), x, value)


def _gamma(x: Expression) -> Expression:
    """Return gamma: negative between -1 and 0, -3 and -2, ...; NaN at the poles, but at zeros infinities."""
    half = (x * 0.5).node("Floor")
    is_odd = ~(x.node("Floor") - half * 2).equal(0)  # floor(x) is -1, -3, ...
    magnitude = _log_gamma(x).node("Exp")
    value = where((x < 0) & is_odd, -magnitude, magnitude)
    is_pole = (x < 0) & x.equal(x.node("Floor"))
    value = where(is_pole, numpy.nan, value)
    return where(x.equal(0), x.node("Reciprocal"), value)


ROWS["gammaln"] = _formula(_log_gamma)
ROWS["gamma"] = _formula(_gamma)


# -- the inverse of erf ------------------------------------------------------------------------------------------------

# Giles, "Approximating the erfinv function" (2010), table 5: to single precision, by w = -log(1 - x²).
_CENTRAL = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip
_TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip


def _inverse_erf(x: Expression) -> Expression:
    w = -((1 - x) * (1 + x)).node("Log")
    central = _polynomial(w.minimum(5) - 2.5, _CENTRAL)
    tail = _polynomial(w.maximum(5).minimum(40).node("Sqrt") - 3, _TAIL)
    value = where(w < 5, central, tail) * x
    return where((x * x).equal(1), x * numpy.inf, value)


@ROWS.enter("erfinv")
def _erfinv(call: NodeCall, data: Operand) -> Any:
    if data.dtype.name not in ("float16", "float32"):
        return special.ROWS["erfinv"](call, data)
    return _formula(_inverse_erf)(call, data)
