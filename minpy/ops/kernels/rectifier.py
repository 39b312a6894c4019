"""max(x, 0) of raw arrays, at the speed of an addition."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["rectified"]

_WIDTH = 4096


@lru_cache(16)
def _zeros(dtype: np.dtype) -> np.ndarray:
    zeros = np.zeros(_WIDTH, dtype)
    zeros.setflags(write=False)
    return zeros


def rectified(data: Any, out: np.ndarray | None = None) -> Any:
    """Return max(data, 0) of an array or a number, in `out` or a fresh array.

    NumPy's maximum of an array and a number takes up to three times as long as that of two arrays: a large array is
    compared with rows of zeros.
    """
    if type(data) is not np.ndarray or data.size < 2 * _WIDTH or data.dtype.kind not in "fiu":
        return np.maximum(data, 0, out=out)
    result = np.empty_like(data) if out is None else out
    source, target = data, result
    if not data.flags.c_contiguous:  # as it lies in memory, in whatever order of axes
        order = sorted(range(data.ndim), key=data.strides.__getitem__, reverse=True)
        source, target = data.transpose(order), result.transpose(order)
    if not (source.flags.c_contiguous and target.flags.c_contiguous and data.dtype.isnative):
        return np.maximum(data, 0, out=out)
    source, target, zeros = source.reshape(-1), target.reshape(-1), _zeros(data.dtype)
    end = data.size - data.size % _WIDTH
    np.maximum(source[:end].reshape(-1, _WIDTH), zeros, out=target[:end].reshape(-1, _WIDTH))
    np.maximum(source[end:], zeros[: data.size - end], out=target[end:])
    return result
