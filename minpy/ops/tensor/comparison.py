"""Comparisons, logic and choice. Comparisons give 0 or 1 in the operands' dtype; their gradient is zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.core.operator import Operator
from minpy.ops.inference.partial_shapes import broadcasting, same_shape
from minpy.ops.inference.rule_parts import dtype_of, promoted
from minpy.ops.kernels.selecting import LARGE, keep, select
from minpy.ops.registry import operator
from minpy.ops.shared_docstrings import binary_doc, unary_doc

__all__ = [
    "equal",
    "greater",
    "greater_equal",
    "lesser",
    "lesser_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
    "where",
]


def _common_dtype(lhs: Any, rhs: Any) -> Any:
    """Return the dtype of the arrays among two operands; numbers have no say."""
    if type(lhs) is np.ndarray and type(rhs) is np.ndarray and lhs.dtype is rhs.dtype:
        return lhs.dtype
    if not _is_array(rhs):
        return lhs.dtype if _is_array(lhs) else np.result_type(lhs, rhs)
    if not _is_array(lhs):
        return rhs.dtype
    return np.result_type(lhs, rhs)


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array_ufunc__") and not isinstance(value, np.generic)


def _as_dtype(value: Any, dtype: np.dtype) -> Any:
    return value.astype(dtype, copy=False) if _is_array(value) else np.asarray(value).astype(dtype)


# What examples compare.
_NUMBERS = ("[1, 2, 3]", "[2]")


def _relation(ufunc: np.ufunc, name: str, condition: str, result: str, example: tuple[str, str] = _NUMBERS) -> Operator:
    def forward(lhs: Any, rhs: Any) -> Any:
        dtype = _common_dtype(lhs, rhs)
        if dtype.kind in "iu":  # a number is cast first, as in arithmetic
            lhs, rhs = _as_dtype(lhs, dtype), _as_dtype(rhs, dtype)
        return ufunc(lhs, rhs).astype(dtype)

    doc = binary_doc(name, f"Return 1 where {condition}, else 0.", *example, result, "Its gradient is zero.")
    op: Operator = operator(forward, name=f"broadcast_{name}", aliases=(name,), doc=doc)
    op.may_alias, op.elementwise = False, True
    op.def_infer_shape(broadcasting)
    op.def_infer_type(promoted)
    return op.def_grad_zero()


equal = _relation(np.equal, "equal", "lhs == rhs", "[0., 1., 0.]")
not_equal = _relation(np.not_equal, "not_equal", "lhs != rhs", "[1., 0., 1.]")
greater = _relation(np.greater, "greater", "lhs > rhs", "[0., 0., 1.]")
greater_equal = _relation(np.greater_equal, "greater_equal", "lhs >= rhs", "[0., 1., 1.]")
lesser = _relation(np.less, "lesser", "lhs < rhs", "[1., 0., 0.]")
lesser_equal = _relation(np.less_equal, "lesser_equal", "lhs <= rhs", "[1., 1., 0.]")
_TRUTHS = ("[0, 0, 2]", "[1, 0, 3]")
logical_and = _relation(np.logical_and, "logical_and", "both are not 0", "[0., 0., 1.]", ("[0, 1, 2]", "[1, 0, 3]"))
logical_or = _relation(np.logical_or, "logical_or", "one or both are not 0", "[1., 0., 1.]", _TRUTHS)
logical_xor = _relation(np.logical_xor, "logical_xor", "exactly one is not 0", "[1., 0., 0.]", _TRUTHS)
logical_not = operator(
    lambda data: np.logical_not(data).astype(data.dtype),
    name="logical_not",
    like_ufunc=True,
    doc=unary_doc(
        "logical_not", "Return 1 where data is 0, else 0.", "[0, 1, -2]", "[1., 0., 0.]", "Its gradient is zero."
    ),
).def_grad_zero()


@operator(name="where", may_alias=False, zero=(0,), dtypes=dtype_of(1, 2))
def where(condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return elements of x where the condition is not 0, and of y where it is.

    Parameters
    ----------
    condition : NDArray
        Of the shape of x and y, or one-dimensional with their length: then it chooses whole rows.
    x, y : NDArray
        Of equal shape, or numbers.

    {returns_array}
        Of the shape and dtype of x and y.

    {raises_unless_shapes_fit}

    {examples}
    >>> x, y = nd.array([[1, 2], [3, 4]]), nd.array([[5, 6], [7, 8]])
    >>> nd.where(nd.array([[1, 0], [0, 1]]), x, y).asnumpy()
    array([[1., 6.],
           [7., 4.]], dtype=float32)
    >>> nd.where(nd.array([1, 0]), x, y).asnumpy()
    array([[1., 2.],
           [7., 8.]], dtype=float32)
    """
    shapes = [np.shape(value) for value in (condition, x, y)]
    shape = shapes[1] or shapes[2]
    rows = len(shapes[0]) == 1 and len(shape) > 1 and shapes[0][0] == shape[0]
    if (shapes[0] != shape and not rows and shape) or (shapes[1] != shapes[2] and shapes[1] and shapes[2]):
        raise ShapeError(
            f"where: condition {shapes[0]}, x {shapes[1]} and y {shapes[2]} do not fit: x and y must have one shape, "
            "and the condition the same, or one axis of their first length to choose rows. "
            "Use broadcast_to or broadcast_like first."
        )
    return np.where(_along_rows(condition, max(len(shape), len(shapes[0]))), x, y)


@where.def_kernel
def _where_kernel(condition: Any, x: Any, y: Any) -> Any:
    if np.size(condition) < LARGE:
        return where.definition(condition, x, y)
    return where.definition(condition, x, y) if condition.shape != np.shape(x) else select(condition != 0, x, y)


def _along_rows(condition: Any, ndim: int) -> Any:
    """Return a condition that chooses rows with axes of length 1 for the rest."""
    return condition if condition.ndim == ndim else np.reshape(condition, (-1, *(1,) * (ndim - 1)))


where.def_grad(lambda ans, condition, x, y: lambda g: np.where(_along_rows(condition, g.ndim), g, 0), argnum=1)


where.def_grad(lambda ans, condition, x, y: lambda g: np.where(_along_rows(condition, g.ndim), 0, g), argnum=2)


where.def_grad_kernel(lambda ans, condition, x, y: lambda g: keep(_along_rows(condition, g.ndim) != 0, g), 1)
where.def_grad_kernel(lambda ans, condition, x, y: lambda g: keep(_along_rows(condition, g.ndim) == 0, g), 2)


@where.def_infer_shape
def _where_shapes(inputs: Any, outputs: Any) -> Any:
    condition, x, y = inputs
    if () in (x, y):  # a number, which the other one says nothing about
        branch = y if x == () else x
        if branch == ():
            return inputs, [condition]
        [branch], outputs = same_shape([branch], outputs)
        return [condition, x, branch] if x == () else [condition, branch, y], outputs
    [x, y], outputs = same_shape([x, y], outputs)
    return [condition, x, y], outputs
