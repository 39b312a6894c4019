"""Products of two matrices, and the product of a layer, put to NumPy's BLAS in the way in which it is the fastest.

Both ways give the same sums of the same products; measured numbers are in docs/performance.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["linear", "matrix_product", "toward_rows", "turns"]


def matrix_product(left: Any, right: Any, out: np.ndarray | None = None) -> Any:
    """Return the product of two matrices, or of a vector and a matrix.

    Without `out` they may be recorded arrays. With `out`, which is of the result's shape and dense, the result is
    written there.
    """
    if out is None:
        return np.dot(left, right)
    plain = type(left) is type(right) is np.ndarray
    if plain and out.flags.c_contiguous and left.dtype == right.dtype == out.dtype:
        return np.dot(left, right, out)
    np.copyto(out, np.dot(left, right), casting="same_kind")
    return out


def turns(rows: tuple[int, ...], weight: tuple[int, ...], dtype: np.dtype) -> bool:
    """Tell from the shapes of two matrices whether weight · rowsᵀ is computed faster than rows · weightᵀ."""
    (count, width), outputs = rows, weight[0]
    few = 8 <= count <= min(128, outputs) and (width >= 512 or (width >= 256 and count <= 32))
    return few and dtype.char in "fd" and dtype.isnative


def toward_rows(gradient: np.ndarray, weight: np.ndarray, rows: np.ndarray, out: np.ndarray | None = None) -> Any:
    """Return gradient · weight, the gradient of `rows`, in `out` or a fresh array, which lies as `rows` do."""
    result = out
    if out is None and rows.flags.f_contiguous and not rows.flags.c_contiguous and gradient.dtype == weight.dtype:
        result = np.empty(rows.shape, gradient.dtype, "F")
    if result is not None and result.flags.f_contiguous and not result.flags.c_contiguous:
        matrix_product(weight.T, gradient.T, result.T)
        return result
    return matrix_product(gradient, weight, out)


def linear(rows: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, out: np.ndarray | None = None) -> np.ndarray:
    """Return rows · weightᵀ + bias for raw arrays, in `out` or a fresh array.

    With few long rows the transposed product is faster, by up to a half: BLAS need not turn the weight round. A fresh
    result lies column by column then, as BLAS leaves it; so does the next layer's, which reads it as it lies.
    """
    if rows.dtype == weight.dtype and turns(rows.shape, weight.shape, rows.dtype):
        result = np.empty((len(rows), len(weight)), rows.dtype, "F") if out is None else out
        in_place = result.flags.f_contiguous and result.dtype == rows.dtype
        turned = matrix_product(weight, rows.T, result.T if in_place else None).T
        if bias is not None and bias.dtype == result.dtype == rows.dtype:
            return np.add(turned, bias, result)
        np.copyto(result, turned, casting="same_kind")
    else:
        result = matrix_product(rows, weight.T, out)
    if bias is None:
        return result
    if out is not None or bias.dtype == result.dtype:
        return np.add(result, bias, result, casting="same_kind")
    return result + bias
