"""Products of two matrices, each put to NumPy's BLAS in the way in which it is the fastest.

All ways give the same sums of the same products; measured numbers are in docs/performance.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["linear", "matrix_product"]

# Elements of a result: `dot` is called faster than `matmul`, but writes zeros before it writes the result.
_SMALL = 1 << 14
# Columns that two threads of OpenBLAS share well where a wide result is a sum of few products.
_BLOCK = 400


def matrix_product(left: Any, right: Any, out: np.ndarray | None = None) -> Any:
    """Return the product of two matrices, raw ones or recorded ones; in `out`, if raw ones are given with it."""
    if type(left) is not np.ndarray or type(right) is not np.ndarray:
        return np.dot(left, right)
    if out is None:
        if len(left) * right.shape[1] <= _SMALL or left.dtype is not right.dtype:
            return np.dot(left, right)
        out = np.empty((len(left), right.shape[1]), left.dtype)
    elif not (left.dtype is right.dtype is out.dtype or left.dtype == right.dtype == out.dtype):
        np.copyto(out, np.dot(left, right), casting="same_kind")
        return out
    elif out.size <= _SMALL:
        return np.dot(left, right, out)
    if out.ndim == 2 and out.shape[1] >= len(out) >= 512 and left.shape[1] <= 256:
        columns = out.shape[1]
        count = -(-columns // _BLOCK)
        for number in range(count):
            block = slice(columns * number // count, columns * (number + 1) // count)
            np.matmul(left, right[:, block], out[:, block])
        return out
    return np.matmul(left, right, out)


def linear(rows: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, out: np.ndarray | None = None) -> np.ndarray:
    """Return rows · weightᵀ + bias for raw arrays, in `out` or a fresh array.

    With few long rows the transposed product is faster, by up to a half: BLAS need not turn the weight round. Its
    result is turned round instead, while the bias is added.
    """
    count, width = rows.shape
    if width >= 256 and 8 <= count <= min(128, len(weight)) and (width >= 512 or count <= 32) and _floats(rows, weight):
        result = np.empty((count, len(weight)), rows.dtype) if out is None else out
        turned = np.matmul(weight, rows.T).T
        if bias is None:
            np.copyto(result, turned, casting="same_kind")
            return result
        if bias.dtype == result.dtype == rows.dtype:
            return np.add(turned, bias, result)
        np.copyto(result, turned, casting="same_kind")
    else:
        result = matrix_product(rows, weight.T, out)
    if bias is None:
        return result
    if out is not None or bias.dtype == result.dtype:
        return np.add(result, bias, result, casting="same_kind")
    return result + bias


def _floats(rows: np.ndarray, weight: np.ndarray) -> bool:
    return rows.dtype == weight.dtype and rows.dtype.char in "fd" and rows.dtype.isnative
