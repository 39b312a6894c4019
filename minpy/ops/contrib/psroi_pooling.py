"""`PSROIPooling` and `DeformablePSROIPooling`: boxes as grids of means, each place with channels of its own.

Dai et al., R-FCN (2016) and Deformable Convolutional Networks (2017). The first takes means over whole points, as
differences of sums up to the corners of each bin; the second over samples between points, of bins that are moved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.errors import ArgumentError, ShapeError
from minpy.ops.composed import Composed
from minpy.ops.contrib.roi_align import require_boxes
from minpy.ops.inference.rule_parts import merge_lengths, with_axes
from minpy.ops.kernels.sampling import (
    box_grids,
    box_rows,
    clamped_taps,
    gather_rows,
    images,
    pixels,
    scatter_rows,
)
from minpy.ops.registry import operator

__all__ = ["bin_corners", "deformable_psroi_pooling", "integral_images", "moved_samples", "psroi_pooling"]

Ints = tuple[int, ...]


def _require_groups(name: str, shape: Ints, output_dim: int, group_size: int, pooled_size: int) -> None:
    if min(output_dim, group_size, pooled_size) < 1:
        raise ArgumentError(
            f"{name}: output_dim is {output_dim}, pooled_size {pooled_size} and group_size {group_size}; expected "
            "whole numbers >= 1."
        )
    if len(shape) == 4 and shape[1] != output_dim * group_size**2:
        raise ShapeError(
            f"{name}: data has shape {shape}, with {shape[1]} channels; expected output_dim * group_size ** 2 = "
            f"{output_dim * group_size**2}."
        )


def _channel_groups(pooled_size: int, group_size: int) -> np.ndarray:
    """Return the place of the grid of channels that each bin takes, of shape (pooled_size, pooled_size)."""
    along = np.clip(np.arange(pooled_size) * group_size // pooled_size, 0, group_size - 1)
    return along[:, None] * group_size + along


def _rounded(values: Any) -> Any:
    """Return whole numbers, halves away from zero."""
    return np.sign(values) * np.floor(np.abs(values) + np.array(0.5, values.dtype))


# -- PSROIPooling ------------------------------------------------------------------------------------------------------


def integral_images(data: Any) -> Any:
    """Return the sums of all points above and to the left of each corner between points, in float64."""
    padded = np.pad(data.astype(np.float64), ((0, 0), (0, 0), (1, 0), (1, 0)))
    return np.cumsum(np.cumsum(padded, axis=2), axis=3)


def bin_corners(shape: Ints, rois: Any, spatial_scale: float, pooled_size: int, group_size: int) -> tuple[Any, Any]:
    """Return the four corners of each bin, as rows of `integral_images`, and their weights: (bins, 4) each."""
    _, _, height, width = shape
    boxes = rois.astype(np.promote_types(rois.dtype, np.float32))
    scale = np.array(spatial_scale, boxes.dtype)
    starts = _rounded(boxes[:, 1:3]) * scale
    sizes = np.maximum((_rounded(boxes[:, 3:5]) + 1) * scale - starts, np.array(0.1, boxes.dtype))
    steps = np.arange(pooled_size + 1).astype(boxes.dtype)

    def bin_edges(axis: int, length: int) -> tuple[Any, Any]:
        edges = np.expand_dims(sizes[:, axis] / pooled_size, 1), np.expand_dims(starts[:, axis], 1)
        first = np.floor(steps[:-1] * edges[0] + edges[1])
        last = np.ceil(steps[1:] * edges[0] + edges[1])
        return np.clip(first, 0, length), np.clip(last, 0, length)

    top, bottom = bin_edges(1, height)
    left, right = bin_edges(0, width)
    bin_heights = np.maximum(bottom - top, 0)[:, :, None]
    bin_widths = np.maximum(right - left, 0)[:, None, :]
    area = bin_heights * bin_widths
    share = np.where(area > 0, 1 / np.maximum(area, 1), 0).astype(np.float64)
    rows = np.stack((top, top, bottom, bottom), axis=-1)[:, :, None, :].astype(np.intp)
    columns = np.stack((left, right, left, right), axis=-1)[:, None, :, :].astype(np.intp)
    image_numbers = np.reshape(boxes[:, 0].astype(np.intp), (-1, 1, 1, 1))
    places = (image_numbers * (height + 1) + rows) * (width + 1) + columns
    places = places * group_size**2 + np.expand_dims(_channel_groups(pooled_size, group_size), -1)
    weights = np.expand_dims(share, -1) * np.array([1.0, -1.0, -1.0, 1.0])
    count = np.shape(rois)[0] * pooled_size**2
    return np.reshape(places, (count, 4)), np.reshape(weights, (count, 4))


@operator(name="_contrib_PSROIPooling", zero=(1,), shape_only=(0,), category="pooling")
def psroi_pooling(
    data: np.ndarray,
    rois: np.ndarray,
    *,
    spatial_scale: float,
    output_dim: int,
    pooled_size: int,
    group_size: int = 0,
) -> np.ndarray:
    """Return boxes of feature maps, each as a grid of means, of which each place takes channels of its own.

    {data_parameter}
        Feature maps, of shape (batch, output_dim * group_size ** 2, height, width): for each of the result's channels
        one for every place of a grid of group_size x group_size.
    rois : NDArray
        Of shape (boxes, 5): the number of an image, and x1, y1, x2, y2. Both corners are part of the box. Their
        gradient is zero.
    spatial_scale : float
        What a box's coordinates, rounded, are multiplied with to be points of the feature map.
    output_dim : int
        Channels of the result.
    pooled_size : int
        Height and width of the grid.
    group_size : int
        Height and width of the grid of channels; `pooled_size` if it is 0.

    {returns_array}
        Of shape (boxes, output_dim, pooled_size, pooled_size). Bins without a point in the feature map are zero.

    {raises_unless_shapes_fit}
    OutOfRangeError
        If a box is in an image that is not there.
    ArgumentError
        For sizes below 1.

    {examples}
    >>> x = nd.arange(16).reshape((1, 4, 2, 2))
    >>> box = nd.array([[0, 0, 0, 1, 1]])
    >>> nd.contrib.PSROIPooling(x, box, spatial_scale=1, output_dim=1, pooled_size=2).asnumpy()
    array([[[[ 0.,  5.],
             [10., 15.]]]], dtype=float32)
    """
    group_size = group_size or pooled_size
    require_boxes("PSROIPooling", data, rois, 5, "(image, x1, y1, x2, y2)", 0)
    _require_groups("PSROIPooling", data.shape, output_dim, group_size, pooled_size)
    places, weights = bin_corners(data.shape, rois, spatial_scale, pooled_size, group_size)
    rows = gather_rows.forward(pixels(integral_images(data), group_size**2), weights, places)
    return box_grids(rows, np.shape(rois)[0], pooled_size, pooled_size).astype(data.dtype)


@psroi_pooling.def_grad(argnum=0)
def _psroi_gradient(ans: Any, data: Any, rois: Any, *, spatial_scale: float, pooled_size: int, group_size: int) -> Any:
    shape, dtype = np.shape(data), data.dtype
    group_size = group_size or pooled_size
    batch, channels, height, width = shape
    corner_shape = (batch, channels, height + 1, width + 1)
    count = batch * (height + 1) * (width + 1) * group_size**2

    def gradient(g: Any) -> Any:
        places, weights = bin_corners(shape, rois, spatial_scale, pooled_size, group_size)
        rows = scatter_rows(box_rows(g).astype(np.float64), weights, places, count=count)
        # The transpose of `integral_images`: the sums over the corners below and to the right of each point.
        flipped = images(rows, corner_shape, group_size**2)[:, :, ::-1, ::-1]
        return np.cumsum(np.cumsum(flipped, axis=2), axis=3)[:, :, ::-1, ::-1][:, :, 1:, 1:].astype(dtype)

    return gradient


@psroi_pooling.def_infer_shape
def _psroi_shapes(
    inputs: Shapes, outputs: Shapes, *, output_dim: int, pooled_size: int, group_size: int
) -> tuple[Shapes, Shapes]:
    group_size = group_size or pooled_size
    data, rois, result = with_axes(inputs[0], 4), with_axes(inputs[1], 2), with_axes(outputs[0], 4)
    _require_groups("PSROIPooling", (), output_dim, group_size, pooled_size)
    boxes = merge_lengths(rois[0], result[0])
    image_shape = (data[0], merge_lengths(data[1], output_dim * group_size**2), *data[2:])
    return [image_shape, (boxes, 5)], [(boxes, output_dim, pooled_size, pooled_size)]


# -- DeformablePSROIPooling --------------------------------------------------------------------------------------------


def moved_samples(
    shape: Ints,
    rois: Any,
    trans: Any,
    spatial_scale: float,
    group_size: int,
    bins: int,
    part_size: int,
    sample_per_part: int,
    trans_std: float,
) -> tuple[Any, Any]:
    """Return which rows each bin of each class takes, and their weights: (boxes * classes * bins * bins, taps) each.

    A row of the matrix of pixels holds the channels of one class, at one place of the grid of channels.
    """
    height, width = shape[2:]
    boxes = rois.astype(np.promote_types(rois.dtype, np.float32))
    dtype = boxes.dtype
    half, scale = np.array(0.5, dtype), np.array(spatial_scale, dtype)
    starts = _rounded(boxes[:, 1:3]) * scale - half
    ends = (_rounded(boxes[:, 3:5]) + 1) * scale - half
    sizes = np.maximum(ends - starts, np.array(0.1, dtype))
    count, classes = np.shape(rois)[0], 1 if trans is None else np.shape(trans)[1] // 2
    sample_shape = (count, classes, bins, bins, sample_per_part, sample_per_part)
    if trans is not None:  # each bin takes one of part_size x part_size displacements, of each class of channels
        part = np.arange(bins) * part_size // bins
        moves = np.reshape(trans, (count, classes, 2, part_size, part_size))[..., part[:, None], part]
        moves = moves.astype(np.promote_types(dtype, trans.dtype)) * trans_std

    def sample_positions(axis: int) -> Any:
        """Return the positions of all samples along an axis, x for 0."""
        size, start = (np.reshape(values[:, axis], (-1, 1, 1, 1, 1, 1)) for values in (sizes, starts))
        bin_size = size / bins
        bin_number = np.reshape(np.arange(bins).astype(dtype), (-1, *(1,) * (2 + axis)))
        sample_number = np.reshape(np.arange(sample_per_part).astype(dtype), (-1, *(1,) * axis))
        positions = bin_number * bin_size + start + sample_number * (bin_size / sample_per_part)
        if trans is not None:
            positions = positions + np.reshape(moves[:, :, axis], (*sample_shape[:4], 1, 1)) * size
        positions = positions + np.zeros(sample_shape, dtype)
        # At a point itself, where the slope changes, MXNet has none.
        return np.where(positions == np.floor(positions), np.floor(positions), positions)

    x, y = sample_positions(0), sample_positions(1)
    inside = (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5)
    rows, down = clamped_taps(y, height, inside)
    columns, across = clamped_taps(x, width, inside)
    counts = np.sum(inside.astype(dtype), axis=(4, 5))
    share = np.reshape(1 / np.maximum(counts, 1), (*sample_shape[:4], 1, 1, 1, 1))
    images = np.reshape(boxes[:, 0].astype(np.intp), (-1, *(1,) * 6))
    places = np.expand_dims((images * height + rows) * width, -1) + np.expand_dims(columns, -2)
    groups = np.reshape(_channel_groups(bins, group_size), (bins, bins, 1, 1, 1, 1))
    places = (places * group_size**2 + groups) * classes + np.reshape(np.arange(classes), (-1, *(1,) * 6))
    weights = np.expand_dims(down, -1) * np.expand_dims(across, -2) * share
    flat = (count * classes * bins * bins, 4 * sample_per_part**2)
    return np.reshape(places, flat), np.reshape(weights, flat)


@operator(
    name="_contrib_DeformablePSROIPooling",
    kind=Composed,
    optional_inputs={"trans": lambda attributes: not attributes.get("no_trans", False)},
    zero=(1,),
    category="pooling",
    saved_outputs=lambda attributes: 2,
)
def deformable_psroi_pooling(
    data: np.ndarray,
    rois: np.ndarray,
    trans: np.ndarray | None = None,
    *,
    spatial_scale: float,
    output_dim: int,
    group_size: int,
    pooled_size: int,
    part_size: int = 0,
    sample_per_part: int = 1,
    trans_std: float = 0.0,
    no_trans: bool = False,
) -> np.ndarray:
    """Return boxes of feature maps, each as a grid of means over samples of bins that are moved.

    {data_parameter}
        Feature maps, of shape (batch, output_dim * group_size ** 2, height, width): for each of the result's channels
        one for every place of a grid of group_size x group_size.
    rois : NDArray
        Of shape (boxes, 5): the number of an image, and x1, y1, x2, y2. Both corners are part of the box. Their
        gradient is zero.
    trans : NDArray, optional
        Of shape (boxes, 2 * classes, part_size, part_size): by what parts of the box, times `trans_std`, bins are moved
        along x and y, for each of so many classes into which the result's channels are split.
    spatial_scale : float
        What a box's coordinates, rounded, are multiplied with to be points of the feature map.
    output_dim : int
        Channels of the result.
    group_size : int
        Height and width of the grid of channels.
    pooled_size : int
        Height and width of the grid of bins.
    part_size : int
        Height and width of the grid of displacements; `pooled_size` if it is 0.
    sample_per_part : int
        Samples along each axis of each bin.
    trans_std : float
        What displacements are multiplied with.
    no_trans : bool
        Whether nothing is moved; `trans` is then left out.

    {returns_array}
        Of shape (boxes, output_dim, pooled_size, pooled_size). Samples further outside of the feature map than half a
        point do not count; bins without samples are zero.

    {raises_unless_shapes_fit}
    OutOfRangeError
        If a box is in an image that is not there.
    ArgumentError
        For sizes below 1, and if `trans` is missing or given with `no_trans`.

    {examples}
    >>> x, box = nd.arange(16).reshape((1, 1, 4, 4)), nd.array([[0, 0, 0, 1, 1]])
    >>> options = {'spatial_scale': 1, 'output_dim': 1, 'group_size': 1, 'pooled_size': 1, 'sample_per_part': 2}
    >>> nd.contrib.DeformablePSROIPooling(x, box, no_trans=True, **options).asnumpy()
    array([[[[1.25]]]], dtype=float32)
    >>> right = nd.array([[[[0.5]], [[0]]]])
    >>> nd.contrib.DeformablePSROIPooling(x, box, right, trans_std=1, **options).asnumpy()
    array([[[[2.]]]], dtype=float32)
    """
    require_boxes("DeformablePSROIPooling", data, rois, 5, "(image, x1, y1, x2, y2)", 0)
    _require_groups("DeformablePSROIPooling", data.shape, output_dim, group_size, pooled_size)
    _require_trans(np.shape(rois)[0], trans, output_dim, part_size or pooled_size, sample_per_part, no_trans)
    part_size = part_size or pooled_size
    places, weights = moved_samples(
        data.shape, rois, trans, spatial_scale, group_size, pooled_size, part_size, sample_per_part, trans_std
    )
    classes = 1 if trans is None else np.shape(trans)[1] // 2
    rows = np.reshape(pixels(data, group_size**2), (-1, output_dim // classes))
    boxes = np.shape(rois)[0]
    grids = box_grids(gather_rows(rows, weights, places), boxes * classes, pooled_size, pooled_size)
    return np.reshape(grids, (boxes, output_dim, pooled_size, pooled_size))


def _require_trans(
    boxes: int, trans: Any, output_dim: int, part_size: int, sample_per_part: int, no_trans: bool
) -> None:
    name = "DeformablePSROIPooling"
    if min(part_size, sample_per_part) < 1:
        raise ArgumentError(
            f"{name}: part_size is {part_size} and sample_per_part {sample_per_part}; expected whole numbers >= 1."
        )
    if (trans is None) != bool(no_trans):
        problem = "is missing; give it, or pass no_trans=True" if trans is None else "is given with no_trans=True"
        raise ArgumentError(f"{name}: trans {problem}.")
    if trans is None:
        return
    shape = np.shape(trans)
    fits = len(shape) == 4 and shape[0] == boxes and shape[2:] == (part_size, part_size)
    if not fits or shape[1] < 2 or shape[1] % 2 or output_dim % (shape[1] // 2):
        raise ShapeError(
            f"{name}: trans has shape {shape}; expected ({boxes}, 2 * classes, {part_size}, {part_size}), with a "
            f"number of classes that divides output_dim={output_dim}."
        )


@deformable_psroi_pooling.def_infer_shape
def _deformable_shapes(
    inputs: Shapes, outputs: Shapes, *, output_dim: int, pooled_size: int, group_size: int, part_size: int
) -> tuple[Shapes, Shapes]:
    data, rois, result = with_axes(inputs[0], 4), with_axes(inputs[1], 2), with_axes(outputs[0], 4)
    _require_groups("DeformablePSROIPooling", (), output_dim, group_size, pooled_size)
    boxes = merge_lengths(rois[0], result[0])
    shapes: list[Any] = [(data[0], merge_lengths(data[1], output_dim * group_size**2), *data[2:]), (boxes, 5)]
    if len(inputs) > 2:
        trans, part = with_axes(inputs[2], 4), part_size or pooled_size
        part_lengths = tuple(merge_lengths(length, part) for length in trans[2:])
        shapes.append((merge_lengths(trans[0], boxes), trans[1], *part_lengths))
    return shapes, [(boxes, output_dim, pooled_size, pooled_size)]
