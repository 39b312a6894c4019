"""`ROIAlign` and `RROIAlign`: boxes of feature maps, upright or turned, as grids of means of samples.

He et al., Mask R-CNN (2017); Ma et al., Arbitrary-Oriented Scene Text Detection via Rotation Proposals (2018). A sample
is interpolated between four points, so that each mean is a weighted sum of a few points: a product with a sparse
matrix, whose rows are found from the boxes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.errors import ArgumentError, OutOfRangeError, ShapeError
from minpy.ops.inference.partial_shapes import UNKNOWN
from minpy.ops.inference.rule_parts import derived, merge_lengths, with_axes
from minpy.ops.kernels.sampling import box_grids, box_rows, clamped_taps, gather_rows, images, pixels, scatter_rows
from minpy.ops.registry import operator

__all__ = ["pooled_lengths", "require_boxes", "roi_align", "rotated_roi_align", "rotated_taps"]

Ints = tuple[int, ...]


def pooled_lengths(name: str, pooled_size: Any) -> tuple[int, int]:
    """Return (height, width) of the grid that a box becomes.

    Raises
    ------
    ArgumentError
        If they are not two numbers, 1 or more.
    """
    lengths = (pooled_size,) * 2 if isinstance(pooled_size, (int, np.integer)) else tuple(pooled_size)
    if len(lengths) != 2 or min(lengths) < 1:
        raise ArgumentError(f"{name}: pooled_size is {pooled_size}; expected (height, width), each 1 or more.")
    return int(lengths[0]), int(lengths[1])


def require_boxes(name: str, data: Any, rois: Any, columns: int, meaning: str, lowest: int) -> None:
    """Raise unless data are images, and rois boxes in them, whose first column says in which.

    Raises
    ------
    ShapeError
        For other shapes.
    OutOfRangeError
        If a box is in an image that is not there; a number below zero is no box, where `lowest` is.
    """
    if np.ndim(data) != 4:
        raise ShapeError(f"{name}: data has shape {np.shape(data)}; expected (batch, channels, height, width).")
    if np.ndim(rois) != 2 or np.shape(rois)[1] != columns:
        raise ShapeError(f"{name}: rois has shape {np.shape(rois)}; expected (boxes, {columns}): {meaning} of each.")
    images = np.asarray(rois)[:, 0]
    wrong = np.flatnonzero(~((images > lowest - 1) & (images < len(data))))
    if wrong.size:
        raise OutOfRangeError(
            f"{name}: box {wrong[0]} of rois is in image {images[wrong[0]]:g}; expected a number from "
            f"{'below 0 (no box) ' if lowest < 0 else '0 '}to {len(data) - 1}, as data has shape {np.shape(data)}."
        )


def _compute_dtype(data: Any, rois: Any) -> Any:
    """Return the dtype to compute positions in."""
    return np.promote_types(np.promote_types(data.dtype, rois.dtype), np.float32)


def _is_inside(positions: Any, limit: int) -> Any:
    """Return which positions are in the feature map, or no more than a point outside."""
    return np.logical_and(positions >= -1, positions <= limit)


# -- ROIAlign ----------------------------------------------------------------------------------------------------------


def _samples_along(starts: Any, lengths: Any, bins: int, ratio: int) -> tuple[Any, Any]:
    """Return where the samples of each bin of each box lie on an axis, and the share of each: (boxes, bins, samples).

    There are `ratio` samples in each bin; if that is not positive, as many as the bin has points.
    """
    size = np.reshape(lengths / bins, (-1, 1, 1))
    counts = np.full(np.shape(size), ratio, size.dtype) if ratio > 0 else np.ceil(size)
    samples = np.arange(int(np.max(counts, initial=0)) if ratio <= 0 else ratio).astype(size.dtype)
    share = np.where(samples < counts, 1 / np.maximum(counts, 1), 0)
    steps = np.reshape(np.arange(bins), (1, bins, 1)).astype(size.dtype)
    inner = (samples + np.array(0.5, size.dtype)) * size / np.maximum(counts, 1)
    positions = np.reshape(starts, (-1, 1, 1)) + steps * size + inner
    return positions, np.broadcast_to(share, np.shape(positions)).astype(size.dtype)


def _axis_taps(starts: Any, lengths: Any, bins: int, sample_ratio: int, limit: int) -> tuple[Any, Any]:
    """Return which points of an axis of `limit` points each bin of each box takes, and their weights."""
    positions, share = _samples_along(starts, lengths, bins, sample_ratio)
    places, weights = clamped_taps(positions, limit, _is_inside(positions, limit))
    weights = weights * np.expand_dims(share, -1)
    shape = (*np.shape(positions)[:2], 2 * np.shape(positions)[2])
    return np.reshape(places, shape), np.reshape(weights, shape)


def _box_taps(
    shape: Ints,
    rois: Any,
    dtype: Any,
    grid: tuple[int, int],
    spatial_scale: float,
    sample_ratio: int,
    position_sensitive: bool,
    aligned: bool,
) -> tuple[Any, Any]:
    """Return which pixels each place of each box takes, and their weights."""
    _, _, height, width = shape
    grid_height, grid_width = grid
    rois = rois.astype(dtype)
    corners = rois[:, 1:] * np.array(spatial_scale, dtype) - np.array(0.5 if aligned else 0, dtype)
    sizes = corners[:, 2:] - corners[:, :2]
    if not aligned:
        sizes = np.maximum(sizes, 1)
    rows, down = _axis_taps(corners[:, 1], sizes[:, 1], grid_height, sample_ratio, height)
    columns, across = _axis_taps(corners[:, 0], sizes[:, 0], grid_width, sample_ratio, width)
    has_image = np.reshape(rois[:, 0] >= 0, (-1, 1, 1))
    down = np.where(has_image, down, 0)
    image_numbers = np.reshape(np.maximum(rois[:, 0], 0).astype(np.intp), (-1, 1, 1))
    rows = (image_numbers * height + rows) * width
    places = rows[:, :, None, :, None] + columns[:, None, :, None, :]
    weights = down[:, :, None, :, None] * across[:, None, :, None, :]
    if position_sensitive:
        places = places * (grid_height * grid_width) + np.reshape(
            np.arange(grid_height * grid_width), (1, grid_height, grid_width, 1, 1)
        )
    taps = np.shape(rows)[2] * np.shape(columns)[2]
    count = np.shape(rois)[0] * grid_height * grid_width
    return np.reshape(places, (count, taps)), np.reshape(weights, (count, taps))


@operator(name="_contrib_ROIAlign", zero=(1,), shape_only=(0,), category="pooling")
def roi_align(
    data: np.ndarray,
    rois: np.ndarray,
    *,
    pooled_size: tuple[int, ...],
    spatial_scale: float,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
) -> np.ndarray:
    """Return boxes of feature maps, each as a grid of means of samples.

    A sample is interpolated between the four points round it. Up to one point outside of the feature map it counts as
    if it lay on its edge, further away as zero.

    {data_parameter}
        Feature maps, of shape (batch, channels, height, width).
    rois : NDArray
        Of shape (boxes, 5): the number of an image, and x1, y1, x2, y2. A box in an image below 0 is no box: zeros.
        Their gradient is zero.
    pooled_size : tuple of int
        Height and width of the grid.
    spatial_scale : float
        What a box's coordinates are multiplied with to be points of the feature map.
    sample_ratio : int
        Samples along each axis of each bin of the grid; by default, or if not above 0, as many as a bin has points.
    position_sensitive : bool
        Whether each place of the grid takes channels of its own: those of place p, of n places, are p, p + n, ...
    aligned : bool
        Whether points are the middles of pixels. If not, boxes are moved by half a pixel, and have at least one point.

    {returns_array}
        Of shape (boxes, channels, *pooled_size); position-sensitive, channels divided by the number of places.

    {raises_unless_shapes_fit}
    OutOfRangeError
        If a box is in an image that is not there.
    ArgumentError
        If a box ends before it begins, and is `aligned`.

    {examples}
    >>> x = nd.arange(16).reshape((1, 1, 4, 4))
    >>> box = nd.array([[0, 0, 0, 2, 2]])
    >>> nd.contrib.ROIAlign(x, box, pooled_size=(2, 2), spatial_scale=1, sample_ratio=2).asnumpy()
    array([[[[2.5, 3.5],
             [6.5, 7.5]]]], dtype=float32)
    """
    grid = pooled_lengths("ROIAlign", pooled_size)
    require_boxes("ROIAlign", data, rois, 5, "(image, x1, y1, x2, y2)", -1)
    if position_sensitive:
        _require_places("ROIAlign", data.shape[1], grid)
    wrong: Any = np.flatnonzero((rois[:, 3:] < rois[:, 1:3]).any(axis=1) & (rois[:, 0] >= 0)) if aligned else ()
    if len(wrong):
        raise ArgumentError(
            f"ROIAlign: box {wrong[0]} of rois is {rois[wrong[0], 1:].tolist()}; expected (x1, y1, x2, y2) with "
            "x1 <= x2 and y1 <= y2, as aligned=True."
        )
    dtype = _compute_dtype(data, rois)
    places, weights = _box_taps(data.shape, rois, dtype, grid, spatial_scale, sample_ratio, position_sensitive, aligned)
    rows = gather_rows.forward(pixels(data, grid[0] * grid[1] if position_sensitive else 1), weights, places)
    return box_grids(rows, len(rois), *grid)


def _require_places(name: str, channels: int, grid: tuple[int, int]) -> None:
    if channels % (grid[0] * grid[1]):
        raise ShapeError(
            f"{name}: data has {channels} channels; expected a multiple of {grid[0]} x {grid[1]}, as "
            "position_sensitive gives each place of the grid channels of its own."
        )


@roi_align.def_grad(argnum=0)
def _roi_align_gradient(ans: Any, data: Any, rois: Any, *, pooled_size: Any, **sampling: Any) -> Any:
    shape, dtype = np.shape(data), _compute_dtype(data, rois)
    grid = pooled_lengths("ROIAlign", pooled_size)
    split = grid[0] * grid[1] if sampling["position_sensitive"] else 1
    count = shape[0] * shape[2] * shape[3] * split

    def gradient(g: Any) -> Any:
        places, weights = _box_taps(shape, rois, dtype, grid, **sampling)
        return images(scatter_rows(box_rows(g), weights, places, count=count), shape, split)

    return gradient


@roi_align.def_infer_shape
def _roi_align_shapes(
    inputs: Shapes, outputs: Shapes, *, pooled_size: Any, position_sensitive: bool
) -> tuple[Shapes, Shapes]:
    grid = pooled_lengths("ROIAlign", pooled_size)
    data, rois, result = with_axes(inputs[0], 4), with_axes(inputs[1], 2), with_axes(outputs[0], 4)
    boxes, channels, places = merge_lengths(rois[0], result[0]), data[1], grid[0] * grid[1]
    if position_sensitive:
        if channels != UNKNOWN:
            _require_places("ROIAlign", channels, grid)
        pooled_channels = derived(lambda n: n // places, channels)
        channels = merge_lengths(channels, derived(lambda n: n * places, result[1]))
    else:
        pooled_channels = channels = merge_lengths(channels, result[1])
    return [(data[0], channels, *data[2:]), (boxes, 5)], [(boxes, pooled_channels, *grid)]


# -- RROIAlign ---------------------------------------------------------------------------------------------------------


def rotated_taps(
    shape: Ints, rois: Any, dtype: Any, grid: tuple[int, int], spatial_scale: float, sampling_ratio: int
) -> tuple[Any, Any]:
    """Return which pixels each place of each turned box takes, and their weights."""
    _, _, height, width = shape
    grid_height, grid_width = grid
    rois = rois.astype(dtype)
    centers = rois[:, 1:3] * np.array(spatial_scale, dtype)
    sizes = np.maximum(rois[:, 3:5] * np.array(spatial_scale, dtype), 1)
    angles = rois[:, 5] * np.array(np.pi / 180, dtype)

    down, down_share = _samples_along(-sizes[:, 1] / 2, sizes[:, 1], grid_height, sampling_ratio)
    across, across_share = _samples_along(-sizes[:, 0] / 2, sizes[:, 0], grid_width, sampling_ratio)
    down, down_share = down[:, :, None, :, None], down_share[:, :, None, :, None]
    across, across_share = across[:, None, :, None, :], across_share[:, None, :, None, :]
    per_box = (-1, 1, 1, 1, 1)
    cosine, sine = np.reshape(np.cos(angles), per_box), np.reshape(np.sin(angles), per_box)
    x = across * cosine + down * sine + np.reshape(centers[:, 0], per_box)
    y = down * cosine - across * sine + np.reshape(centers[:, 1], per_box)
    rows, weights_down = clamped_taps(y, height, _is_inside(y, height))
    columns, weights_across = clamped_taps(x, width, _is_inside(x, width))
    image_numbers = np.reshape(rois[:, 0].astype(np.intp), (-1, 1, 1, 1, 1, 1))
    places = np.expand_dims((image_numbers * height + rows) * width, -1) + np.expand_dims(columns, -2)
    weights = np.expand_dims(weights_down, -1) * np.expand_dims(weights_across, -2)
    weights = weights * (down_share * across_share)[..., None, None]
    count = np.shape(rois)[0] * grid_height * grid_width
    taps = 4 * np.shape(x)[3] * np.shape(x)[4]
    return np.reshape(places, (count, taps)), np.reshape(weights, (count, taps))


@operator(name="_contrib_RROIAlign", zero=(1,), shape_only=(0,), category="pooling")
def rotated_roi_align(
    data: np.ndarray,
    rois: np.ndarray,
    *,
    pooled_size: tuple[int, ...],
    spatial_scale: float,
    sampling_ratio: int = -1,
) -> np.ndarray:
    """Return turned boxes of feature maps, each as a grid of means of samples, as `ROIAlign` does.

    {data_parameter}
        Feature maps, of shape (batch, channels, height, width).
    rois : NDArray
        Of shape (boxes, 6): the number of an image, x and y of the middle, width, height, and by how many degrees the
        box is turned, against the clock. Their gradient is zero.
    pooled_size : tuple of int
        Height and width of the grid.
    spatial_scale : float
        What a box's coordinates are multiplied with to be points of the feature map.
    sampling_ratio : int
        Samples along each axis of each bin of the grid; by default, or if not above 0, as many as a bin has points.

    {returns_array}
        Of shape (boxes, channels, *pooled_size).

    {raises_unless_shapes_fit}
    OutOfRangeError
        If a box is in an image that is not there.

    {examples}
    >>> x = nd.arange(16).reshape((1, 1, 4, 4))
    >>> box = nd.array([[0, 1.5, 1.5, 2, 2, 90]])
    >>> nd.contrib.RROIAlign(x, box, pooled_size=(2, 2), spatial_scale=1, sampling_ratio=1).asnumpy()
    array([[[[ 9.,  5.],
             [10.,  6.]]]], dtype=float32)
    """
    grid = pooled_lengths("RROIAlign", pooled_size)
    require_boxes("RROIAlign", data, rois, 6, "(image, x, y, width, height, degrees)", 0)
    places, weights = rotated_taps(data.shape, rois, _compute_dtype(data, rois), grid, spatial_scale, sampling_ratio)
    return box_grids(gather_rows.forward(pixels(data), weights, places), len(rois), *grid)


@rotated_roi_align.def_grad(argnum=0)
def _rotated_gradient(ans: Any, data: Any, rois: Any, *, pooled_size: Any, **sampling: Any) -> Any:
    shape, dtype = np.shape(data), _compute_dtype(data, rois)
    grid = pooled_lengths("RROIAlign", pooled_size)
    count = shape[0] * shape[2] * shape[3]

    def gradient(g: Any) -> Any:
        places, weights = rotated_taps(shape, rois, dtype, grid, **sampling)
        return images(scatter_rows(box_rows(g), weights, places, count=count), shape)

    return gradient


@rotated_roi_align.def_infer_shape
def _rotated_shapes(inputs: Shapes, outputs: Shapes, *, pooled_size: Any) -> tuple[Shapes, Shapes]:
    grid = pooled_lengths("RROIAlign", pooled_size)
    data, rois, result = with_axes(inputs[0], 4), with_axes(inputs[1], 2), with_axes(outputs[0], 4)
    boxes, channels = merge_lengths(rois[0], result[0]), merge_lengths(data[1], result[1])
    return [(data[0], channels, *data[2:]), (boxes, 6)], [(boxes, channels, *grid)]
