"""Sums and maxima along one axis of raw arrays, where NumPy's own loops over short rows are slow."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

__all__ = ["maximum_along", "ones", "sum_along"]

# OpenBLAS's kernels for so few columns compute with what happens to lie on the stack, too, and leave that out of the
# result; if it is a signalling NaN, NumPy warns of an invalid value.
_MAX_NARROW = 7


@lru_cache(16)
def ones(count: int, dtype: np.dtype) -> np.ndarray:
    """Return a vector of ones that cannot be written; a product with it is a fast sum."""
    vector = np.ones(count, dtype)
    vector.setflags(write=False)
    return vector


def _as_rows(data: np.ndarray, axis: int) -> np.ndarray | None:
    """Return an array as a matrix whose rows run along `axis`, if that costs nothing; else None."""
    if axis not in (-1, data.ndim - 1) or not data.flags.c_contiguous or not data.size:
        return None
    return data if data.ndim == 2 else data.reshape(-1, data.shape[-1])


def maximum_along(data: np.ndarray, axis: int) -> np.ndarray:
    """Return the maximum along an axis, which is kept; many short rows are faster as a few long columns."""
    rows = _as_rows(data, axis)
    if rows is None or not rows.shape[1] <= 32 < rows.shape[0]:
        return data.max(axis=axis, keepdims=True, initial=-np.inf)
    return np.maximum.reduce(rows.T.copy(), axis=0).reshape(*data.shape[:-1], 1)


def sum_along(data: np.ndarray, axis: int) -> np.ndarray:
    """Return the sum along an axis, which is kept; as a product where rounding stays small."""
    rows = _as_rows(data, axis)
    if rows is None or rows.shape[1] > 1024:
        return data.sum(axis=axis, keepdims=True)
    vector = ones(rows.shape[1], rows.dtype)
    if len(vector) > _MAX_NARROW:
        return rows.dot(vector).reshape(*data.shape[:-1], 1)
    with np.errstate(invalid="ignore"):
        return rows.dot(vector).reshape(*data.shape[:-1], 1)
