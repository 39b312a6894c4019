"""Rows of a table by their numbers."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows

__all__ = ["ROWS"]

ROWS = Rows()


@ROWS.enter("Embedding")
def _embedding(call: NodeCall, data: Operand, weight: Operand, input_dim: int, output_dim: int, **_: Any) -> Any:
    rows = call.array(data, numpy.int64)  # fractions are cut off
    inside = call.node("Clip", rows, call.ints(0), call.ints(input_dim - 1))
    return call.node("Gather", weight, inside, axis=0)
