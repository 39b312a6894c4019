"""Arithmetic of two arrays, which broadcast. Gradients are of the output's shape; the tape undoes the broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.operator import Operator
from minpy.ops.registry import operator
from minpy.ops.shared_docstrings import binary_doc

__all__ = [
    "add",
    "arctan2",
    "divide",
    "hypot",
    "logaddexp",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "power",
    "subtract",
]


def _binary(
    ufunc: np.ufunc, name: str, formula: str, example: tuple[str, str, str], notes: str = "", **options: Any
) -> Operator:
    """Define `broadcast_X`; `formula` says what it returns, perhaps as a sentence that ends with a full stop."""
    sentence = f"Return {formula}" if formula.endswith(".") else f"Return {formula}, elementwise with broadcasting."
    doc = binary_doc(f"broadcast_{name}", sentence, *example, notes)
    op: Operator = operator(ufunc, name=f"broadcast_{name}", doc=doc, **options)
    return op


_MATRIX = "[[1, 2], [3, 4]]"
_SIDES = {"left": "lhs", "right": "rhs"}

_SUMS = (_MATRIX, "[10, 20]", "[[11., 22.],\n       [13., 24.]]")
add = _binary(np.add, "add", "lhs + rhs", _SUMS, aliases=("broadcast_plus", "add"))
add.def_grad(lambda ans, lhs, rhs: lambda g: g, 0)
add.def_grad(lambda ans, lhs, rhs: lambda g: g, 1)

_DIFFERENCES = (_MATRIX, "[1, 1]", "[[0., 1.],\n       [2., 3.]]")
subtract = _binary(np.subtract, "sub", "lhs - rhs", _DIFFERENCES, aliases=("broadcast_minus", "subtract"))
subtract.def_grad(lambda ans, lhs, rhs: lambda g: g, 0)
subtract.def_grad(lambda ans, lhs, rhs: lambda g: -g, 1)

_PRODUCTS = (_MATRIX, "[10, 1]", "[[10.,  2.],\n       [30.,  4.]]")
multiply = _binary(np.multiply, "mul", "lhs * rhs", _PRODUCTS, aliases=("multiply",))
multiply.def_grad(lambda ans, lhs, rhs: lambda g: g * rhs, 0)
multiply.def_grad(lambda ans, lhs, rhs: lambda g: g * lhs, 1)

divide = _binary(
    *(np.true_divide, "div", "lhs / rhs", ("[1, 2, 3]", "[2]", "[0.5, 1. , 1.5]")),
    "Quotients of integer arrays are truncated towards zero, and keep the arrays' dtype.",
    aliases=("divide", "true_divide"),
)
divide.def_grad(lambda ans, lhs, rhs: lambda g: g / rhs, 0)
divide.def_grad(lambda ans, lhs, rhs: lambda g: -(g * ans / rhs), 1)

mod = _binary(
    *(np.remainder, "mod", "the remainder of lhs / rhs, which has the sign of rhs."),
    ("[5, -5, 5]", "[3, 3, -3]", "[ 2.,  1., -1.]"),
    "The gradient with respect to lhs is 1, to rhs -floor(lhs / rhs).",
    aliases=("modulo",),
)
mod.def_grad(lambda ans, lhs, rhs: lambda g: g, 0)
mod.def_grad(lambda ans, lhs, rhs: lambda g: -(g * np.floor(lhs / rhs)), 1)

power = _binary(
    *(np.power, "power", "lhs to the power of rhs", ("[1, 2, 3]", "[2, 3, 0.5]", "[1.    , 8.    , 1.7321]")),
    "The gradient with respect to rhs is lhs ** rhs * log(lhs): 0 where lhs is 0, NaN where it is negative.",
    aliases=("power",),
    synonyms={"base": "lhs", "exp": "rhs"},
)


@power.def_grad()
def _power_base_gradient(ans: Any, lhs: Any, rhs: Any) -> Callable[[Any], Any]:
    # A zero exponent gives a gradient of zero, also at zero, where 0 * lhs ** -1 would be NaN. (Elsewhere it may not be
    # replaced: that expression's own derivative with respect to the exponent is not zero.)
    if isinstance(rhs, (int, float)):
        lower = rhs - 1 if rhs else 1
        return lambda g: g * (lhs**lower * rhs)
    return lambda g: g * (lhs ** np.where(np.logical_and(lhs == 0, rhs == 0), 1, rhs - 1) * rhs)


power.def_grad(lambda ans, lhs, rhs: lambda g: g * (ans * np.log(np.where(lhs == 0, 1, lhs))), argnum=1)


_TIE = "Where they are equal the gradient goes to lhs; NaN wins over numbers."
_OF_TWO: dict[str, Any] = {"notes": _TIE, "synonyms": _SIDES}
_LARGER = ("[1, 2, 3]", "[2]", "[2., 2., 3.]")
maximum = _binary(np.maximum, "maximum", "the larger of lhs and rhs", _LARGER, aliases=("maximum",), **_OF_TWO)
maximum.def_grad(lambda ans, lhs, rhs: lambda g: g * (lhs >= rhs), 0)
maximum.def_grad(lambda ans, lhs, rhs: lambda g: g * (lhs < rhs), 1)

_SMALLER = ("[1, 2, 3]", "[2]", "[1., 2., 2.]")
minimum = _binary(np.minimum, "minimum", "the smaller of lhs and rhs", _SMALLER, aliases=("minimum",), **_OF_TWO)
minimum.def_grad(lambda ans, lhs, rhs: lambda g: g * (lhs <= rhs), 0)
minimum.def_grad(lambda ans, lhs, rhs: lambda g: g * (lhs > rhs), 1)

_HYPOTENUSES = ("[3, 5]", "[4, 12]", "[ 5., 13.]")
_NONE_AT_ZERO = "The gradient at (0, 0) is NaN: there is none."
hypot = _binary(np.hypot, "hypot", "sqrt(lhs ** 2 + rhs ** 2)", _HYPOTENUSES, _NONE_AT_ZERO, synonyms=_SIDES)
hypot.def_grad(lambda ans, lhs, rhs: lambda g: g * (lhs / ans), 0)
hypot.def_grad(lambda ans, lhs, rhs: lambda g: g * (rhs / ans), 1)

logaddexp = operator(
    np.logaddexp, public=False, inputs=("x1", "x2"), doc="Return log(exp(x1) + exp(x2)), without overflow."
)
logaddexp.def_grad(lambda ans, x1, x2: lambda g: g * np.exp(x1 - ans), 0)
logaddexp.def_grad(lambda ans, x1, x2: lambda g: g * np.exp(x2 - ans), 1)

arctan2 = operator(
    np.arctan2, public=False, inputs=("x1", "x2"), doc="Return the angle of the points (x2, x1), in (-pi, pi]."
)
arctan2.def_grad(lambda ans, x1, x2: lambda g: g * x2 / (x1 * x1 + x2 * x2), 0)
arctan2.def_grad(lambda ans, x1, x2: lambda g: -(g * x1 / (x1 * x1 + x2 * x2)), 1)
