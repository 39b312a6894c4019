"""Images resized, and sampled at positions between their points."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows, StepsInstead
from minpy.ops.nn.bilinear_sampler import affine_points

__all__ = ["ROWS"]

ROWS = Rows()


@ROWS.enter("_contrib_BilinearResize2D")
def _bilinear_resize(
    call: NodeCall, data: Operand, like: Operand | None = None, align_corners: bool = True, **_: Any
) -> Any:
    if data.dtype != numpy.float32:
        raise StepsInstead  # onnxruntime interpolates in single precision
    return call.node(
        "Resize",
        data,
        None,
        None,
        call.ints(call.shape),
        mode="linear",
        coordinate_transformation_mode="align_corners" if align_corners else "half_pixel",
    )


@ROWS.enter("_gather_rows")
def _gather_rows(call: NodeCall, rows: Operand, weights: Operand, places: Operand) -> Any:
    """Samples of images are sums of some of their points, weighted."""
    computed = numpy.promote_types(call.result_dtype, numpy.float32)
    fetched = call.node("Gather", call.array(rows, computed), call.array(places, numpy.int64), axis=0)
    weighted = call.node("Mul", fetched, call.unsqueeze(call.array(weights, computed), [2]))
    total = call.reduce("ReduceSum", weighted, [1], keepdims=False)
    return total if computed == call.result_dtype else call.cast(total, call.result_dtype)


@ROWS.enter("BilinearSampler")
def _bilinear_sampler(call: NodeCall, data: Operand, grid: Operand, cudnn_off: bool | None = None) -> Any:
    if not _has_grid_sample(call, data) or grid.dtype != data.dtype:
        raise StepsInstead
    return _sampled(call, data, grid.text)


@ROWS.enter("SpatialTransformer")
def _spatial_transformer(call: NodeCall, data: Operand, loc: Operand, target_shape: Any = (0, 0), **_: Any) -> Any:
    if not _has_grid_sample(call, data) or loc.dtype != data.dtype:
        raise StepsInstead
    height, width = call.shape[2:]
    points = affine_points(height, width, data.dtype)
    grid = call.node("MatMul", call.reshape(loc, (-1, 2, 3)), points)
    return _sampled(call, data, call.reshape(grid, (-1, 2, height, width)))


def _has_grid_sample(call: NodeCall, data: Operand) -> bool:
    return call.opset >= 16 and data.dtype.name in ("float32", "float64")


def _sampled(call: NodeCall, data: Operand, grid: str) -> Any:
    """Return the image at a grid of x and y, which ONNX has as the last axis."""
    mode = "linear" if call.opset >= 20 else "bilinear"
    return call.node("GridSample", data, call.transpose(grid, (0, 2, 3, 1)), mode=mode, align_corners=1)
