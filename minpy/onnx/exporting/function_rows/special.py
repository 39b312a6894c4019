"""The error function, and in float64 its inverse: no runtime has these to the digits of float64."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.row_parts import is_nan, number, real_only

__all__ = ["ROWS"]

ROWS = Rows()
_WIDE = numpy.dtype("float64")

# M. J. Wichura's rational approximations of the quantiles of a normal distribution (AS 241), lowest powers first: in
# the middle, towards the ends, and at the ends; for each the coefficients above the line, and below it.
_MIDDLE = (
    (3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)  # fmt: skip
_TOWARDS = (
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
     1.27045825245236838258, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
_AT_ENDS = (
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip
# W. J. Cody's rational approximations of erf near 0, and of exp(x ** 2) erfc(x) beyond.
_ERF_NEAR = (
    (3.20937758913846947e3, 3.77485237685302021e2, 1.13864154151050156e2, 3.16112374387056560, 1.85777706184603153e-1),
    (2.84423683343917062e3, 1.28261652607737228e3, 2.44024637934444173e2, 2.36012909523441209e1, 1.0),
)  # fmt: skip
_ERF_FAR = (
    (1.23033935479799725e3, 2.05107837782607147e3, 1.71204761263407058e3, 8.81952221241769090e2, 2.98635138197400131e2,
     6.61191906371416295e1, 8.88314979438837594, 5.64188496988670089e-1, 2.15311535474403846e-8),
    (1.23033935480374942e3, 3.43936767414372164e3, 4.36261909014324716e3, 3.29079923573345963e3, 1.62138957456669019e3,
     5.37181101862009858e2, 1.17693950891312499e2, 1.57449261107098347e1, 1.0),
)  # fmt: skip


def _result(call: NodeCall, name: str) -> str:
    return name if call.result_dtype == _WIDE else call.cast(name, call.result_dtype)


@ROWS.enter("erf")
def _erf(call: NodeCall, data: Any) -> Any:
    real_only(call, call.result_dtype)
    x = call.array(data, call.result_dtype)
    if call.result_dtype != _WIDE:
        return call.node("Erf", x)
    # onnxruntime has none of float64, and ONNX's reference evaluator makes float32 of it.
    size = call.node("Min", call.node("Abs", x), number(call, 6, _WIDE))
    square = call.node("Mul", size, size)
    near = call.node("Mul", x, _ratio(call, square, _ERF_NEAR))
    complement = call.node("Mul", call.node("Exp", call.node("Neg", square)), _ratio(call, size, _ERF_FAR))
    far = call.node("Mul", call.node("Sign", x), _less(call, 1, complement))
    is_far = call.node("Greater", size, number(call, 0.46875, _WIDE))
    return call.node("Where", is_nan(call, x), x, call.node("Where", is_far, far, near))


@ROWS.enter("erfinv")
def _erfinv(call: NodeCall, data: Any) -> Any:
    real_only(call, call.result_dtype)
    x = call.array(data, _WIDE)
    size = call.node("Abs", x)
    half = call.node("Mul", x, number(call, 0.5, _WIDE))
    middle = call.node("Mul", half, _ratio(call, _less(call, 0.180625, call.node("Mul", half, half)), _MIDDLE))
    tail = call.node("Mul", _less(call, 1, size), number(call, 0.5, _WIDE))
    root = call.node("Sqrt", call.node("Neg", call.node("Log", tail)))
    is_far = call.node("Greater", root, number(call, 5, _WIDE))
    towards = _ratio(call, call.node("Sub", root, number(call, 1.6, _WIDE)), _TOWARDS)
    beyond = call.node("Where", is_far, _ratio(call, call.node("Sub", root, number(call, 5, _WIDE)), _AT_ENDS), towards)
    beyond = call.node("Mul", beyond, call.node("Sign", x))
    quantile = call.node("Where", call.node("LessOrEqual", size, number(call, 0.85, _WIDE)), middle, beyond)
    inverse = call.node("Mul", quantile, number(call, numpy.sqrt(0.5), _WIDE))
    is_end = call.node("Equal", size, number(call, 1, _WIDE))
    infinite = call.node("Mul", x, number(call, numpy.inf, _WIDE))
    return _result(call, call.node("Where", is_end, infinite, inverse))


def _less(call: NodeCall, value: float, name: str) -> str:
    difference: str = call.node("Sub", number(call, value, _WIDE), name)
    return difference


def _ratio(call: NodeCall, x: str, coefficients: Any) -> str:
    """Return one polynomial in terms of another one."""
    table = numpy.array(coefficients, _WIDE).T
    powers = call.node("Pow", call.unsqueeze(x, (-1,)), call.emitter.stored(numpy.arange(len(table), dtype=_WIDE)))
    values = call.node("MatMul", powers, call.emitter.stored(table))
    above, below = (call.node("Gather", values, number(call, place, numpy.int64), axis=-1) for place in (0, 1))
    ratio: str = call.node("Div", above, below)
    return ratio
