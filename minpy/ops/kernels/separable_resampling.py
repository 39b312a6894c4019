"""Images whose rows and columns are weighted together by two matrices: `rows @ image @ columns.T`, for each image.

In matrices that resize an image each row has few elements that are not zero, and those of a row lie to the right of
those of the rows above. Along long axes a block of rows is therefore multiplied with the part of the image that it
reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["resample"]

# Axes up to the first length are multiplied as a whole; longer ones this many rows of the matrix at a time.
_SHORT, _ROWS = 16, 48


def _blocks(matrix: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Yield (rows, the columns in which they have elements) of a matrix."""
    count, length = matrix.shape
    if count <= _ROWS or length <= _SHORT:
        yield slice(0, count), slice(0, length)
        return
    for first in range(0, count, _ROWS):
        used = np.flatnonzero(matrix[first : first + _ROWS].any(axis=0))
        columns = slice(used[0], used[-1] + 1) if used.size else slice(0, 0)
        yield slice(first, min(first + _ROWS, count)), columns


def _along_rows(matrix: np.ndarray, images: np.ndarray) -> np.ndarray:
    blocks = list(_blocks(matrix))
    if len(blocks) == 1:
        return np.matmul(matrix, images)
    result = np.empty((len(images), len(matrix), images.shape[2]), images.dtype)
    for rows, columns in blocks:
        np.matmul(matrix[rows, columns], images[:, columns], out=result[:, rows])
    return result


def _along_columns(images: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    count, height, width = images.shape
    blocks = list(_blocks(matrix))
    lines = images.reshape(count * height, width)
    if len(blocks) == 1:
        return np.dot(lines, matrix.T).reshape(count, height, len(matrix))
    result = np.empty((count * height, len(matrix)), images.dtype)
    for rows, columns in blocks:
        result[:, rows] = np.dot(lines[:, columns], matrix[rows, columns].T)
    return result.reshape(count, height, len(matrix))


def resample(data: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
    """Return `rows @ image @ columns.T` of each image of `data`, of shape (batch, channels, height, width)."""
    batch, channels, height, width = data.shape
    out_height, out_width = len(rows), len(columns)
    images = data.reshape(batch * channels, height, width)
    if height * out_width * (width + out_height) <= out_height * width * (height + out_width):
        result = _along_rows(rows, _along_columns(images, columns))
    else:
        result = _along_columns(_along_rows(rows, images), columns)
    return result.reshape(batch, channels, out_height, out_width)
