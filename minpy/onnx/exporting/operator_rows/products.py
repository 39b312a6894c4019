"""Layers that are products of matrices."""

from __future__ import annotations

from typing import Any

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows

__all__ = ["ROWS"]

ROWS = Rows()


@ROWS.enter("FullyConnected")
def _fully_connected(
    call: NodeCall,
    data: Operand,
    weight: Operand,
    bias: Any = None,
    num_hidden: int = 0,
    no_bias: bool = False,
    flatten: bool = True,
) -> Any:
    if flatten or data.ndim == 2:
        rows = data if data.ndim == 2 else call.node("Flatten", data, axis=1)
        return call.node("Gemm", rows, weight, bias, transB=1)
    product = call.node("MatMul", data, call.transpose(weight, (1, 0)))
    return product if bias is None else call.node("Add", product, bias)
