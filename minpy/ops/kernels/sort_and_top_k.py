"""The order of elements along the last axis, where NumPy's stable sort is slow.

Float32 numbers and 32-bit integers are sorted as 64-bit keys: the number in the upper half, turned into an integer of
the same order, its position in the lower half. No two keys are equal, so that any sort is stable, and NumPy's fastest
one serves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["largest_positions", "positions_in_order"]

# Up to this many of the largest are searched one by one, along axes of at least this length.
_FEW, _LONG = 8, 32
_LARGE = 2048


def positions_in_order(data: np.ndarray) -> Any:
    """Return `numpy.argsort(data, kind='stable')` along the last axis."""
    if data.size < _LARGE or data.dtype.char not in "fiI":
        return np.argsort(data, axis=-1, kind="stable")
    if data.dtype.char == "f":
        bits = (data + np.float32(0)).view(np.int32)  # which makes -0.0 equal to 0.0
        if np.isnan(data).any():
            bits[np.isnan(data)] = np.iinfo(np.int32).max
        # Negative floats grow as their bits shrink: turn all but the sign.
        bits ^= (bits >> 31) & np.int32(0x7FFFFFFF)
        keys = bits.astype(np.int64)
    else:
        keys = data.astype(np.int64)
    keys <<= 32
    keys |= np.arange(data.shape[-1], dtype=np.int64)
    keys.sort(axis=-1)
    keys &= 0xFFFFFFFF
    return keys


def largest_positions(data: np.ndarray, count: int, ascending: bool) -> Any:
    """Return the positions of the `count` largest (or smallest) along the last axis of an array, in order.

    Of equal elements the one that comes first is first; NaN is larger than all others. None, where another way is
    faster or looking one by one cannot tell.
    """
    length = data.shape[-1]
    if not 0 < count <= _FEW or length < _LONG or data.dtype.kind not in "fiu" or not data.size:
        return None
    candidates = np.array(data, order="C").reshape(-1, length)
    if data.dtype.kind == "f":
        removed = data.dtype.type(np.inf if ascending else -np.inf)
        if ascending and np.isnan(candidates.min()):
            return None
    else:
        limits = np.iinfo(data.dtype)
        removed = data.dtype.type(limits.max if ascending else limits.min)
    chosen = np.empty((len(candidates), count), np.intp)
    find = np.argmin if ascending else np.argmax
    rows = np.arange(len(candidates))
    for rank in range(count):
        positions = find(candidates, axis=1)
        if rank and (candidates[rows, positions] == removed).any():  # the mark of those chosen already
            return None
        chosen[:, rank] = positions
        candidates[rows, positions] = removed
    return chosen.reshape(*data.shape[:-1], count)
