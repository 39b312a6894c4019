"""Triangular systems of equations, inverses and determinants.

NumPy has no solver for triangular systems: `numpy.linalg.solve` factorizes whatever it is given. For an upper
triangular matrix that changes nothing, as there is nothing to eliminate and no pivot to choose, and what is left is
back-substitution; a lower triangular one becomes upper with its rows and columns in reverse order. The factorization
would still cost n³, so large systems are solved a block at a time: only the blocks on the diagonal go through `solve`,
and the rest are products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.ops.inference.partial_shapes import same_dtype
from minpy.ops.inference.rule_parts import numbered
from minpy.ops.linalg.gemm import require_triangular_fit, triangular_shapes
from minpy.ops.linalg.matrices import (
    leading_shape,
    require_factorable,
    solved_each,
    square_shapes,
    transposed,
    triangle,
)
from minpy.ops.registry import operator

__all__ = ["det", "inverse", "slogdet", "solve_triangular", "trsm"]

# Up to which size one call of LAPACK is the fastest; also the size of blocks (measured).
_BLOCK = 64


def _solve_whole(factor: Any, right: Any, lower: bool) -> Any:
    """Return the solution of triangular systems: the definition."""
    if lower:
        back = (..., slice(None, None, -1), slice(None))
        return np.linalg.solve(factor[..., ::-1, ::-1], right[back])[back]
    return np.linalg.solve(factor, right)


def solve_triangular(factor: np.ndarray, right: np.ndarray, lower: bool) -> np.ndarray:
    """Return the solution of triangular systems, block by block: the kernel.

    Parameters
    ----------
    factor : numpy.ndarray
        Triangular matrices, (..., n, n), with zeros in the other triangle.
    right : numpy.ndarray
        Of shape (..., n, m).
    lower : bool
        Whether they are lower triangular, not upper.
    """
    size = factor.shape[-1]
    if size <= _BLOCK:
        return _solve_whole(factor, right, lower)
    result = right.copy()
    starts = range(0, size, _BLOCK)
    for start in starts if lower else reversed(starts):
        block = slice(start, start + _BLOCK)
        unsolved = slice(start + _BLOCK, size) if lower else slice(0, start)
        solved = _solve_whole(factor[..., block, block], result[..., block, :], lower)
        result[..., block, :] = solved
        result[..., unsolved, :] -= np.matmul(factor[..., unsolved, block], solved)
    return result


@operator(name="_linalg_trsm", aliases=("linalg_trsm",), kernel={"_solve": solve_triangular}, shapes=triangular_shapes)
def trsm(
    A: np.ndarray,
    B: np.ndarray,
    *,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    _solve: Callable[..., Any] = _solve_whole,
) -> np.ndarray:
    """Solve op(A) X = alpha · B, or X op(A) = alpha · B, for triangular matrices A.

    {matrix_parameter}
        Triangular matrices, (..., n, n), of float32 or float64. What stands in the other triangle is not read.
    B : NDArray
        Of shape (..., n, m); with `rightside` (..., m, n). The leading axes are those of `A`.
    transpose : bool
        Whether op transposes.
    rightside : bool
        Whether `A` stands to the right of the solution.
    lower : bool
        Whether `A` is lower triangular, not upper.
    alpha : float

    {returns_array}
        X, of the shape of `B`.

    {raises_unless_shapes_fit}
    DTypeError
        If an array does not hold float32 or float64 numbers.
    ArgumentValueError
        If a matrix has a zero on its diagonal.

    {examples}
    >>> nd.linalg.trsm(nd.array([[1, 0], [1, 1]]), nd.array([[2, 2], [4, 4]]), alpha=0.5).asnumpy()
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    for argument, matrices in (("A", A), ("B", B)):
        require_factorable("linalg.trsm", argument, matrices, square=False)
    require_triangular_fit("linalg.trsm", A, B, rightside)
    # X op(A) = B is op(A)ᵀ Xᵀ = Bᵀ.
    turn = transpose != rightside
    factor, right = triangle(A, lower), transposed(B) if rightside else B
    factor, lower = (transposed(factor), not lower) if turn else (factor, lower)
    try:
        solution = _solve(factor, right, lower)
    except np.linalg.LinAlgError:
        solved_each("linalg.trsm", "A", np.linalg.inv, factor, "is singular: it has a zero on its diagonal.")
        raise
    solution = transposed(solution) if rightside else solution
    return solution if alpha == 1 else solution * alpha


@trsm.def_grad(argnum=0)
def _trsm_triangle_gradient(ans: Any, A: Any, B: Any, *, transpose: bool, rightside: bool, lower: bool) -> Any:
    def gradient(g: Any) -> Any:
        back = trsm(A, g, transpose=not transpose, rightside=rightside, lower=lower)
        product = np.matmul(transposed(ans), back) if rightside else np.matmul(back, transposed(ans))
        return -triangle(transposed(product) if transpose else product, lower)

    return gradient


@trsm.def_grad(argnum=1)
def _trsm_gradient(ans: Any, A: Any, B: Any, *, transpose: bool, rightside: bool, lower: bool, alpha: float) -> Any:
    return lambda g: trsm(A, g, transpose=not transpose, rightside=rightside, lower=lower, alpha=alpha)


trsm.def_infer_type(same_dtype)


# -- inverses and determinants -----------------------------------------------------------------------------------------


@operator(name="_linalg_inverse", aliases=("linalg_inverse",), shapes=square_shapes, dtypes=same_dtype)
def inverse(A: np.ndarray) -> np.ndarray:
    """Return the inverse of each of many matrices.

    {matrix_parameter}
        Square matrices, (..., n, n), of float32 or float64.

    {returns_array}
        Of the shape of `A`.

    {raises_unless_factorable}
    ArgumentValueError
        If a matrix is singular: which one.

    {examples}
    >>> nd.linalg.inverse(nd.array([[1, 4], [2, 3]])).asnumpy().round(4)
    array([[-0.6,  0.8],
           [ 0.4, -0.2]], dtype=float32)
    """
    require_factorable("linalg.inverse", "A", A)
    result: np.ndarray = solved_each("linalg.inverse", "A", np.linalg.inv, A, "is singular: it has no inverse.")
    return result


@inverse.def_grad()
def _inverse_gradient(ans: Any, A: Any) -> Any:
    transposed_inverse = transposed(ans)
    return lambda g: -np.matmul(np.matmul(transposed_inverse, g), transposed_inverse)


@operator(name="_linalg_det", aliases=("linalg_det",), outputs=numbered(1), saved_outputs=lambda attributes: 3)
def det(A: np.ndarray) -> np.ndarray:
    """Return the determinant of each of many matrices.

    {matrix_parameter}
        Square matrices, (..., n, n), of float32 or float64.

    {returns_array}
        Of the leading shape; (1,) for a single matrix. The gradient of a singular matrix is zero, as in MXNet.

    {raises_unless_factorable}

    Notes
    -----
    With y = det(A) the gradient is y · A⁻ᵀ (Jacobi's formula).

    {examples}
    >>> nd.linalg.det(nd.array([[1, 4], [2, 3]])).asnumpy().round(4)
    array([-5.], dtype=float32)
    """
    require_factorable("linalg.det", "A", A)
    return np.reshape(np.linalg.det(A), A.shape[:-2] or (1,))


def _where_regular(A: Any, ans: Any) -> tuple[Any, Any]:
    """Return (A⁻ᵀ, but zeros where `ans`, a determinant or a sign, is 0; `ans` as one number for each matrix)."""
    each = np.reshape(ans, (*np.shape(A)[:-2], 1, 1))
    regular = each != 0
    size = np.shape(A)[-1]
    return np.where(regular, transposed(inverse(np.where(regular, A, np.eye(size, dtype=A.dtype)))), 0), each


@det.def_grad()
def _det_gradient(ans: Any, A: Any) -> Any:
    def gradient(g: Any) -> Any:
        back, each = _where_regular(A, ans)
        return np.reshape(g, np.shape(each)) * each * back

    return gradient


@operator(name="_linalg_slogdet", aliases=("linalg_slogdet",), outputs=numbered(2), saved_outputs=lambda attributes: 4)
def slogdet(A: np.ndarray) -> Any:
    """Return the sign of the determinant of each of many matrices, and the logarithm of its absolute value.

    {matrix_parameter}
        Square matrices, (..., n, n), of float32 or float64.

    Returns
    -------
    sign : NDArray
        -1, 0 or 1, of the leading shape; (1,) for a single matrix. It has no gradient.
    logabsdet : NDArray
        Of the same shape; -inf for a singular matrix, whose gradient is zero, as in MXNet.

    {raises_unless_factorable}

    {examples}
    >>> sign, logarithm = nd.linalg.slogdet(nd.array([[1, 4], [2, 3]]))
    >>> sign.asnumpy(), logarithm.asnumpy().round(4)
    (array([-1.], dtype=float32), array([1.6094], dtype=float32))
    """
    require_factorable("linalg.slogdet", "A", A)
    sign, logarithm = np.linalg.slogdet(A)
    shape = A.shape[:-2] or (1,)
    return np.reshape(sign, shape), np.reshape(logarithm, shape)


@slogdet.def_grad()
def _slogdet_gradient(ans: Any, A: Any) -> Any:
    def gradient(g: Any) -> Any:
        back, each = _where_regular(A, ans[0])
        return np.reshape(g[1], np.shape(each)) * back

    return gradient


for _operator in (det, slogdet):
    _operator.def_infer_shape(leading_shape)
    _operator.def_infer_type(same_dtype)
# MXNet keeps the factorization and its pivots as outputs that users do not see.
