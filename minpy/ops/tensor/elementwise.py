"""Operators of two arrays of equal shape that symbols are made of: `_power`, `_maximum`, `_equal` and their kind.

They are the ones that broadcast, which `minpy.ops.tensor.arithmetic` and `comparison` define, for equal shapes only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.core.operator import Operator
from minpy.ops.inference.partial_shapes import same_shape
from minpy.ops.inference.rules import promoted
from minpy.ops.registry import operator
from minpy.ops.tensor.arithmetic import hypot, maximum, minimum, mod, power
from minpy.ops.tensor.comparison import (
    equal,
    greater,
    greater_equal,
    lesser,
    lesser_equal,
    logical_and,
    logical_or,
    logical_xor,
    not_equal,
)

__all__ = ["ELEMENTWISE_OPERATORS", "identity_with_attr_like_rhs"]

_DOC = """Return what `{broadcasting}` does, for two arrays of equal shape.

Parameters
----------
lhs, rhs : NDArray
    Of the same shape; `{broadcasting}` takes shapes that broadcast.

Returns
-------
NDArray
    Of that shape, and the dtype of the operands.

Raises
------
ShapeError
    If the shapes differ.

Examples
--------
>>> from minpy import nd
>>> nd.{name}(nd.array([5, 3, 0]), nd.array([3, 3, 4])).asnumpy().round(4)
array([{result}], dtype=float32)
"""


def _require_equal_shapes(name: str, lhs: Any, rhs: Any, advice: str) -> None:
    if np.shape(lhs) != np.shape(rhs):
        raise ShapeError(
            f"{name}: the shapes differ: lhs {np.shape(lhs)} and rhs {np.shape(rhs)} must be equal. {advice}"
        )


def _define(broadcasting: Operator, alias: str, result: str) -> Operator:
    name = broadcasting.__name__.removeprefix("broadcast")
    compute = broadcasting.forward
    advice = f"Use {broadcasting.__name__} for shapes that broadcast."

    def forward(lhs: Any, rhs: Any) -> Any:
        _require_equal_shapes(name, lhs, rhs, advice)
        return compute(lhs, rhs)

    forward.__doc__ = _DOC.format(name=name, broadcasting=broadcasting.__name__, result=result)
    made: Operator = operator(forward, name=name, aliases=(alias,))
    made.may_alias = False
    made.keeps_dtype = True
    made.into, made.elementwise = broadcasting.into, broadcasting.elementwise
    made.def_infer_shape(same_shape)
    made.def_infer_type(promoted)
    if broadcasting.all_zero:
        return made.def_grad_zero()
    for argnum, rule in enumerate(broadcasting.rules):
        made.def_grad(rule, argnum)
    return made


# By MXNet's names.
ELEMENTWISE_OPERATORS: dict[str, Operator] = {
    made.__name__: made
    for made in (
        _define(mod, "_Mod", "2., 0., 0."),
        _define(power, "_Power", "125.,  27.,   0."),
        _define(maximum, "_Maximum", "5., 3., 4."),
        _define(minimum, "_Minimum", "3., 3., 0."),
        _define(hypot, "_Hypot", "5.831 , 4.2426, 4.    "),
        _define(equal, "_Equal", "0., 1., 0."),
        _define(not_equal, "_Not_Equal", "1., 0., 1."),
        _define(greater, "_Greater", "1., 0., 0."),
        _define(greater_equal, "_Greater_Equal", "1., 1., 0."),
        _define(lesser, "_Lesser", "0., 0., 1."),
        _define(lesser_equal, "_Lesser_Equal", "0., 1., 1."),
        _define(logical_and, "_Logical_And", "1., 1., 0."),
        _define(logical_or, "_Logical_Or", "1., 1., 1."),
        _define(logical_xor, "_Logical_Xor", "0., 0., 1."),
    )
}


@operator(name="_identity_with_attr_like_rhs")
def identity_with_attr_like_rhs(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Return a copy of `lhs`; inference takes its shape and dtype to be those of `rhs`.

    Parameters
    ----------
    lhs, rhs : NDArray
        Of the same shape; the gradient of `rhs` is zero.

    Returns
    -------
    NDArray

    Raises
    ------
    ShapeError
        If the shapes differ.

    Examples
    --------
    >>> from minpy import nd
    >>> nd._identity_with_attr_like_rhs(nd.array([1, 2]), nd.zeros((2,))).asnumpy()
    array([1., 2.], dtype=float32)
    """
    _require_equal_shapes("_identity_with_attr_like_rhs", lhs, rhs, "Use broadcast_like for shapes that broadcast.")
    return lhs.copy()


identity_with_attr_like_rhs.def_grad(lambda ans, lhs, rhs: lambda g: g)
identity_with_attr_like_rhs.def_grad_zero(1)
identity_with_attr_like_rhs.def_infer_shape(same_shape)
