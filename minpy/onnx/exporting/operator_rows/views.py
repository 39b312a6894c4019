"""Operators that arrange what they get in another way, where one standard node says it."""

from __future__ import annotations

from typing import Any

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows, StepsInstead

__all__ = ["ROWS"]

ROWS = Rows()


@ROWS.enter("flatten")
def _flatten(call: NodeCall, data: Operand) -> Any:
    return call.node("Flatten", data, axis=1)


def _blocks(op_type: str) -> Any:
    def row(call: NodeCall, data: Operand, block_size: int) -> Any:
        if data.dtype.name not in ("float32", "float64"):
            raise StepsInstead  # onnxruntime has it for these alone
        return call.node(op_type, data, blocksize=block_size)

    return row


ROWS["depth_to_space"] = _blocks("DepthToSpace")
ROWS["space_to_depth"] = _blocks("SpaceToDepth")
