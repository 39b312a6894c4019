"""Products of two matrices, and the product of a layer, by the fastest way to call NumPy's BLAS.

Both ways give the same sums of the same products; measured numbers are in docs/performance.md.

Of float16 a product is computed in float32, and rounded once. NumPy's own adds up in float16, which loses all terms
below a 2048th of the sum, and it has no BLAS for it: it takes a hundred times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["dot", "is_faster_transposed", "is_half", "linear", "matmul", "matrix_product", "rows_gradient", "widened"]

_HALF = np.dtype(np.float16)


def is_half(left: Any, right: Any) -> bool:
    """Tell whether the product of two arrays is in float16. They may be recorded arrays, or array proxies."""
    half: bool = left.dtype == _HALF and right.dtype == _HALF
    return half


def widened(data: Any) -> Any:
    """Return float16 as float32, and other arrays as they are."""
    return data.astype("float32") if data.dtype == _HALF else data


def dot(left: Any, right: Any) -> Any:
    """Return `numpy.dot` of two arrays, of float16 computed in float32. They may be recorded arrays."""
    if is_half(left, right):
        return np.dot(widened(left), widened(right)).astype("float16")
    return np.dot(left, right)


def matmul(left: Any, right: Any) -> Any:
    """Return `numpy.matmul` of two arrays, of float16 computed in float32. They may be recorded arrays."""
    if is_half(left, right):
        return np.matmul(widened(left), widened(right)).astype("float16")
    return np.matmul(left, right)


def matrix_product(left: Any, right: Any, out: np.ndarray | None = None) -> Any:
    """Return the product of two matrices, or of a vector and a matrix.

    Without `out` they may be recorded arrays. With `out`, which is of the result's shape and dense, the result is
    written there.
    """
    if out is None:
        return dot(left, right)
    plain = type(left) is type(right) is np.ndarray
    if plain and out.flags.c_contiguous and left.dtype == right.dtype == out.dtype and out.dtype != _HALF:
        return np.dot(left, right, out)
    np.copyto(out, dot(left, right), casting="same_kind")
    return out


def is_faster_transposed(rows: tuple[int, ...], weight: tuple[int, ...], dtype: np.dtype) -> bool:
    """Tell from the shapes of two matrices whether weight · rowsᵀ is computed faster than rows · weightᵀ."""
    (count, width), outputs = rows, weight[0]
    few = 8 <= count <= min(128, outputs) and (width >= 512 or (width >= 256 and count <= 32))
    return few and dtype.char in "fd" and dtype.isnative


def rows_gradient(gradient: np.ndarray, weight: np.ndarray, rows: np.ndarray, out: np.ndarray | None = None) -> Any:
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
    if is_half(rows, weight):
        product = linear(widened(rows), widened(weight), None if bias is None else widened(bias))
        if out is None:
            return product if bias is not None and bias.dtype != _HALF else product.astype(_HALF)
        np.copyto(out, product, casting="same_kind")
        return out
    if rows.dtype == weight.dtype and is_faster_transposed(rows.shape, weight.shape, rows.dtype):
        result = np.empty((len(rows), len(weight)), rows.dtype, "F") if out is None else out
        in_place = result.flags.f_contiguous and result.dtype == rows.dtype
        computed = matrix_product(weight, rows.T, result.T if in_place else None).T
        if bias is not None and bias.dtype == result.dtype == rows.dtype:
            return np.add(computed, bias, result)
        np.copyto(result, computed, casting="same_kind")
    else:
        result = matrix_product(rows, weight.T, out)
    if bias is None:
        return result
    if out is not None or bias.dtype == result.dtype:
        return np.add(result, bias, result, casting="same_kind")
    return result + bias
