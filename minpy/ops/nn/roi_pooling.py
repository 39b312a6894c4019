"""`ROIPooling`: boxes of feature maps, each as a grid of maxima. Girshick, Fast R-CNN (2015).

The maximum of a window is that of at most four smaller ones, which may overlap, whose lengths are powers of two. The
maxima of all windows of such lengths are computed by doubling, one table after the other, and each bin reads one of
them at four places, whatever its size. Whole numbers are compared that hold a value's rank and its position, so that
the first of equal values is found; the gradient goes there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minpy.core.base_operator import DTypes, Shapes
from minpy.ops.contrib.roi_align import pooled_lengths, require_boxes
from minpy.ops.inference.partial_shapes import same_dtype
from minpy.ops.inference.rule_parts import merge_lengths, with_axes
from minpy.ops.registry import operator

__all__ = ["roi_pooling"]

Ints = tuple[int, ...]

_LOW_BITS = (1 << 32) - 1


def _ranks(data: np.ndarray) -> np.ndarray:
    """Return whole numbers in the order of floating-point values; NaN comes last, -0 is 0."""
    if data.dtype.itemsize > 4:
        rows = data.reshape(-1, math.prod(data.shape[2:]))
        order = np.argsort(rows + 0.0, axis=1, kind="stable")
        sorted_rows = np.take_along_axis(rows, order, axis=1)
        steps = np.zeros(rows.shape, np.int64)
        np.cumsum(sorted_rows[:, 1:] != sorted_rows[:, :-1], axis=1, out=steps[:, 1:])
        ranks = np.empty_like(steps)
        np.put_along_axis(ranks, order, steps, axis=1)
        return ranks.reshape(data.shape)
    values = data.astype(np.float32) + np.float32(0)
    bits = values.view(np.int32)
    ordered = np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
    return np.where(np.isnan(values), np.int32(0x7FFFFFFF), ordered).astype(np.int64)


def _bins(starts: np.ndarray, ends: np.ndarray, count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where the bins of each box begin and end along an axis, within it."""
    sizes = np.maximum(ends - starts + 1, 1)[:, None] / starts.dtype.type(count)
    steps = np.arange(count).astype(starts.dtype)
    first = np.floor(steps * sizes) + starts[:, None]
    last = np.ceil((steps + 1) * sizes) + starts[:, None]
    return np.clip(first, 0, length).astype(np.intp), np.clip(last, 0, length).astype(np.intp)


def _levels(lengths: np.ndarray) -> np.ndarray:
    """Return the logarithms of the largest powers of two that fit; those of 0 are 0."""
    return np.frexp(np.maximum(lengths, 1).astype(float))[1] - 1


def _doubled(table: np.ndarray, axis: int, step: int) -> np.ndarray:
    """Return the maxima of windows twice as long, from those of length `step` along an axis."""
    count = table.shape[axis] - step
    lead = (slice(None),) * axis
    return np.maximum(table[(*lead, slice(0, count))], table[(*lead, slice(step, None))])


def _first_maxima(data: np.ndarray, rois: np.ndarray, grid: Ints, spatial_scale: float) -> np.ndarray:
    """Return where in the flat data each bin's first maximum stands, (boxes, channels, *grid); -1 for empty bins."""
    channels, height, width = data.shape[1:]
    tall, wide = grid
    working = np.promote_types(np.promote_types(data.dtype, rois.dtype), np.float32)
    boxes = rois.astype(working)
    scaled = boxes[:, 1:] * working.type(spatial_scale)
    corners = np.copysign(np.floor(np.abs(scaled) + working.type(0.5)), scaled)  # halves are rounded away from zero
    images = boxes[:, 0].astype(np.intp)
    top, bottom = _bins(corners[:, 1], corners[:, 3], tall, height)
    left, right = _bins(corners[:, 0], corners[:, 2], wide, width)
    pixels = np.arange(height * width).reshape(height, width)
    keys = (_ranks(data) << 32) | (_LOW_BITS - pixels)
    table = np.ascontiguousarray(keys.transpose(0, 2, 3, 1))
    grid_shape = (len(boxes), tall, wide)

    def spread(values: np.ndarray, axis: int) -> np.ndarray:
        """Return a number of each box, and of each of its bins along an axis, for all bins of all boxes."""
        along = values[:, None, None] if axis == 0 else np.expand_dims(values, 3 - axis)
        return np.broadcast_to(along, grid_shape).reshape(-1)

    y0, y1, x0, x1 = spread(top, 1), spread(bottom, 1), spread(left, 2), spread(right, 2)
    image = spread(images, 0)
    filled_bins = np.flatnonzero((y1 > y0) & (x1 > x0))
    levels = np.stack([_levels(y1 - y0), _levels(x1 - x0)])[:, filled_bins]
    positions = np.full((len(image), channels), -1, np.int64)
    row_level = 0
    for level in np.unique(levels[0]):
        while row_level < level:
            table = _doubled(table, 1, 1 << row_level)
            row_level += 1
        chosen = levels[0] == level
        part, column_level = table, 0
        for power in np.unique(levels[1][chosen]):
            while column_level < power:
                part = _doubled(part, 2, 1 << column_level)
                column_level += 1
            bins = filled_bins[chosen & (levels[1] == power)]
            rows, stride = part.reshape(math.prod(part.shape[:3]), channels), part.shape[2]
            firsts = image[bins] * part.shape[1]
            tops, bottoms = (firsts + y0[bins]) * stride, (firsts + y1[bins] - (1 << level)) * stride
            lefts, rights = x0[bins], x1[bins] - (1 << power)
            best = rows[tops + lefts]
            for places in (tops + rights, bottoms + lefts, bottoms + rights):
                np.maximum(best, rows[places], out=best)
            positions[bins] = _LOW_BITS - (best & _LOW_BITS)
    planes = (image[:, None] * channels + np.arange(channels)) * (height * width)
    positions = np.where(positions < 0, -1, positions + planes)
    return np.ascontiguousarray(positions.reshape(*grid_shape, channels).transpose(0, 3, 1, 2))


@operator(name="_pick_flat", public=False, shape_only=(0,), zero=(1,))
def pick_flat(data: Any, places: Any) -> Any:
    """Return the elements of the data at flat places, of any shape; zeros for places below 0."""
    if not data.size:
        return np.zeros(places.shape, data.dtype)
    return np.where(places < 0, data.dtype.type(0), data.reshape(-1)[places])


@operator(name="_place_flat", public=False, zero=(1,), grad=lambda ans, values, places: lambda h: pick_flat(h, places))
def place_flat(values: Any, places: Any, *, shape: Ints) -> Any:
    """Return the transpose of `pick_flat`: zeros of `shape`, with each value added at its place."""
    size = math.prod(shape)
    used = places >= 0
    sums = np.bincount(places[used], weights=values[used], minlength=size)
    return sums[:size].reshape(shape).astype(values.dtype)


pick_flat.def_grad(lambda ans, data, places: lambda g: place_flat(g, places, shape=np.shape(data)), argnum=0)


@operator(name="ROIPooling", visible_outputs=1, zero=(1,), shape_only=(0,), category="pooling")
def roi_pooling(data: np.ndarray, rois: np.ndarray, *, pooled_size: tuple[int, ...], spatial_scale: float) -> Any:
    """Return boxes of feature maps, each as a grid of maxima.

    {data_parameter}
        Feature maps, of shape (batch, channels, height, width).
    rois : NDArray
        Of shape (boxes, 5): the number of an image, and x1, y1, x2, y2. Both corners are part of the box. Their
        gradient is zero.
    pooled_size : tuple of int
        Height and width of the grid.
    spatial_scale : float
        What a box's coordinates are multiplied with to be points of the feature map, to which they are rounded.

    {returns_array}
        Of shape (boxes, channels, *pooled_size). Bins without a point in the feature map are zero.

    {raises_unless_shapes_fit}
    OutOfRangeError
        If a box is in an image that is not there.

    {examples}
    >>> x = nd.arange(16).reshape((1, 1, 4, 4))
    >>> nd.ROIPooling(x, nd.array([[0, 0, 0, 2, 2]]), pooled_size=(2, 2), spatial_scale=1).asnumpy()
    array([[[[ 5.,  6.],
             [ 9., 10.]]]], dtype=float32)
    """
    grid = pooled_lengths("ROIPooling", pooled_size)
    require_boxes("ROIPooling", data, rois, 5, "(image, x1, y1, x2, y2)", 0)
    if 0 in data.shape or not len(rois):
        return np.zeros((len(rois), data.shape[1], *grid), data.dtype), np.full(
            (len(rois), data.shape[1], *grid), -1, np.int64
        )
    places = _first_maxima(data, rois, grid, spatial_scale)
    return pick_flat.forward(data, places), places


@roi_pooling.def_grad(argnum=0)
def _roi_pooling_gradient(ans: Any, data: Any, rois: Any) -> Any:
    places, shape = ans[1], np.shape(data)
    return lambda g: place_flat(g[0], places, shape=shape)


@roi_pooling.def_infer_shape
def _roi_pooling_shapes(inputs: Shapes, outputs: Shapes, *, pooled_size: Any) -> tuple[Shapes, Shapes]:
    grid = pooled_lengths("ROIPooling", pooled_size)
    data, rois, result = with_axes(inputs[0], 4), with_axes(inputs[1], 2), with_axes(outputs[0], 4)
    boxes, channels = merge_lengths(rois[0], result[0]), merge_lengths(data[1], result[1])
    return [(data[0], channels, *data[2:]), (boxes, 5)], [(boxes, channels, *grid)] * len(outputs)


@roi_pooling.def_infer_type
def _roi_pooling_dtypes(inputs: DTypes, outputs: DTypes) -> tuple[DTypes, DTypes]:
    [data], [result] = same_dtype(inputs[:1], outputs[:1])
    return [data, data if inputs[1] is None else inputs[1]], [result, *[np.dtype(np.int64)] * (len(outputs) - 1)]


roi_pooling.saved_outputs = lambda attributes: 2
