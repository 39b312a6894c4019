"""Operators on shapes for which ONNX has one of its own."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.positions import axis_of
from minpy.ops.registry import OPERATORS

__all__ = ["ROWS"]

ROWS = Rows()


@ROWS.enter("expand_dims")
def _expand_dims(call: NodeCall, data: Operand, axis: int) -> Any:
    return call.unsqueeze(data, [axis_of(axis, data.ndim + 1)])


@ROWS.enter("squeeze")
def _squeeze(call: NodeCall, data: Operand, axis: Any = None) -> Any:
    if axis is None or call.ndim == 0 or call.ndim != data.ndim - _count(axis):  # of nothing but ones, one axis stays
        return call.reshape(data, call.shape)
    axes: Any = (axis,) if isinstance(axis, (int, numpy.integer)) else axis
    return call.squeeze(data, [axis_of(each, data.ndim) for each in axes])


def _count(axis: Any) -> int:
    return 1 if isinstance(axis, (int, numpy.integer)) else len(axis)


@ROWS.enter("depth_to_space")
def _depth_to_space(call: NodeCall, data: Operand, block_size: int) -> Any:
    return call.node("DepthToSpace", data, blocksize=int(block_size), mode="DCR")


@ROWS.enter("space_to_depth")
def _space_to_depth(call: NodeCall, data: Operand, block_size: int) -> Any:
    return call.node("SpaceToDepth", data, blocksize=int(block_size))


@ROWS.enter("clip")
def _clip(call: NodeCall, data: Operand, a_min: float, a_max: float) -> Any:
    if data.dtype.name not in ("float32", "float64"):
        return call.steps(lambda data: OPERATORS["clip"].definition(data, a_min=a_min, a_max=a_max), data)
    low, high = (numpy.asarray(each).astype(data.dtype) for each in (a_min, a_max))
    return call.node("Clip", data, low, high)
