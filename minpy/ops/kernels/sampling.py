"""Sums of a few weighted rows, which is what sampling an image between its points comes down to.

An image becomes a matrix with a row a pixel and a column a channel, and each sample a few rows of it (`places`) with
their `weights`: the product of a sparse matrix and a dense one. There are three operators, each linear in two arrays,
and their derivatives are each other: the samples, the gradient of the rows, and that of the weights.

Rows are fetched a block of samples at a time, which stays in the cache, and weighted by small products of matrices. The
gradient of the rows is such a product, too, with the transposed matrix: where a pixel is in many samples, they are
split into short pieces, whose sums are added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from minpy.ops.registry import operator

__all__ = [
    "box_grids",
    "box_rows",
    "clamped_taps",
    "gather_rows",
    "images",
    "pair_rows",
    "pixels",
    "scatter_rows",
    "taps",
]

# Bytes of rows that are fetched at a time.
BLOCK = 1 << 18


def _in_compute_dtype(*arrays: np.ndarray) -> tuple[np.dtype, list[np.ndarray]]:
    """Return the dtype of the result, that of the first array, and all arrays in one dtype to compute in."""
    dtype = arrays[0].dtype
    compute_dtype = np.promote_types(dtype, np.float32)
    return dtype, [np.ascontiguousarray(array, compute_dtype) for array in arrays]


def _fetched(rows: np.ndarray, places: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield (some samples, their rows), of shape (samples, rows a sample, channels). The next ones overwrite them."""
    count, width = places.shape
    block = max(1, BLOCK // max(1, width * rows.shape[1] * rows.itemsize))
    buffer = np.empty((min(block, count), width, rows.shape[1]), rows.dtype)
    for first in range(0, count, block):
        chosen = slice(first, min(first + block, count))
        part = buffer[: chosen.stop - first]
        yield chosen, np.take(rows, places[chosen], axis=0, out=part, mode="clip")


def _gathered(rows: np.ndarray, weights: np.ndarray, places: np.ndarray) -> np.ndarray:
    result = np.empty((len(places), 1, rows.shape[1]), rows.dtype)
    if len(rows) == 0:
        result[...] = 0
        return result[:, 0]
    for chosen, fetched in _fetched(rows, places):
        np.matmul(weights[chosen, None, :], fetched, out=result[chosen])
    return result[:, 0]


@operator(name="_gather_rows", public=False, zero=(2,))
def gather_rows(rows: Any, weights: Any, places: Any) -> Any:
    """Return sums of weighted rows: of shape (samples, channels), from (rows, channels) and (samples, taps) twice."""
    dtype, (rows, weights) = _in_compute_dtype(rows, weights)
    return _gathered(rows, weights, places).astype(dtype, copy=False)


@operator(name="_scatter_weighted", public=False, zero=(2,))
def scatter_rows(gradient: Any, weights: Any, places: Any, *, count: int) -> Any:
    """Return the transpose of `gather_rows` in its rows, of which there are `count`."""
    dtype, (gradient, weights) = _in_compute_dtype(gradient, weights)
    result = np.zeros((count, gradient.shape[1]), gradient.dtype)
    flat = places.reshape(-1)
    if not flat.size or not gradient.shape[1]:
        return result.astype(dtype, copy=False)
    order = np.argsort(flat, kind="stable")
    counts = np.bincount(flat, minlength=count)
    used = np.flatnonzero(counts)
    counts = counts[used]
    length = int(np.clip(2 ** np.ceil(np.log2(flat.size / len(used))), 4, 16))
    pieces = -(-counts // length)
    firsts = np.cumsum(pieces) - pieces
    slots = np.arange(flat.size) + np.repeat(firsts * length - (np.cumsum(counts) - counts), counts)
    total = int(pieces.sum())
    sources, factors = np.zeros(total * length, np.intp), np.zeros(total * length, gradient.dtype)
    sources[slots], factors[slots] = order // places.shape[1], weights.reshape(-1)[order]
    sums = _gathered(gradient, factors.reshape(total, length), sources.reshape(total, length))
    result[used] = np.add.reduceat(sums, firsts, axis=0) if total > len(used) else sums
    return result.astype(dtype, copy=False)


@operator(name="_pair_rows", public=False, zero=(2,))
def pair_rows(rows: Any, gradient: Any, places: Any) -> Any:
    """Return the transpose of `gather_rows` in its weights: the product of each sample's row with its rows."""
    dtype, (rows, gradient) = _in_compute_dtype(rows, gradient)
    result = np.zeros((*places.shape, 1), rows.dtype)
    if len(rows):
        for chosen, fetched in _fetched(rows, places):
            np.matmul(fetched, gradient[chosen, :, None], out=result[chosen])
    return result[..., 0].astype(dtype, copy=False)


@gather_rows.def_grad(argnum=0)
def _gather_rows_gradient(ans: Any, rows: Any, weights: Any, places: Any) -> Any:
    count = np.shape(rows)[0]
    return lambda g: scatter_rows(g, weights, places, count=count)


gather_rows.def_grad(lambda ans, rows, weights, places: lambda g: pair_rows(rows, g, places), argnum=1)
scatter_rows.def_grad(lambda ans, gradient, weights, places: lambda h: gather_rows(h, weights, places), argnum=0)
scatter_rows.def_grad(lambda ans, gradient, weights, places: lambda h: pair_rows(h, gradient, places), argnum=1)


@pair_rows.def_grad(argnum=0)
def _pair_rows_gradient(ans: Any, rows: Any, gradient: Any, places: Any) -> Any:
    count = np.shape(rows)[0]
    return lambda h: scatter_rows(gradient, h, places, count=count)


pair_rows.def_grad(lambda ans, rows, gradient, places: lambda h: gather_rows(rows, h, places), argnum=1)

# -- images and grids of boxes as rows ---------------------------------------------------------------------------------


def pixels(data: Any, places: int = 1) -> Any:
    """Return images as a matrix: a row a pixel, a column a channel; or a row for each of several places of a pixel."""
    batch, channels, height, width = np.shape(data)
    split = np.reshape(data, (batch, channels // places, places, height, width))
    return np.reshape(np.transpose(split, (0, 3, 4, 2, 1)), (batch * height * width * places, channels // places))


def images(rows: Any, shape: tuple[int, ...], places: int = 1) -> Any:
    """Return the transpose of `pixels`: images of a shape."""
    batch, channels, height, width = shape
    split = np.reshape(rows, (batch, height, width, places, channels // places))
    return np.reshape(np.transpose(split, (0, 4, 3, 1, 2)), shape)


def box_grids(rows: Any, boxes: int, height: int, width: int) -> Any:
    """Return what stands in a row for each place of each box, as (boxes, channels, height, width)."""
    return np.transpose(np.reshape(rows, (boxes, height, width, np.shape(rows)[1])), (0, 3, 1, 2))


def box_rows(grids: Any) -> Any:
    """Return the transpose of `box_grids`: a row for each place of each box."""
    boxes, channels, height, width = np.shape(grids)
    return np.reshape(np.transpose(grids, (0, 2, 3, 1)), (boxes * height * width, channels))


# -- which rows a sample takes, along one axis -------------------------------------------------------------------------


def taps(positions: Any, length: int) -> tuple[Any, Any, Any]:
    """Return the two points of an axis beside each position, their weights, and the weights' slopes.

    What lies outside counts as zero: its weights and slopes are zero.

    Parameters
    ----------
    positions : array
        Of any shape; points of the axis are whole numbers.
    length : int
        Of the axis.

    Returns
    -------
    tuple
        (places, weights, slopes), each with a further axis of length 2; places are integers.
    """
    near = np.clip(positions, -2, length + 1)  # and whatever is further away, infinity too, is outside
    low = np.floor(near)
    fraction = near - low
    points = np.stack((low, low + 1), axis=-1)
    inside = np.logical_and(points >= 0, points <= length - 1)
    weights = np.where(inside, np.stack((1 - fraction, fraction), axis=-1), 0)
    slopes = np.where(inside, np.array([-1, 1], weights.dtype), 0)
    return np.where(inside, points, 0).astype(np.intp), weights, slopes


def clamped_taps(positions: Any, length: int, inside: Any) -> tuple[Any, Any]:
    """Return the two points of an axis beside each position, and their weights, as `taps` does.

    Positions outside count as the end of the axis that is nearest, where they are `inside` of what counts at all;
    others have weights that are zero.
    """
    last = max(length - 1, 0)
    near = np.where(inside, np.clip(positions, 0, last), 0)
    low = np.floor(near)
    fraction = near - low
    weights = np.where(np.expand_dims(inside, -1), np.stack((1 - fraction, fraction), axis=-1), 0)
    points = np.stack((low, np.minimum(low + 1, last)), axis=-1)
    return points.astype(np.intp), weights
