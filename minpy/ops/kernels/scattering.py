"""Rows added up by number: the transpose of taking rows."""

from __future__ import annotations

import numpy as np

from minpy.core.sums import sum_over

__all__ = ["add_rows"]

# Rows so short are added element by element, by NumPy's `add.at` of one axis.
_SHORT = 4
# Numbers that come more often than this are added up each by itself, in blocks, as long sums are.
_OFTEN = 64


def add_rows(data: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """Return `count` rows, each the sum of the rows of `data` with its number.

    Parameters
    ----------
    data : numpy.ndarray
        Of shape (n, width).
    rows : numpy.ndarray
        Of shape (n,), integers in [0, count).
    count : int
    """
    length, width = data.shape
    dtype = np.dtype(np.float32) if data.dtype == np.float16 else data.dtype
    result = np.zeros((count, width), dtype)
    if not length or not width:
        return result.astype(data.dtype, copy=False)
    if width <= _SHORT:
        positions = rows if width == 1 else (rows[:, None] * width + np.arange(width)).reshape(-1)
        np.add.at(result.reshape(-1), positions, data.astype(dtype, copy=False).reshape(-1))
        return result.astype(data.dtype, copy=False)
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    numbers, counts = ordered[starts], np.diff(starts, append=length)
    result[numbers] = data.take(order[starts], axis=0)
    round_number = 1
    unfinished = np.flatnonzero(counts > round_number)
    while (
        unfinished.size and round_number < _OFTEN
    ):  # the second row of each number, the third, ...: no number twice in a turn
        result[numbers[unfinished]] += data.take(order[starts[unfinished] + round_number], axis=0)
        round_number += 1
        unfinished = unfinished[counts[unfinished] > round_number]
    for number in unfinished:
        remaining = data.take(order[starts[number] + round_number : starts[number] + counts[number]], axis=0)
        result[numbers[number]] += sum_over(remaining.astype(dtype, copy=False), axis=0)
    return result.astype(data.dtype, copy=False)
