"""Boxes as grids of sums of weighted points, whose places and weights are found as our definitions find them."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.ops.contrib.psroi_pooling import bin_corners, integral_images, moved_samples
from minpy.ops.contrib.roi_align import pooled_lengths, rotated_taps
from minpy.ops.kernels.sampling import box_grids, gather_rows, pixels

__all__ = ["ROWS"]

ROWS = Rows()


@ROWS.enter("_gather_rows")
def _gather_rows(call: NodeCall, rows: Operand, weights: Operand, places: Operand) -> Any:
    dtype = numpy.result_type(rows.dtype, numpy.float32)
    taken = call.node("Gather", call.array(rows, dtype), places, axis=0)
    sums = call.squeeze(call.node("MatMul", call.unsqueeze(call.array(weights, dtype), [1]), taken), [1])
    return sums if dtype == rows.dtype else call.cast(sums, rows.dtype)


@ROWS.enter("_contrib_RROIAlign")
def _rotated_roi_align(
    call: NodeCall, data: Operand, rois: Operand, pooled_size: Any, spatial_scale: float, sampling_ratio: int = -1
) -> Any:
    if sampling_ratio <= 0:
        raise call.refuse("as many samples as the largest box has points: give a sampling_ratio above 0")
    grid = pooled_lengths("RROIAlign", pooled_size)
    dtype = numpy.result_type(data.dtype, rois.dtype, numpy.float32)

    def sampled(data: Any, rois: Any) -> Any:
        places, weights = rotated_taps(numpy.shape(data), rois, dtype, grid, spatial_scale, sampling_ratio)
        return box_grids(gather_rows(pixels(data), weights, places), numpy.shape(rois)[0], *grid)

    return call.steps(sampled, data, rois)


@ROWS.enter("_contrib_PSROIPooling")
def _psroi_pooling(
    call: NodeCall,
    data: Operand,
    rois: Operand,
    spatial_scale: float,
    output_dim: int,
    pooled_size: int,
    group_size: int = 0,
) -> Any:
    groups = group_size or pooled_size

    def pooled(data: Any, rois: Any) -> Any:
        places, weights = bin_corners(numpy.shape(data), rois, spatial_scale, pooled_size, groups)
        rows = gather_rows(pixels(integral_images(data), groups**2), weights, places)
        return box_grids(rows, numpy.shape(rois)[0], pooled_size, pooled_size).astype(data.dtype)

    return call.steps(pooled, data, rois)


@ROWS.enter("_contrib_DeformablePSROIPooling")
def _deformable_psroi_pooling(
    call: NodeCall,
    data: Operand,
    rois: Operand,
    trans: Operand | None = None,
    spatial_scale: float = 1.0,
    output_dim: int = 1,
    group_size: int = 1,
    pooled_size: int = 1,
    part_size: int = 0,
    sample_per_part: int = 1,
    trans_std: float = 0.0,
    no_trans: bool = False,
) -> Any:
    part = part_size or pooled_size
    classes = 1 if trans is None else trans.shape[1] // 2

    def pooled(data: Any, rois: Any, trans: Any = None) -> Any:
        places, weights = moved_samples(
            numpy.shape(data), rois, trans, spatial_scale, group_size, pooled_size, part, sample_per_part, trans_std
        )
        rows = numpy.reshape(pixels(data, group_size**2), (-1, output_dim // classes))
        count = numpy.shape(rois)[0]
        grids = box_grids(gather_rows(rows, weights, places), count * classes, pooled_size, pooled_size)
        return numpy.reshape(grids, (count, output_dim, pooled_size, pooled_size))

    return call.steps(pooled, *(each for each in (data, rois, trans) if each is not None))
