"""Arithmetic of two arrays, which broadcast. Gradients are of the output's shape; the tape undoes the broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.operator import Operator
from minpy.ops.documenting import binary_doc
from minpy.ops.registry import operator

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
    ufunc: np.ufunc,
    name: str,
    aliases: tuple[str, ...],
    sentence: str,
    example: tuple[str, str, str],
    notes: str = "",
    synonyms: dict[str, str] | None = None,
) -> Operator:
    doc = binary_doc(name, sentence, *example, notes)
    made: Operator = operator(ufunc, name=name, aliases=aliases, doc=doc, synonyms=synonyms)
    return made


add = _binary(
    np.add,
    "broadcast_add",
    ("broadcast_plus", "add"),
    "Return lhs + rhs, elementwise with broadcasting.",
    ("[[1, 2], [3, 4]]", "[10, 20]", "[[11., 22.],\n       [13., 24.]]"),
)
add.def_grad(lambda ans, lhs, rhs: lambda g: g, 0)
add.def_grad(lambda ans, lhs, rhs: lambda g: g, 1)

subtract = _binary(
    np.subtract,
    "broadcast_sub",
    ("broadcast_minus", "subtract"),
    "Return lhs - rhs, elementwise with broadcasting.",
    ("[[1, 2], [3, 4]]", "[1, 1]", "[[0., 1.],\n       [2., 3.]]"),
)
subtract.def_grad(lambda ans, lhs, rhs: lambda g: g, 0)
subtract.def_grad(lambda ans, lhs, rhs: lambda g: -g, 1)

multiply = _binary(
    np.multiply,
    "broadcast_mul",
    ("multiply",),
    "Return lhs * rhs, elementwise with broadcasting.",
    ("[[1, 2], [3, 4]]", "[10, 1]", "[[10.,  2.],\n       [30.,  4.]]"),
)
multiply.def_grad(lambda ans, lhs, rhs: lambda g: g * rhs, 0)
multiply.def_grad(lambda ans, lhs, rhs: lambda g: g * lhs, 1)

divide = _binary(
    np.true_divide,
    "broadcast_div",
    ("divide", "true_divide"),
    "Return lhs / rhs, elementwise with broadcasting.",
    ("[1, 2, 3]", "[2]", "[0.5, 1. , 1.5]"),
    "Quotients of integer arrays are truncated towards zero, and keep the arrays' dtype.",
)
divide.def_grad(lambda ans, lhs, rhs: lambda g: g / rhs, 0)
divide.def_grad(lambda ans, lhs, rhs: lambda g: -(g * ans / rhs), 1)

mod = _binary(
    np.remainder,
    "broadcast_mod",
    ("modulo",),
    "Return the remainder of lhs / rhs, which has the sign of rhs.",
    ("[5, -5, 5]", "[3, 3, -3]", "[ 2.,  1., -1.]"),
    "The gradient with respect to lhs is 1, to rhs -floor(lhs / rhs).",
)
mod.def_grad(lambda ans, lhs, rhs: lambda g: g, 0)
mod.def_grad(lambda ans, lhs, rhs: lambda g: -(g * np.floor(lhs / rhs)), 1)

power = _binary(
    np.power,
    "broadcast_power",
    ("power",),
    "Return lhs to the power of rhs, elementwise with broadcasting.",
    ("[1, 2, 3]", "[2, 3, 0.5]", "[1.    , 8.    , 1.7321]"),
    "The gradient with respect to rhs is lhs ** rhs * log(lhs): 0 where lhs is 0, NaN where it is negative.",
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


@power.def_grad(argnum=1)
def _power_exponent_gradient(ans: Any, lhs: Any, rhs: Any) -> Callable[[Any], Any]:
    return lambda g: g * (ans * np.log(np.where(lhs == 0, 1, lhs)))


maximum = _binary(
    np.maximum,
    "broadcast_maximum",
    ("maximum",),
    "Return the larger of lhs and rhs, elementwise with broadcasting.",
    ("[1, 2, 3]", "[2]", "[2., 2., 3.]"),
    "Where they are equal the gradient goes to lhs; NaN wins over numbers.",
    synonyms={"left": "lhs", "right": "rhs"},
)
maximum.def_grad(lambda ans, lhs, rhs: lambda g: g * (lhs >= rhs), 0)
maximum.def_grad(lambda ans, lhs, rhs: lambda g: g * (lhs < rhs), 1)

minimum = _binary(
    np.minimum,
    "broadcast_minimum",
    ("minimum",),
    "Return the smaller of lhs and rhs, elementwise with broadcasting.",
    ("[1, 2, 3]", "[2]", "[1., 2., 2.]"),
    "Where they are equal the gradient goes to lhs; NaN wins over numbers.",
    synonyms={"left": "lhs", "right": "rhs"},
)
minimum.def_grad(lambda ans, lhs, rhs: lambda g: g * (lhs <= rhs), 0)
minimum.def_grad(lambda ans, lhs, rhs: lambda g: g * (lhs > rhs), 1)

hypot = _binary(
    np.hypot,
    "broadcast_hypot",
    (),
    "Return sqrt(lhs ** 2 + rhs ** 2), elementwise with broadcasting.",
    ("[3, 5]", "[4, 12]", "[ 5., 13.]"),
    "The gradient at (0, 0) is NaN: there is none.",
    synonyms={"left": "lhs", "right": "rhs"},
)
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
