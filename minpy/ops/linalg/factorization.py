"""Factorizations of matrices, and what is computed from them: Cholesky, LQ, and the eigenvectors of symmetric ones.

The formulas of the gradients are those of Murray, "Differentiation of the Cholesky decomposition" (2016), and Seeger et
al., "Auto-differentiating linear algebra" (2017). Of a symmetric matrix the lower triangle is read, and the gradient is
symmetric, too, as in MXNet. To differentiate such a gradient once more, the factors are computed again from the matrix
with its lower triangle mirrored: then each step follows from what was read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.ops.inference.partial_shapes import merge_shapes, same_dtype
from minpy.ops.inference.rule_parts import known_ndim, merge_lengths, with_axes
from minpy.ops.linalg.matrices import (
    merge_square,
    mirrored,
    require_factorable,
    solved_each,
    square_shapes,
    transposed,
    triangle,
)
from minpy.ops.linalg.solving import solve_triangular, trsm
from minpy.ops.registry import operator

__all__ = ["gelqf", "potrf", "potri", "syevd"]


def _symmetric(array: Any) -> Any:
    return (array + transposed(array)) / 2


@operator(name="_linalg_potrf", aliases=("linalg_potrf",), shapes=square_shapes, dtypes=same_dtype)
def potrf(A: np.ndarray, *, lower: bool = True) -> np.ndarray:
    """Return the Cholesky factor of each of many symmetric, positive definite matrices: L with L Lᵀ = A.

    {matrix_parameter}
        Symmetric matrices, (..., n, n), of float32 or float64. Only their lower triangles are read; with `lower=False`
        only their upper ones.
    lower : bool
        If false, Lᵀ is returned.

    {returns_array}
        Lower triangular matrices with positive diagonals, of the shape of `A`; with `lower=False` upper triangular.

    {raises_unless_factorable}
    ArgumentValueError
        If a matrix is not positive definite: which one.

    Notes
    -----
    With upstream gradient G and P the lower triangle of LᵀG with its diagonal halved, the gradient is the symmetric
    part of L⁻ᵀ P L⁻¹ (Murray, "Differentiation of the Cholesky decomposition", 2016).

    {examples}
    >>> nd.linalg.potrf(nd.array([[4, 1], [1, 4.25]])).asnumpy()
    array([[2. , 0. ],
           [0.5, 2. ]], dtype=float32)
    """
    require_factorable("linalg.potrf", "A", A)
    problem = "is not positive definite: it has no Cholesky factor. Adding a small multiple of the identity may help."
    factor: np.ndarray = solved_each("linalg.potrf", "A", np.linalg.cholesky, A if lower else transposed(A), problem)
    return factor if lower else transposed(factor)


def _cholesky_vjp(L: Any, g: Any) -> Any:
    # The diagonal counts half: it is in both of the triangles that make up the symmetric part.
    size = np.shape(L)[-1]
    weights = np.tri(size, dtype=L.dtype) - np.eye(size, dtype=L.dtype) / 2
    part = np.matmul(transposed(L), triangle(g)) * weights
    return _symmetric(trsm(L, trsm(L, part, transpose=True), rightside=True))


@potrf.def_grad()
def _potrf_gradient(ans: Any, A: Any, *, lower: bool) -> Any:
    if lower:
        return lambda g: _cholesky_vjp(potrf(mirrored(A)), g)
    return lambda g: _cholesky_vjp(potrf(mirrored(transposed(A))), transposed(g))


@potrf.def_grad_kernel()
def _raw_potrf_gradient(ans: Any, A: Any, *, lower: bool) -> Any:
    return lambda g: _cholesky_vjp(ans, g) if lower else _cholesky_vjp(transposed(ans), transposed(g))


@operator(name="_linalg_potri", aliases=("linalg_potri",), shapes=square_shapes, dtypes=same_dtype)
def potri(A: np.ndarray, *, lower: bool = True) -> np.ndarray:
    """Return (L Lᵀ)⁻¹ for Cholesky factors L: the inverse of the matrix that was factorized.

    {matrix_parameter}
        Lower triangular matrices, (..., n, n), of float32 or float64. What stands above the diagonal is not read.
    lower : bool
        If false, `A` holds Lᵀ: upper triangular matrices, of which nothing is read below the diagonal.

    {returns_array}
        Symmetric matrices, of the shape of `A`.

    {raises_unless_factorable}
    ArgumentValueError
        If a matrix has a zero on its diagonal: which one.

    Notes
    -----
    To solve equations use `trsm` twice: it is faster, and loses fewer digits.

    {examples}
    >>> nd.linalg.potri(nd.array([[2, 0], [0.5, 2]])).asnumpy()
    array([[ 0.265625, -0.0625  ],
           [-0.0625  ,  0.25    ]], dtype=float32)
    """
    require_factorable("linalg.potri", "A", A)
    factor = triangle(A if lower else transposed(A))
    problem = "is singular: it has a zero on its diagonal, and is no Cholesky factor."
    inverse = solved_each("linalg.potri", "A", _inverse_triangle, factor, problem)
    return np.matmul(transposed(inverse), inverse)


def _inverse_triangle(factor: np.ndarray) -> np.ndarray:
    identity = np.broadcast_to(np.eye(factor.shape[-1], dtype=factor.dtype), factor.shape)
    return solve_triangular(factor, identity, lower=True)


@potri.def_grad()
def _potri_gradient(ans: Any, A: Any, *, lower: bool) -> Any:
    def gradient(g: Any) -> Any:
        # X = (L Lᵀ)⁻¹ and dX = -X (dL Lᵀ + L dLᵀ) X, and X L = L⁻ᵀ.
        factor = A if lower else transposed(A)
        product = -triangle(trsm(factor, np.matmul(ans, g + transposed(g)), rightside=True, transpose=True))
        return product if lower else transposed(product)

    return gradient


# -- orthogonal factors ------------------------------------------------------------------------------------------------


@operator(name="_linalg_gelqf", aliases=("linalg_gelqf",), outputs=("output0", "output1"), dtypes=same_dtype)
def gelqf(A: np.ndarray) -> Any:
    """Return the LQ factorization of each of many matrices: Q with orthonormal rows and lower triangular L, L Q = A.

    {matrix_parameter}
        Matrices of full rank, (..., n, m) with n <= m, of float32 or float64.

    Returns
    -------
    Q : NDArray
        Of the shape of `A`.
    L : NDArray
        Of shape (..., n, n). The signs of its diagonal are LAPACK's.

    {raises_shape_error}
        If the matrices have more rows than columns.
    DTypeError
        If `A` does not hold float32 or float64 numbers.

    Notes
    -----
    The gradient is that of Seeger et al., "Auto-differentiating linear algebra" (2017).

    {examples}
    >>> q, l = nd.linalg.gelqf(nd.array([[3, 4]]))
    >>> q.asnumpy().round(4), l.asnumpy().round(4)
    (array([[-0.6, -0.8]], dtype=float32), array([[-5.]], dtype=float32))
    """
    require_factorable("linalg.gelqf", "A", A, square=False)
    if A.shape[-2] > A.shape[-1]:
        raise ShapeError(
            f"linalg.gelqf: A has shape {A.shape}; expected no more rows than columns, (..., n, m), n <= m."
        )
    # The transposed factorization is QR. NumPy's `qr` leaves nothing but zeros below R's diagonal.
    q, r = np.linalg.qr(transposed(A))
    return transposed(q), transposed(r)


@gelqf.def_grad()
def _gelqf_gradient(ans: Any, A: Any) -> Any:
    Q, L = ans

    def gradient(g: Any) -> Any:
        product = np.matmul(transposed(L), triangle(g[1])) - np.matmul(g[0], transposed(Q))
        size = np.shape(L)[-1]
        lower = triangle(product)
        mirrored_lower = np.where(np.tri(size, dtype=np.bool_), lower, transposed(lower))
        return trsm(L, g[0] + np.matmul(mirrored_lower, Q), transpose=True)

    return gradient


@operator(name="_linalg_syevd", aliases=("linalg_syevd",), outputs=("output0", "output1"), dtypes=same_dtype)
def syevd(A: np.ndarray) -> Any:
    """Return the eigenvectors and eigenvalues of each of many symmetric matrices: U A = diag(values) U.

    {matrix_parameter}
        Symmetric matrices, (..., n, n), of float32 or float64. Only their lower triangles are read.

    Returns
    -------
    U : NDArray
        Of the shape of `A`: the eigenvectors are its rows. Of each, the element of the largest absolute value is
        positive, the first of them if there are several.
    values : NDArray
        Of shape (..., n), in ascending order.

    {raises_unless_factorable}
    ArgumentValueError
        If the eigenvalues do not converge: of which matrix.

    Notes
    -----
    The gradient is that of Seeger et al., "Auto-differentiating linear algebra" (2017). It exists where the eigenvalues
    differ; of equal ones, what the gradient of U would divide by zero is left out.

    {examples}
    >>> u, values = nd.linalg.syevd(nd.array([[2, 0], [0, 1]]))
    >>> u.asnumpy(), values.asnumpy()
    (array([[0., 1.],
           [1., 0.]], dtype=float32), array([1., 2.], dtype=float32))
    """
    require_factorable("linalg.syevd", "A", A)
    result = solved_each("linalg.syevd", "A", np.linalg.eigh, A, "has eigenvalues that do not converge.")
    values, vectors = result
    rows = transposed(vectors)
    largest = np.argmax(np.abs(rows), axis=-1) if rows.size else np.zeros(rows.shape[:-1], np.intp)
    signs = np.where(np.take_along_axis(rows, largest[..., np.newaxis], -1) < 0, -1, 1).astype(rows.dtype)
    return rows * signs, values


def _eigh_vjp(ans: Any, g: Any) -> Any:
    U, values = ans
    gaps = np.expand_dims(values, -2) - np.expand_dims(values, -1)
    gaps = np.where(gaps == 0, 0, 1 / np.where(gaps == 0, 1, gaps))
    inner = np.matmul(U, transposed(g[0])) * gaps
    scaled = np.matmul(inner, U) + np.expand_dims(g[1], -1) * U
    return _symmetric(np.matmul(transposed(U), scaled))


syevd.def_grad(lambda ans, A: lambda g: _eigh_vjp(syevd(mirrored(A)), g))


syevd.def_grad_kernel(lambda ans, A: lambda g: _eigh_vjp(ans, g))


@gelqf.def_infer_shape
def _gelqf_shapes(inputs: Any, outputs: Any) -> Any:
    Q, L = outputs
    ndim = known_ndim(*inputs, *outputs)
    if ndim is None:
        return inputs, outputs
    L = merge_square(with_axes(L, ndim)) or ()
    A = with_axes(merge_shapes(inputs[0], Q), ndim)
    lead = merge_shapes(A[:-2], L[:-2]) or ()
    rows = merge_lengths(A[-2], L[-1])
    if -1 < A[-1] < rows:
        raise ShapeError(f"a matrix of {rows} rows and {A[-1]} columns; expected no more rows than columns.")
    A = (*lead, rows, A[-1])
    return [A], [A, (*lead, rows, rows)]


@syevd.def_infer_shape
def _syevd_shapes(inputs: Any, outputs: Any) -> Any:
    U, values = outputs
    square = merge_square(inputs[0], U, None if values is None else (*values, values[-1]))
    return [square], [square, None if square is None else square[:-1]]
