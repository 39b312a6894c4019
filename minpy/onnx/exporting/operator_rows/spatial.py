"""Operators that sample feature maps: at grids, and in boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.expressions import Expression, numbers_up_to, where
from minpy.onnx.exporting.inner_graphs import graph_input, held_graph

__all__ = ["ROWS"]

ROWS = Rows()


# -- at grids ----------------------------------------------------------------------------------------------------------


@ROWS.enter("BilinearSampler")
def _bilinear_sampler(call: NodeCall, data: Operand, grid: Operand, cudnn_off: Any = None) -> Any:
    positions = Expression(call, call.array(grid, _compute_dtype(data, grid)), _compute_dtype(data, grid))
    return _sampled(call, data, positions, grid.shape[2:])


def _compute_dtype(*operands: Operand) -> numpy.dtype:
    return numpy.result_type(numpy.float32, *(operand.dtype for operand in operands))


def _sampled(call: NodeCall, data: Operand, grid: Expression, lengths: Sequence[int]) -> Any:
    """Return an image sampled at a grid, (batch, 2, height, width); GridSample is there from opset 16 on."""
    dtype = grid.dtype
    image = Expression(call, call.array(data, dtype), dtype)
    if call.opset >= 16:
        mode = "linear" if call.opset >= 20 else "bilinear"
        by_place = grid.transpose(0, 2, 3, 1)
        sampled = image.node("GridSample", by_place, mode=mode, padding_mode="zeros", align_corners=1)
    else:
        sampled = _sampled_by_corners(call, image, data.shape, grid, lengths)
    return sampled.cast(call.result_dtype).name


def _sampled_by_corners(
    call: NodeCall, image: Expression, shape: Sequence[int], grid: Expression, lengths: Sequence[int]
) -> Expression:
    """Return the sum of the four points round each sample, each times its weight."""
    channels, height, width = shape[1:]
    rows = image.reshape(-1, channels, height * width).transpose(0, 2, 1)
    count = math.prod(lengths)
    sides = []
    for axis, length in ((0, width), (1, height)):
        last = Expression(call, call.cast(call.ints(length - 1), grid.dtype), grid.dtype)
        position = (grid.at(axis, 1) + 1) * (last / 2)
        # Whatever is further away is outside.
        near = position.reshape(-1, count).maximum(-2).minimum(last + 2)
        low = near.node("Floor")
        share = near - low
        points = []
        for point, weight in ((low, 1 - share), (low + 1, share)):
            inside = (point >= 0) & (point <= last)
            points.append((where(inside, point, 0).cast(numpy.int64), where(inside, weight, 0)))
        sides.append(points)
    total: Any = None
    for row, down in sides[1]:
        for column, across in sides[0]:
            term = rows.rows(row * width + column) * (down * across).unsqueeze(2)
            total = term if total is None else total + term
    sampled: Expression = total.transpose(0, 2, 1).reshape(-1, channels, *lengths)
    return sampled


def _even_steps(count: int) -> numpy.ndarray:
    """Return so many numbers from -1 to 1; a single one is -1."""
    return numpy.arange(count) * (2 / max(count - 1, 1)) - 1


def _affine_grid(call: NodeCall, matrices: Operand, lengths: Sequence[int]) -> Expression:
    """Return the grid of affine maps, in the dtype to compute in."""
    height, width = (int(length) for length in lengths)
    dtype = _compute_dtype(matrices)
    x, y = numpy.meshgrid(_even_steps(width), _even_steps(height))
    points = numpy.stack([x.ravel(), y.ravel(), numpy.ones(height * width)]).astype(dtype)
    flat = Expression(call, call.array(matrices, dtype), dtype).reshape(-1, 3)
    grid = flat.node("MatMul", points).reshape(-1, 2, height, width)
    return grid.cast(matrices.dtype)  # rounded as our grids are


@ROWS.enter("GridGenerator")
def _grid_generator(call: NodeCall, data: Operand, transform_type: str, target_shape: Sequence[int] = (0, 0)) -> Any:
    if transform_type == "affine":
        return _affine_grid(call, data, target_shape).name
    dtype = _compute_dtype(data)
    height, width = data.shape[2:]
    moved = Expression(call, call.array(data, dtype), dtype)
    parts = []
    for channel, length in ((0, width), (1, height)):
        points = numbers_up_to(call, length, dtype)
        points = points if channel == 0 else points.unsqueeze(1)
        half = Expression(call, call.cast(call.node("Max", call.ints(length - 1), call.ints(1)), dtype), dtype)
        factor = Expression(call, call.array(numpy.asarray(2, dtype)), dtype) / half
        parts.append(((moved.part(channel, channel + 1, 1) + points) * factor - 1).name)
    return call.cast(call.node("Concat", *parts, axis=1), call.result_dtype) if dtype != call.result_dtype else (
        call.node("Concat", *parts, axis=1)
    )  # fmt: skip


@ROWS.enter("SpatialTransformer")
def _spatial_transformer(
    call: NodeCall,
    data: Operand,
    loc: Operand,
    target_shape: Sequence[int] = (0, 0),
    transform_type: str = "affine",
    sampler_type: str = "bilinear",
    cudnn_off: Any = None,
) -> Any:
    grid = _affine_grid(call, loc, target_shape).cast(_compute_dtype(data, loc))
    return _sampled(call, data, grid, tuple(target_shape))


# -- in boxes ----------------------------------------------------------------------------------------------------------


def _pair(lengths: Any) -> tuple[int, int]:
    return (int(lengths),) * 2 if isinstance(lengths, (int, numpy.integer)) else (int(lengths[0]), int(lengths[1]))


@ROWS.enter("ROIPooling")
def _roi_pooling(call: NodeCall, data: Operand, rois: Operand, pooled_size: Any, spatial_scale: float) -> Any:
    """MaxRoiPool computes in float32, of what it has rounded as we do; runtimes have it up to opset 21."""
    lengths = _pair(pooled_size)
    if call.opset > 21 or any(operand.dtype.name not in ("float16", "float32") for operand in (data, rois)):
        return _pooled_one_by_one(call, data, rois, lengths, spatial_scale)
    arrays = [call.array(operand, numpy.float32) for operand in (data, rois)]
    pooled = call.node("MaxRoiPool", *arrays, pooled_shape=list(lengths), spatial_scale=float(spatial_scale))
    return call.cast(pooled, data.dtype) if data.dtype != numpy.float32 else pooled


def _pooled_one_by_one(
    call: NodeCall, data: Operand, rois: Operand, grid: tuple[int, int], spatial_scale: float
) -> Any:
    """Return the maxima of the bins of each box: a Scan over boxes, of the points of each bin along both axes."""
    dtype = _compute_dtype(data, rois)
    boxes = Expression(call, call.array(rois, dtype), dtype)
    scaled = boxes.part(1, 5, 1) * spatial_scale
    magnitude = (scaled.node("Abs") + 0.5).node("Floor")
    corners = where(scaled < 0, -magnitude, magnitude)
    channels, height, width = data.shape[1:]
    across = _points_of_bins(call, corners, 0, grid[1], width)
    down = _points_of_bins(call, corners, 1, grid[0], height)
    numbers = boxes.at(0, 1).cast(numpy.int64)
    least = numpy.asarray(-numpy.inf, data.dtype)
    with call.inner_graph() as emitter:
        inputs = [
            graph_input(emitter, "image", (), numpy.int64),
            graph_input(emitter, "across", (grid[1], width), bool),
            graph_input(emitter, "down", (grid[0], height), bool),
        ]
        number, in_columns, in_rows = (Expression(call, each) for each in inputs)
        image = Expression(call, data).node("Gather", number, axis=0).unsqueeze(0)
        columns = where(in_columns.unsqueeze(1, 2), image, least).largest(3)
        maxima = where(in_rows.unsqueeze(1, 2), columns.unsqueeze(0), least).largest(3).transpose(2, 0, 1)
        result = Operand(maxima.name, (channels, *grid), data.dtype)
        body = held_graph(emitter, inputs, [result], "body")
    pooled = call.node("Scan", numbers.name, across.name, down.name, body=body, num_scan_inputs=3)
    filled = down.cast(numpy.int32).largest(2).unsqueeze(2) * across.cast(numpy.int32).largest(2).unsqueeze(1)
    return where(filled.unsqueeze(1) > 0, Expression(call, pooled, data.dtype), 0).name


def _points_of_bins(call: NodeCall, corners: Expression, axis: int, bins: int, length: int) -> Expression:
    """Return which points of an axis lie in each bin of each box, (boxes, bins, length)."""
    start, end = corners.part(axis, axis + 1, 1), corners.part(axis + 2, axis + 3, 1)
    size = (end - start + 1).maximum(1) / bins
    steps = numpy.arange(bins)
    first = (size * steps).node("Floor") + start
    last = (size * (steps + 1)).node("Ceil") + start
    points = numbers_up_to(call, length, corners.dtype)
    return (points >= first.unsqueeze(2)) & (points < last.unsqueeze(2))


@ROWS.enter("_contrib_ROIAlign")
def _roi_align(
    call: NodeCall,
    data: Operand,
    rois: Operand,
    pooled_size: Any,
    spatial_scale: float,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
) -> Any:
    height, width = _pair(pooled_size)
    attributes: dict[str, Any] = {"output_height": height, "output_width": width, "spatial_scale": float(spatial_scale)}
    if call.opset >= 16:
        attributes["coordinate_transformation_mode"] = "half_pixel" if aligned else "output_half_pixel"
    elif aligned:
        raise call.refuse("aligned=True, which is there from opset 16 on")
    dtype = _compute_dtype(data, rois)
    boxes = Expression(call, call.array(rois, dtype), dtype)
    image = boxes.at(0, 1)
    number = image.maximum(0).cast(numpy.int64)
    pooled = Expression(call, call.array(data, dtype), dtype).node(
        "RoiAlign", boxes.part(1, 5, 1), number, sampling_ratio=max(sample_ratio, 0), **attributes
    )
    if position_sensitive:  # of the channels of a place, those of this place
        places = height * width
        by_place = pooled.reshape(-1, data.shape[1] // places, places * places)
        own = numpy.arange(places) * (places + 1)
        pooled = by_place.node("Gather", own, axis=2).reshape(-1, data.shape[1] // places, height, width)
    pooled = where((image >= 0).unsqueeze(1, 2, 3), pooled, 0)
    return pooled.cast(call.result_dtype).name
