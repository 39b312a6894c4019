"""Products of matrices with their factors and flags: gemm, gemm2, trmm, syrk, and the Khatri-Rao product."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.core.sums import sum_over
from minpy.ops.axes import one_axis
from minpy.ops.inference.contractions import product_shapes
from minpy.ops.inference.partial_shapes import UNKNOWN, PartialShape, merge_shapes
from minpy.ops.inference.rule_parts import known_ndim, merge_lengths, product, promoted, with_axes
from minpy.ops.kernels.matrix_products import matmul
from minpy.ops.linalg.matrices import (
    merge_square,
    require_matrices,
    require_same_batch,
    require_square,
    transposed,
    triangle,
)
from minpy.ops.registry import operator

__all__ = ["gemm", "gemm2", "khatri_rao", "require_triangular_fit", "syrk", "triangular_shapes", "trmm"]


def _scaled(value: Any, factor: float) -> Any:
    return value if factor == 1 else value * factor


def _transposed_if(array: Any, transpose: bool) -> Any:
    return transposed(array) if transpose else array


def _rows_axis(name: str, axis: int, ndim: int) -> int:
    """Return the axis of the rows, counted from the left."""
    position = one_axis(name, axis, ndim)
    if position == ndim - 1:
        raise ShapeError(f"{name}: axis {axis} is the last one, that of the columns; expected -{ndim} <= axis < -1.")
    return position


def _swap_rows_axis(array: Any, axis: int) -> Any:
    """Return an array with the axis of its matrices' rows swapped with the last but one; its own inverse."""
    return array if axis in (-2, np.ndim(array) - 2) else np.swapaxes(array, axis, -2)


def _product(name: str, A: Any, B: Any, transpose_a: bool, transpose_b: bool, axis: int) -> Any:
    """Return op(A) op(B), with the rows along the last axis but one."""
    for argument, data in (("A", A), ("B", B)):
        require_matrices(name, argument, data)
    if A.ndim != B.ndim:
        raise ShapeError(
            f"{name}: A {A.shape} and B {B.shape} have {A.ndim} and {B.ndim} axes; they must have equally many."
        )
    axis = _rows_axis(name, axis, A.ndim)
    left, right = _swap_rows_axis(A, axis), _swap_rows_axis(B, axis)
    if left.shape[:-2] != right.shape[:-2]:
        raise ShapeError(
            f"{name}: A {A.shape} and B {B.shape} differ in an axis that is neither the rows' ({axis}) nor the "
            "columns' (the last). Such axes must be equal; nothing is broadcast."
        )
    left, right = _transposed_if(left, transpose_a), _transposed_if(right, transpose_b)
    if left.shape[-1] != right.shape[-2]:
        raise ShapeError(
            f"{name}: A {A.shape} and B {B.shape} with transpose_a={transpose_a}, transpose_b={transpose_b} sum over "
            f"axes of lengths {left.shape[-1]} and {right.shape[-2]}; they must be equal."
        )
    return matmul(left, right)


@operator(name="_linalg_gemm", aliases=("linalg_gemm",), dtypes=promoted, category="product")
def gemm(
    A: np.ndarray,
    B: np.ndarray,
    C: np.ndarray,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
) -> np.ndarray:
    """Return alpha · op(A) op(B) + beta · C, for each of many matrices.

    Parameters
    ----------
    A, B, C : NDArray
        Floating point, with two axes or more: of shapes (..., n, k), (..., k, m) and (..., n, m). The leading axes are
        equal.
    transpose_a, transpose_b : bool
        Whether op transposes each matrix of `A` (of `B`).
    alpha, beta : float
    axis : int
        The axis of the rows, in all arrays; that of the columns is the last one.

    {returns_array}
        Of the shape of `C`.

    {raises_shape_error}
        If the shapes do not fit, or there is no such axis.
    DTypeError
        If an array does not hold floating-point numbers.

    {examples}
    >>> one = nd.ones((2, 2))
    >>> nd.linalg.gemm(one, one, one, transpose_b=True, alpha=2, beta=10).asnumpy()
    array([[14., 14.],
           [14., 14.]], dtype=float32)
    """
    name = "linalg.gemm"
    product = _scaled(_product(name, A, B, transpose_a, transpose_b, axis), alpha)
    require_matrices(name, "C", C)
    product = _swap_rows_axis(product, _rows_axis(name, axis, A.ndim))
    if C.shape != product.shape:
        raise ShapeError(f"{name}: C has shape {C.shape}; expected {product.shape}, that of the product of A and B.")
    return product + _scaled(C, beta)


@operator(name="_linalg_gemm2", aliases=("linalg_gemm2",), dtypes=promoted, category="product")
def gemm2(
    A: np.ndarray,
    B: np.ndarray,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
) -> np.ndarray:
    """Return alpha · op(A) op(B), for each of many matrices.

    Parameters
    ----------
    A, B : NDArray
        Floating point, with two axes or more: of shapes (..., n, k) and (..., k, m). The leading axes are equal.
    transpose_a, transpose_b : bool
        Whether op transposes each matrix of `A` (of `B`).
    alpha : float
    axis : int
        The axis of the rows, in both arrays; that of the columns is the last one.

    {returns_array}
        Of shape (..., n, m).

    {raises_shape_error}
        If the shapes do not fit, or there is no such axis.
    DTypeError
        If an array does not hold floating-point numbers.

    {examples}
    >>> one = nd.ones((2, 2))
    >>> nd.linalg.gemm2(one, one, alpha=2).asnumpy()
    array([[4., 4.],
           [4., 4.]], dtype=float32)
    """
    product = _scaled(_product("linalg.gemm2", A, B, transpose_a, transpose_b, axis), alpha)
    return _swap_rows_axis(product, _rows_axis("linalg.gemm2", axis, A.ndim))


def _left_gradient(ans: Any, A: Any, B: Any, *, transpose_a: bool, transpose_b: bool, alpha: float, axis: int) -> Any:
    right = _transposed_if(_swap_rows_axis(B, axis), transpose_b)

    def gradient(g: Any) -> Any:
        g = _scaled(_swap_rows_axis(g, axis), alpha)
        product = matmul(right, transposed(g)) if transpose_a else matmul(g, transposed(right))
        return _swap_rows_axis(product, axis)

    return gradient


def _right_gradient(ans: Any, A: Any, B: Any, *, transpose_a: bool, transpose_b: bool, alpha: float, axis: int) -> Any:
    left = _transposed_if(_swap_rows_axis(A, axis), transpose_a)

    def gradient(g: Any) -> Any:
        g = _scaled(_swap_rows_axis(g, axis), alpha)
        product = matmul(transposed(g), left) if transpose_b else matmul(transposed(left), g)
        return _swap_rows_axis(product, axis)

    return gradient


gemm2.def_grad(_left_gradient, 0)
gemm2.def_grad(_right_gradient, 1)


gemm.def_grad(lambda ans, A, B, C, *, beta, **product: _left_gradient(ans, A, B, **product), 0)
gemm.def_grad(lambda ans, A, B, C, *, beta, **product: _right_gradient(ans, A, B, **product), 1)
gemm.def_grad(lambda ans, A, B, C, *, beta: lambda g: _scaled(g, beta), 2)


def _swap_lengths(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Return a shape with two of its axes swapped: one, and the last but one."""
    lengths = list(shape)
    lengths[axis], lengths[-2] = lengths[-2], lengths[axis]
    return tuple(lengths)


def _product_shapes(name: str, inputs: Any, outputs: Any, *, transpose_a: bool, transpose_b: bool, axis: int) -> Any:
    ndim = known_ndim(*inputs, *outputs)
    if ndim is None:
        return inputs, outputs
    if ndim < 2:
        raise ShapeError("expected matrices in the last two axes, (..., n, m).")
    axis = _rows_axis(name, axis, ndim)
    A, B, *results = (_swap_lengths(with_axes(stated, ndim), axis) for stated in (*inputs, *outputs))
    result = merge_shapes(*results) or ()
    shapes = product_shapes(A, B, result, transpose_a, transpose_b)
    left, right, shape = (_swap_lengths(merged, axis) for merged in shapes)
    return [left, right, *[shape] * (len(inputs) - 2)], [shape]


gemm.def_infer_shape(partial(_product_shapes, "linalg.gemm"))
gemm2.def_infer_shape(partial(_product_shapes, "linalg.gemm2"))


# -- triangular, and with itself ---------------------------------------------------------------------------------------


@operator(name="_linalg_trmm", aliases=("linalg_trmm",), dtypes=promoted, category="product")
def trmm(
    A: np.ndarray,
    B: np.ndarray,
    *,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
) -> np.ndarray:
    """Return alpha · op(A) B, or alpha · B op(A), for triangular matrices A.

    {matrix_parameter}
        Triangular matrices, (..., n, n), floating point. What stands in the other triangle is not read.
    B : NDArray
        Of shape (..., n, m); with `rightside` (..., m, n). The leading axes are those of `A`.
    transpose : bool
        Whether op transposes.
    rightside : bool
        Whether `A` stands to the right of `B`.
    lower : bool
        Whether `A` is lower triangular, not upper.
    alpha : float

    {returns_array}
        Of the shape of `B`.

    {raises_unless_shapes_fit}
    DTypeError
        If an array does not hold floating-point numbers.

    {examples}
    >>> nd.linalg.trmm(nd.array([[1, 0], [1, 1]]), nd.ones((2, 3)), alpha=2).asnumpy()
    array([[2., 2., 2.],
           [4., 4., 4.]], dtype=float32)
    """
    require_matrices("linalg.trmm", "A", A)
    require_matrices("linalg.trmm", "B", B)
    require_triangular_fit("linalg.trmm", A, B, rightside)
    factor = _transposed_if(triangle(A, lower), transpose)
    return _scaled(matmul(B, factor) if rightside else matmul(factor, B), alpha)


def require_triangular_fit(name: str, A: Any, B: Any, rightside: bool) -> None:
    """Raise, unless square matrices A may stand on that side of matrices B."""
    require_square(name, "A", A)
    require_same_batch(name, A=A, B=B)
    axis = -1 if rightside else -2
    if A.shape[-1] != B.shape[axis]:
        raise ShapeError(
            f"{name}: A {A.shape} and B {B.shape} with rightside={rightside}: axis {axis} of B has length "
            f"{B.shape[axis]}; expected {A.shape[-1]}, the size of A."
        )


@trmm.def_grad(argnum=0)
def _trmm_triangle_gradient(
    ans: Any, A: Any, B: Any, *, transpose: bool, rightside: bool, lower: bool, alpha: float
) -> Any:
    def gradient(g: Any) -> Any:
        product = matmul(transposed(B), g) if rightside else matmul(g, transposed(B))
        return _scaled(triangle(_transposed_if(product, transpose), lower), alpha)

    return gradient


@trmm.def_grad(argnum=1)
def _trmm_gradient(ans: Any, A: Any, B: Any, *, transpose: bool, rightside: bool, lower: bool, alpha: float) -> Any:
    factor = _transposed_if(triangle(A, lower), not transpose)
    return lambda g: _scaled(matmul(g, factor) if rightside else matmul(factor, g), alpha)


def triangular_shapes(inputs: Any, outputs: Any, *, rightside: bool, **_: Any) -> Any:
    """Infer the shapes of triangular matrices and of what they are multiplied with, which is that of the result."""
    A, B = inputs[0], merge_shapes(inputs[1], outputs[0])
    ndim = known_ndim(A, B)
    if ndim is None:
        return inputs, outputs
    A = merge_square(with_axes(A, ndim)) or ()
    side = -1 if rightside else -2
    B = with_axes(B, ndim)
    lead = merge_shapes(A[:-2], B[:-2]) or ()
    size = merge_lengths(A[-1], B[side])
    B = (*lead, B[-2], size) if rightside else (*lead, size, B[-1])
    return [(*lead, size, size), B], [B]


trmm.def_infer_shape(triangular_shapes)


@operator(name="_linalg_syrk", aliases=("linalg_syrk",), dtypes=promoted, category="product")
def syrk(A: np.ndarray, *, transpose: bool = False, alpha: float = 1.0) -> np.ndarray:
    """Return alpha · A Aᵀ, or alpha · Aᵀ A, for each of many matrices.

    {matrix_parameter}
        Matrices, (..., n, m), floating point.
    transpose : bool
        Whether the product is Aᵀ A.
    alpha : float

    {returns_array}
        Of shape (..., n, n); with `transpose` (..., m, m).

    {raises_shape_error}
        If `A` has less than two axes.
    DTypeError
        If it does not hold floating-point numbers.

    {examples}
    >>> nd.linalg.syrk(nd.array([[1, 2, 3], [4, 5, 6]])).asnumpy()
    array([[14., 32.],
           [32., 77.]], dtype=float32)
    """
    require_matrices("linalg.syrk", "A", A)
    turned = transposed(A)
    return _scaled(matmul(turned, A) if transpose else matmul(A, turned), alpha)


@syrk.def_grad()
def _syrk_gradient(ans: Any, A: Any, *, transpose: bool, alpha: float) -> Any:
    def gradient(g: Any) -> Any:
        symmetric = _scaled(g + transposed(g), alpha)
        return matmul(A, symmetric) if transpose else matmul(symmetric, A)

    return gradient


@syrk.def_infer_shape
def _syrk_shapes(inputs: Any, outputs: Any, *, transpose: bool) -> Any:
    ndim = known_ndim(*inputs, *outputs)
    if ndim is None:
        return inputs, outputs
    result = merge_square(with_axes(outputs[0], ndim)) or ()
    A = with_axes(inputs[0], ndim)
    lead = merge_shapes(A[:-2], result[:-2]) or ()
    size = merge_lengths(A[-1 if transpose else -2], result[-1])
    A = (*lead, A[-2], size) if transpose else (*lead, size, A[-1])
    return [A], [(*lead, size, size)]


# -- Khatri-Rao --------------------------------------------------------------------------------------------------------


@operator(name="khatri_rao", dtypes=promoted, category="product")
def khatri_rao(*args: np.ndarray) -> np.ndarray:
    """Return the Khatri-Rao product: in each column the Kronecker product of the matrices' columns.

    Parameters
    ----------
    *args : NDArray
        Matrices, each of shape (n, columns) with an n of its own.

    {returns_array}
        Of shape (the product of all n, columns).

    {raises_shape_error}
        If there is no matrix, one is not a matrix, or the numbers of columns differ.

    Notes
    -----
    Khatri and Rao, "Solutions to some functional equations and their applications to characterization of probability
    distributions", 1968.

    {examples}
    >>> nd.khatri_rao(nd.array([[1, -1], [2, -3]]), nd.array([[1, 4], [2, 5]])).asnumpy()
    array([[  1.,  -4.],
           [  2.,  -5.],
           [  2., -12.],
           [  4., -15.]], dtype=float32)
    """
    if not args:
        raise ShapeError("khatri_rao: got no matrices; expected one or more.")
    for number, matrix in enumerate(args):
        if matrix.ndim != 2 or matrix.shape[-1] != args[0].shape[-1]:
            raise ShapeError(
                f"khatri_rao: argument {number} has shape {matrix.shape}; expected a matrix with as many columns as "
                f"argument 0, {args[0].shape}."
            )
    result = args[0]
    for matrix in args[1:]:
        rows = np.reshape(result, (result.shape[0], 1, result.shape[1])) * matrix
        result = np.reshape(rows, (math.prod(rows.shape[:2]), rows.shape[2]))
    return result.copy() if len(args) == 1 else result


def _khatri_rao_gradient(ans: Any, *args: Any) -> Any:
    count = len(args)
    columns = np.shape(args[0])[1]
    lengths = [np.shape(matrix)[0] for matrix in args]
    # Each matrix along an axis of its own, beside that of the columns.
    expanded = [
        np.reshape(matrix, (*(lengths[number] if number == axis else 1 for number in range(count)), columns))
        for axis, matrix in enumerate(args)
    ]

    def gradient(g: Any) -> Any:
        g = np.reshape(g, (*lengths, columns))
        gradients = []
        for axis in range(count):
            part = g
            for other_axis in range(count):
                if other_axis != axis:
                    part = part * expanded[other_axis]
            gradients.append(
                sum_over(part, axis=tuple(other_axis for other_axis in range(count) if other_axis != axis))
            )
        return tuple(gradients)

    return gradient


khatri_rao.def_multiple_grad(_khatri_rao_gradient)


@khatri_rao.def_infer_shape
def _khatri_rao_shapes(inputs: Any, outputs: Any, **_: Any) -> Any:
    matrices = [with_axes(stated, 2) for stated in inputs]
    result = with_axes(outputs[0], 2)
    columns = merge_lengths(result[1], *(shape[1] for shape in matrices))
    rows: PartialShape = (product(shape[0] for shape in matrices),) if matrices else (UNKNOWN,)
    rows = merge_shapes(rows, result[:1]) or ()
    return [(shape[0], columns) for shape in matrices], [(*rows, columns)]
