"""Products of matrices: `dot`, `batch_dot`, and NumPy's `dot` and `matmul`.

Everything comes down to products of two matrices, which NumPy hands to BLAS. A gradient of a product is a product:
for C = A B with upstream gradient G it is G Bᵀ for A, and Aᵀ G for B.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from minpy.core.errors import ShapeError
from minpy.core.sums import sum_to
from minpy.ops.inference.contractions import contracted, product_shapes
from minpy.ops.inference.rule_parts import known_ndim, promoted, with_axes
from minpy.ops.kernels import matrix_products
from minpy.ops.kernels.matrix_products import matrix_product
from minpy.ops.registry import operator

__all__ = ["batch_dot", "dot", "matmul", "numpy_dot"]


def _matrix(array: Any, inner_first: bool) -> Any:
    """Return an array as a matrix, (all other axes, the inner one)."""
    shape = np.shape(array)
    if inner_first:
        return np.transpose(np.reshape(array, (shape[0], math.prod(shape[1:]))))
    return np.reshape(array, (math.prod(shape[:-1]), shape[-1]))


@operator(name="dot", kernel={"_product": matrix_product}, dtypes=promoted, category="product")
def dot(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal["csr", "default", "row_sparse"] | None = None,
    _product: Callable[..., Any] = matrix_products.dot,
) -> np.ndarray:
    """Return the product of two matrices, or the sum over the last axis of one array and the first of another.

    Parameters
    ----------
    lhs, rhs : NDArray
        With one axis or more.
    transpose_a : bool
        Sum over the first axis of `lhs` instead of the last.
    transpose_b : bool
        Sum over the last axis of `rhs` instead of the first.
    forward_stype : str, optional
        Accepted and not used: arrays are dense.

    {returns_array}
        Its axes are those of `lhs` and then of `rhs` that are not summed over; of shape (1,) if there are none.

    {raises_shape_error}
        If the summed axes differ in length.

    {examples}
    >>> nd.dot(nd.array([[1, 2]]), nd.array([[3, 4]]), transpose_b=True).asnumpy()
    array([[11.]], dtype=float32)
    """
    if not lhs.ndim or not rhs.ndim:
        raise ShapeError(
            f"dot: lhs {lhs.shape} and rhs {rhs.shape} need at least one axis each; multiply numbers with *."
        )
    left, right = (0 if transpose_a else -1), (-1 if transpose_b else 0)
    if lhs.shape[left] != rhs.shape[right]:
        raise ShapeError(
            f"dot: lhs {lhs.shape} and rhs {rhs.shape} differ in the axes to sum over: axis {left} of lhs has length "
            f"{lhs.shape[left]}, axis {right} of rhs has {rhs.shape[right]} "
            f"(transpose_a={transpose_a}, transpose_b={transpose_b})."
        )
    outer = (lhs.shape[1:] if transpose_a else lhs.shape[:-1]) + (rhs.shape[:-1] if transpose_b else rhs.shape[1:])
    result = _product(_matrix(lhs, transpose_a), _matrix(rhs, not transpose_b).T)
    return result.reshape(outer or (1,))


@dot.def_grad(argnum=0)
def _dot_lhs_gradient(ans: Any, lhs: Any, rhs: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    shape, matrix = np.shape(lhs), _matrix(rhs, not transpose_b)
    rows = math.prod(shape[1:] if transpose_a else shape[:-1])

    def gradient(g: Any) -> Any:
        g = np.reshape(g, (rows, matrix.shape[0]))
        product = matrix_product(np.transpose(matrix), np.transpose(g)) if transpose_a else matrix_product(g, matrix)
        return np.reshape(product, shape)

    return gradient


@dot.def_grad(argnum=1)
def _dot_rhs_gradient(ans: Any, lhs: Any, rhs: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    shape, matrix = np.shape(rhs), _matrix(lhs, transpose_a)
    columns = math.prod(shape[:-1] if transpose_b else shape[1:])

    def gradient(g: Any) -> Any:
        g = np.reshape(g, (matrix.shape[0], columns))
        product = matrix_product(np.transpose(g), matrix) if transpose_b else matrix_product(np.transpose(matrix), g)
        return np.reshape(product, shape)

    return gradient


@dot.def_infer_shape
def _dot_shape(inputs: Any, outputs: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    lhs, rhs = inputs
    if lhs is None or rhs is None:
        return inputs, outputs
    if not lhs or not rhs:
        raise ShapeError("both arrays need at least one axis; multiply numbers with *.")
    are_vectors = len(lhs) == len(rhs) == 1
    pair = (0 if transpose_a else len(lhs) - 1, len(rhs) - 1 if transpose_b else 0)
    inputs, shapes = contracted(lhs, rhs, [pair], None if are_vectors else outputs[0])
    return inputs, [(1,)] if are_vectors else shapes


def _transposed(array: Any) -> Any:
    """Return an array with its last two axes swapped."""
    return np.swapaxes(array, -1, -2)


@operator(name="batch_dot", dtypes=promoted, category="product")
def batch_dot(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal["csr", "default", "row_sparse"] | None = None,
) -> np.ndarray:
    """Return the products of pairs of matrices.

    Parameters
    ----------
    lhs, rhs : NDArray
        Of shapes (..., n, k) and (..., k, m), with three axes or more; the leading ones are equal.
    transpose_a, transpose_b : bool
        Whether each matrix of `lhs` (of `rhs`) is stored transposed.
    forward_stype : str, optional
        Accepted and not used: arrays are dense.

    {returns_array}
        Of shape (..., n, m).

    {raises_unless_shapes_fit}

    {examples}
    >>> nd.batch_dot(nd.array([[[1, 2]], [[3, 4]]]), nd.array([[[1], [1]], [[2], [2]]])).asnumpy()
    array([[[ 3.]],
    <BLANKLINE>
           [[14.]]], dtype=float32)
    """
    if lhs.ndim < 3 or lhs.shape[:-2] != rhs.shape[:-2]:
        raise ShapeError(
            f"batch_dot: lhs {lhs.shape} and rhs {rhs.shape}; expected (..., n, k) and (..., k, m) with the same "
            "leading axes, at least one."
        )
    left, right = (_transposed(lhs) if transpose_a else lhs), (_transposed(rhs) if transpose_b else rhs)
    if left.shape[-1] != right.shape[-2]:
        raise ShapeError(
            f"batch_dot: lhs {lhs.shape} and rhs {rhs.shape} with transpose_a={transpose_a}, transpose_b={transpose_b} "
            f"sum over axes of lengths {left.shape[-1]} and {right.shape[-2]}; they must be equal."
        )
    return matrix_products.matmul(left, right)


@batch_dot.def_grad(argnum=0)
def _batch_dot_lhs_gradient(ans: Any, lhs: Any, rhs: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    right = _transposed(rhs) if transpose_b else rhs
    return lambda g: (
        matrix_products.matmul(right, _transposed(g)) if transpose_a else matrix_products.matmul(g, _transposed(right))
    )


@batch_dot.def_grad(argnum=1)
def _batch_dot_rhs_gradient(ans: Any, lhs: Any, rhs: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    left = _transposed(lhs) if transpose_a else lhs
    return lambda g: (
        matrix_products.matmul(_transposed(g), left) if transpose_b else matrix_products.matmul(_transposed(left), g)
    )


@batch_dot.def_infer_shape
def _batch_dot_shapes(inputs: Any, outputs: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    ndim = known_ndim(*inputs, *outputs)
    if ndim is None:
        return inputs, outputs
    if ndim < 3:
        raise ShapeError("expected (..., n, k) and (..., k, m), with at least one leading axis.")
    lhs, rhs, result = (with_axes(stated, ndim) for stated in (*inputs, *outputs))
    lhs, rhs, result = product_shapes(lhs, rhs, result, transpose_a, transpose_b)
    return [lhs, rhs], [result]


# -- NumPy's products --------------------------------------------------------------------------------------------------

matmul = operator(
    np.matmul,
    name="_matmul",
    public=False,
    doc="Return lhs @ rhs: the product of matrices, stacks of them, or vectors.",
)


def _summed_to(array: Any, shape: tuple[int, ...]) -> Any:
    """Return a gradient summed over the axes along which its argument was broadcast."""
    return array if np.shape(array) == shape else sum_to(array, shape)


@matmul.def_grad(argnum=0)
def _matmul_lhs_gradient(ans: Any, lhs: Any, rhs: Any) -> Any:
    shape, rhs_shape = np.shape(lhs), np.shape(rhs)
    if len(shape) == len(rhs_shape) == 2:
        return lambda g: np.dot(g, np.transpose(rhs))
    if len(rhs_shape) == 1:
        return lambda g: np.expand_dims(g, -1) * rhs
    if len(shape) == 1:
        return lambda g: _summed_to(np.reshape(np.matmul(rhs, np.expand_dims(g, -1)), rhs_shape[:-1]), shape)
    return lambda g: _summed_to(np.matmul(g, _transposed(rhs)), shape)


@matmul.def_grad(argnum=1)
def _matmul_rhs_gradient(ans: Any, lhs: Any, rhs: Any) -> Any:
    shape, lhs_shape = np.shape(rhs), np.shape(lhs)
    if len(shape) == len(lhs_shape) == 2:
        return lambda g: np.dot(np.transpose(lhs), g)
    if len(lhs_shape) == 1:
        if len(shape) == 1:
            return lambda g: g * lhs
        return lambda g: _summed_to(np.expand_dims(lhs, -1) * np.expand_dims(g, -2), shape)
    if len(shape) == 1:
        return lambda g: _summed_to(np.expand_dims(g, -1) * lhs, shape)
    return lambda g: _summed_to(np.matmul(_transposed(lhs), g), shape)


@operator(name="_numpy_dot", implements=np.dot, public=False)
def numpy_dot(a: Any, b: Any) -> Any:
    """Return `numpy.dot`: the sum over the last axis of `a` and the last but one of `b`."""
    return np.dot(a, b)


def _numpy_dot_matrices(a: Any, b: Any) -> tuple[Any, Any]:
    """Return (a, b) as matrices with the summed axis last in both."""
    return _matrix(a, False), _matrix(b if np.ndim(b) == 1 else np.moveaxis(b, -2, -1), False)


@numpy_dot.def_grad(argnum=0)
def _numpy_dot_a_gradient(ans: Any, a: Any, b: Any) -> Any:
    shape, b_shape = np.shape(a), np.shape(b)
    if not shape or not b_shape:
        return lambda g: np.reshape(np.sum(g * b), ()) if not shape else g * b
    if len(shape) == len(b_shape) == 2:
        return lambda g: np.dot(g, np.transpose(b))
    matrix = _numpy_dot_matrices(a, b)[1]
    return lambda g: np.reshape(np.dot(np.reshape(g, (math.prod(shape[:-1]), matrix.shape[0])), matrix), shape)


@numpy_dot.def_grad(argnum=1)
def _numpy_dot_b_gradient(ans: Any, a: Any, b: Any) -> Any:
    shape, a_shape = np.shape(b), np.shape(a)
    if not shape or not a_shape:
        return lambda g: np.reshape(np.sum(g * a), ()) if not shape else g * a
    if len(shape) == len(a_shape) == 2:
        return lambda g: np.dot(np.transpose(a), g)
    matrix = _numpy_dot_matrices(a, b)[0]
    moved = shape if len(shape) == 1 else (*shape[:-2], shape[-1], shape[-2])

    def gradient(g: Any) -> Any:
        product = np.reshape(np.dot(np.transpose(np.reshape(g, (matrix.shape[0], -1))), matrix), moved)
        return product if len(shape) == 1 else np.moveaxis(product, -1, -2)

    return gradient
