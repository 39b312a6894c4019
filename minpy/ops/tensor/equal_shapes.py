"""Operators of arrays of equal shape, of which symbols are made: `elemwise_add`, `_power`, `_maximum` and their kind.

They are the ones that broadcast, which `minpy.ops.tensor.arithmetic` and `comparison` define, for equal shapes only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.core.operator import Operator
from minpy.ops.inference.partial_shapes import same_shape
from minpy.ops.inference.rule_parts import computed, promoted
from minpy.ops.registry import operator
from minpy.ops.tensor.arithmetic import add, divide, hypot, maximum, minimum, mod, multiply, power, subtract
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

__all__ = ["ELEMENTWISE_OPERATORS", "add_n", "identity_with_attr_like_rhs"]

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
>>> nd.{name}(nd.array([6, 3, 0]), nd.array([3, 3, 4])).asnumpy().round(4)
array([{result}], dtype=float32)
"""


def _require_equal_shapes(name: str, arrays: Mapping[str, Any], advice: str = "") -> None:
    shapes = {argument: np.shape(array) for argument, array in arrays.items()}
    first = next(iter(shapes))
    for argument, shape in shapes.items():
        if shape != shapes[first]:
            raise ShapeError(
                f"{name}: the shapes differ: {first} {shapes[first]} and {argument} {shape} must be equal.{advice}"
            )


def _define(broadcasting: Operator, name: str, aliases: tuple[str, ...], result: str) -> Operator:
    """Define the operator for equal shapes; everything else is that of the one that broadcasts."""
    compute = broadcasting.forward
    advice = f" Use {broadcasting.__name__} for shapes that broadcast."

    def forward(lhs: Any, rhs: Any) -> Any:
        if np.shape(lhs) != np.shape(rhs):
            _require_equal_shapes(name, {"lhs": lhs, "rhs": rhs}, advice)
        return compute(lhs, rhs)

    forward.__doc__ = _DOC.format(name=name, broadcasting=broadcasting.__name__, result=result)
    op: Operator = operator(forward, name=name, aliases=aliases)
    op.may_alias = False
    op.keeps_dtype = True
    op.into, op.elementwise = broadcasting.into, broadcasting.elementwise
    op.def_infer_shape(same_shape)
    op.def_infer_type(computed(op))
    if broadcasting.all_zero:
        return op.def_grad_zero()
    for argnum, rule in enumerate(broadcasting.rules):
        op.def_grad(rule, argnum)
    return op


# By MXNet's names.
ELEMENTWISE_OPERATORS: dict[str, Operator] = {
    op.__name__: op
    for op in (
        _define(add, "elemwise_add", ("_plus", "_Plus", "_add", "_grad_add"), "9., 6., 4."),
        _define(subtract, "elemwise_sub", ("_minus", "_Minus", "_sub"), " 3.,  0., -4."),
        _define(multiply, "elemwise_mul", ("_mul", "_Mul"), "18.,  9.,  0."),
        _define(divide, "elemwise_div", ("_div", "_Div", "_scatter_elemwise_div"), "2., 1., 0."),
        _define(mod, "_mod", ("_Mod",), "0., 0., 0."),
        _define(power, "_power", ("_Power",), "216.,  27.,   0."),
        _define(maximum, "_maximum", ("_Maximum",), "6., 3., 4."),
        _define(minimum, "_minimum", ("_Minimum",), "3., 3., 0."),
        _define(hypot, "_hypot", ("_Hypot",), "6.7082, 4.2426, 4.    "),
        _define(equal, "_equal", ("_Equal",), "0., 1., 0."),
        _define(not_equal, "_not_equal", ("_Not_Equal",), "1., 0., 1."),
        _define(greater, "_greater", ("_Greater",), "1., 0., 0."),
        _define(greater_equal, "_greater_equal", ("_Greater_Equal",), "1., 1., 0."),
        _define(lesser, "_lesser", ("_Lesser",), "0., 0., 1."),
        _define(lesser_equal, "_lesser_equal", ("_Lesser_Equal",), "0., 1., 1."),
        _define(logical_and, "_logical_and", ("_Logical_And",), "1., 1., 0."),
        _define(logical_or, "_logical_or", ("_Logical_Or",), "1., 1., 1."),
        _define(logical_xor, "_logical_xor", ("_Logical_Xor",), "0., 0., 1."),
    )
}


@operator(name="add_n", aliases=("ElementWiseSum", "_sum"), elementwise=True, shapes=same_shape, dtypes=promoted)
def add_n(*args: np.ndarray) -> np.ndarray:
    """Return the sum of any number of arrays of equal shape.

    Parameters
    ----------
    *args : NDArray
        At least one.

    {returns_array}
        Of their shape and dtype.

    {raises_shape_error}
        If the shapes differ, or there is no array.

    {examples}
    >>> x = nd.array([1, 2])
    >>> nd.add_n(x, x, x).asnumpy()
    array([3., 6.], dtype=float32)
    """
    if not args:
        raise ShapeError("add_n: no array given; pass at least one.")
    _require_equal_shapes("add_n", {f"args[{index}]": array for index, array in enumerate(args)})
    if len(args) == 1:
        return np.copy(args[0])
    total = args[0] + args[1]
    for array in args[2:]:
        total = total + array
    return total


add_n.def_multiple_grad(lambda ans, *args: lambda g: (g,) * len(args))


@operator(name="_identity_with_attr_like_rhs", zero=(1,), elementwise=True, shapes=same_shape)
def identity_with_attr_like_rhs(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Return a copy of `lhs`; inference takes its shape and dtype to be those of `rhs`.

    Parameters
    ----------
    lhs, rhs : NDArray
        Of the same shape; the gradient of `rhs` is zero.

    {returns_array}

    {raises_shape_error}
        If the shapes differ.

    {examples}
    >>> nd._identity_with_attr_like_rhs(nd.array([1, 2]), nd.zeros((2,))).asnumpy()
    array([1., 2.], dtype=float32)
    """
    _require_equal_shapes("_identity_with_attr_like_rhs", {"lhs": lhs, "rhs": rhs}, " Use broadcast_like instead.")
    return lhs.copy()


identity_with_attr_like_rhs.def_grad(lambda ans, lhs, rhs: lambda g: g)

ELEMENTWISE_OPERATORS["elemwise_add"].saved_aliases = frozenset({"_grad_add"})
ELEMENTWISE_OPERATORS["elemwise_div"].saved_aliases = frozenset({"_scatter_elemwise_div"})
