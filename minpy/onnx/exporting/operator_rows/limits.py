"""Elements brought between limits."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows, StepsInstead

__all__ = ["ROWS"]

ROWS = Rows()


@ROWS.enter("clip")
def _clip(call: NodeCall, data: Operand, a_min: float, a_max: float) -> Any:
    bounds = [numpy.asarray(bound, data.dtype) for bound in (a_min, a_max)]
    if data.dtype.kind != "f" or not bounds[0] <= bounds[1]:
        raise StepsInstead
    return call.node("Clip", data, *bounds)
