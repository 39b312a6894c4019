"""Convolution by kernels of 3 x 3, a step of one: two by two results from sixteen products instead of thirty-six.

Andrew Lavin and Scott Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), F(2x2, 3x3): a tile of 2 x 2
results comes of a tile of 4 x 4 data d and a kernel g as A' [(G g G') * (B' d B)] A. For many channels the sixteen
products of a tile are sixteen products of matrices over all tiles of all examples. The factors are 1 and 1/2, so the
rounding errors are those of the plain sum; only an infinity or NaN among the data reaches its whole tile.

Arrays are stored batch last, as in `minpy.ops.kernels.im2col`: (channels, height, width, batch).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["correlate", "pays", "weight_gradient"]

Ints = tuple[int, ...]

G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])

# What each of the four rows (columns) of a transformed tile of data is: the sum or difference of two of its four.
DATA: tuple[tuple[int, int, Any], ...] = ((0, 2, np.subtract), (1, 2, np.add), (2, 1, np.subtract), (1, 3, np.subtract))

# Channels and tiles from which the fewer products pay for the transforms.
CHANNELS = 64
TILES = 128

# Bytes of transformed data and products that are worked on at a time: what stays in the second-level cache of a core.
BLOCK = 1 << 20

# Columns below which a product of matrices is slow, whatever stays in the cache.
COLUMNS = 128

# Bytes of transformed kernels that are made at a time.
KERNELS = 8 << 20


def pays(window: dict[str, Any], weight: Ints, dtype: np.dtype, positions: Ints, batch: int) -> bool:
    """Tell whether a convolution can be done in tiles, with a weight of this shape, and is quicker so.

    `window` holds its stride, dilate, pad and num_group; `positions` are the lengths of what comes out.
    """
    if weight[2:] != (3, 3) or dtype.kind != "f" or window["num_group"] != 1 or min(weight[:2]) < CHANNELS:
        return False
    if any(s != 1 for s in (*window["stride"], *window["dilate"])):
        return False
    return ((positions[0] + 1) // 2) * ((positions[1] + 1) // 2) * batch >= TILES


def _kernel_factors(dtype: np.dtype, last: int = 1) -> np.ndarray:
    """Return G (x) G, of shape (4, 4, 3, 3); the signs of G's last row are those of `last`."""
    rows = G.copy()
    rows[3] *= last
    return np.einsum("ki,lj->klij", rows, rows).astype(dtype)


def _split(data: np.ndarray, tiles: Ints, pad: Ints) -> np.ndarray:
    """Return padded data with its even and odd columns split: of shape (channels, height, 2, width / 2, batch)."""
    channels, height, width, batch = data.shape
    result = np.zeros((channels, 2 * tiles[0] + 2, 2, tiles[1] + 1, batch), data.dtype)
    for odd in range(2):
        first = (odd - pad[1]) % 2
        count = (width - first + 1) // 2
        start = (first + pad[1]) // 2
        result[:, pad[0] : pad[0] + height, odd, start : start + count] = data[:, :, first::2]
    return result


def _blocks(tiles: Ints, batch: int, row_size: int) -> Iterator[tuple[slice, slice]]:
    """Yield the (rows, columns) of the tiles that are worked on together, `row_size` bytes for each example's tile."""
    count = max(COLUMNS, BLOCK // row_size) // batch
    columns = min(tiles[1], max(1, count))
    rows = min(tiles[0], max(1, count // columns))
    for first in range(0, tiles[0], rows):
        for left in range(0, tiles[1], columns):
            yield slice(first, min(first + rows, tiles[0])), slice(left, min(left + columns, tiles[1]))


def _part(buffer: np.ndarray, *shape: int) -> np.ndarray:
    """Return the beginning of a buffer as an array of this shape."""
    return buffer[: math.prod(shape)].reshape(shape)


def _transform_data(split: np.ndarray, row: int, at: tuple[slice, slice], result: np.ndarray) -> None:
    """Write one row of B' d B of the tiles `at`, of shape (4, channels, *tiles, batch)."""
    a, b, rows = DATA[row]
    first, end, left, width = 2 * at[0].start, 2 * at[0].stop - 1, at[1].start, result.shape[3]
    place = slice(left, left + width + 1)
    part = rows(split[:, first + a : end + a : 2, :, place], split[:, first + b : end + b : 2, :, place])
    for column, (early, late, columns) in enumerate(DATA):
        columns(
            part[:, :, early % 2, early // 2 : early // 2 + width],
            part[:, :, late % 2, late // 2 : late // 2 + width],
            out=result[column],
        )


def _fold(products: np.ndarray, row: int, result: np.ndarray) -> None:
    """Add what one row of the products, of shape (4, filters, *tiles, batch), is to the tiles of the result."""
    first, second, third, fourth = products
    first += second
    first += third
    second -= third
    second -= fourth
    for column, sums in enumerate((first, second)):
        upper, lower = result[:, :, 0, :, column], result[:, :, 1, :, column]
        if row == 0:
            upper[...] = sums
        elif row == 1:
            upper += sums
            lower[...] = sums
        elif row == 2:
            upper += sums
            lower -= sums
        else:
            lower -= sums


def correlate(data: np.ndarray, weight: np.ndarray, positions: Ints, pad: Ints, transposed: bool = False) -> np.ndarray:
    """Return the cross-correlation of (C, *lengths, N) with (F, C, 3, 3), as a contiguous (F, *positions, N).

    `transposed` correlates with the weight turned by half a turn, (F, C, 3, 3) taking F channels to C.
    """
    tiles = ((positions[0] + 1) // 2, (positions[1] + 1) // 2)
    shape, batch, dtype = weight.shape[:2], data.shape[-1], data.dtype
    channels, filters = shape if transposed else shape[::-1]
    factors = _kernel_factors(dtype)[..., ::-1, ::-1] if transposed else _kernel_factors(dtype)
    split = _split(data, tiles, pad)
    result = np.empty((filters, tiles[0], 2, tiles[1], 2, batch), dtype)
    blocks = list(_blocks(tiles, batch, 4 * (channels + filters) * dtype.itemsize))
    max_size = 4 * batch * max((y.stop - y.start) * (x.stop - x.start) for y, x in blocks)
    all_values, all_products = np.empty(max_size * channels, dtype), np.empty(max_size * filters, dtype)
    rows_at_once = 4 if 16 * math.prod(shape) * dtype.itemsize <= KERNELS else 2
    kernels = np.empty((4 * rows_at_once, math.prod(shape)), dtype)
    for start in range(0, 4, rows_at_once):
        np.matmul(factors[start : start + rows_at_once].reshape(-1, 9), weight.reshape(-1, 9).T, out=kernels)
        matrices = kernels.reshape(rows_at_once, 4, *shape)
        if transposed:
            matrices = matrices.transpose(0, 1, 3, 2)
        for at in blocks:
            counts = (at[0].stop - at[0].start, at[1].stop - at[1].start, batch)
            values, products = _part(all_values, 4, channels, *counts), _part(all_products, 4, filters, *counts)
            for row in range(start, start + rows_at_once):
                _transform_data(split, row, at, values)
                np.matmul(matrices[row - start], values.reshape(4, channels, -1), out=products.reshape(4, filters, -1))
                _fold(products, row, result[:, at[0], :, at[1]])
    whole = result.reshape(filters, 2 * tiles[0], 2 * tiles[1], batch)
    return np.ascontiguousarray(whole[:, : positions[0], : positions[1]])


def _transform_gradient(gradient: np.ndarray, row: int, result: np.ndarray) -> None:
    """Write one row of A dY A' of some tiles, of shape (4, filters, *tiles, batch), the last of A's signs turned."""
    upper, lower = gradient[:, ::2], gradient[:, 1::2]
    for odd, place in enumerate((result[0], result[3])):
        if row in (0, 3):
            np.copyto(place, (lower if row else upper)[:, :, odd::2])
        else:
            (np.add if row == 1 else np.subtract)(upper[:, :, odd::2], lower[:, :, odd::2], out=place)
    np.add(result[0], result[3], out=result[1])
    np.subtract(result[0], result[3], out=result[2])


def weight_gradient(data: np.ndarray, gradient: np.ndarray, pad: Ints) -> np.ndarray:
    """Return the gradient, of shape (F, C, 3, 3), of the weight that took (C, *lengths, N) to (F, *positions, N)."""
    filters, *positions, batch = gradient.shape
    channels, dtype = len(data), data.dtype
    tiles = ((positions[0] + 1) // 2, (positions[1] + 1) // 2)
    if positions[0] % 2 or positions[1] % 2:
        padded = np.zeros((filters, 2 * tiles[0], 2 * tiles[1], batch), dtype)
        padded[:, : positions[0], : positions[1]] = gradient
        gradient = padded
    split = _split(data, tiles, pad)
    blocks = list(_blocks(tiles, batch, 4 * (channels + filters) * dtype.itemsize))
    max_size = 4 * batch * max((y.stop - y.start) * (x.stop - x.start) for y, x in blocks)
    all_values, all_upstream = np.empty(max_size * channels, dtype), np.empty(max_size * filters, dtype)
    total = np.empty((4, 4, filters, channels), dtype)
    for block, at in enumerate(blocks):
        counts = (at[0].stop - at[0].start, at[1].stop - at[1].start, batch)
        values, upstream = _part(all_values, 4, channels, *counts), _part(all_upstream, 4, filters, *counts)
        part = gradient[:, 2 * at[0].start : 2 * at[0].stop, 2 * at[1].start : 2 * at[1].stop]
        for row in range(4):
            _transform_data(split, row, at, values)
            _transform_gradient(part, row, upstream)
            pair = upstream.reshape(4, filters, -1), values.reshape(4, channels, -1).transpose(0, 2, 1)
            if block:
                total[row] += np.matmul(*pair)
            else:
                np.matmul(*pair, out=total[row])
    factors = _kernel_factors(dtype, last=-1).reshape(16, 9)
    return np.matmul(total.reshape(16, -1).T, factors).reshape(filters, channels, 3, 3)
