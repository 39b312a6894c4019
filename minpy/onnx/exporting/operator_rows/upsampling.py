"""Images with more points."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.ops.nn.upsampling import bilinear_window

__all__ = ["ROWS"]

ROWS = Rows()


@ROWS.enter("UpSampling")
def _upsampling(
    call: NodeCall,
    *data: Operand,
    scale: int,
    sample_type: str,
    multi_input_mode: str = "concat",
    **_: Any,
) -> Any:
    if sample_type == "bilinear":
        return call.row("Deconvolution", *data, **bilinear_window(data[0].shape, scale))
    parts = []
    for part in data:
        factors = [call.shape[axis] // part.shape[axis] for axis in (2, 3)]
        scales = numpy.array([1, 1, *factors], "float32")
        parts.append(
            call.node(
                "Resize",
                part,
                None,
                scales,
                mode="nearest",
                coordinate_transformation_mode="asymmetric",
                nearest_mode="floor",
            )
        )
    if len(parts) == 1:
        return parts[0]
    return call.node("Concat", *parts, axis=1) if multi_input_mode == "concat" else call.node("Sum", *parts)
