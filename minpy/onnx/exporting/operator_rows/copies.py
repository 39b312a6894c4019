"""Operators that give what they get, in another dtype or as it is, and sums of several arrays."""

from __future__ import annotations

from typing import Any

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows

__all__ = ["ROWS"]

ROWS = Rows()


@ROWS.enter("_copy cast_storage _contrib_gradientmultiplier _identity_with_attr_like_rhs")
def _copy(call: NodeCall, data: Operand, *others: Operand, **attributes: Any) -> Any:
    return call.node("Identity", data)


@ROWS.enter("cast amp_cast")
def _cast(call: NodeCall, data: Operand, dtype: Any = None) -> Any:
    return call.node("Identity", data) if data.dtype == call.result_dtype else call.array(data, call.result_dtype)


@ROWS.enter("amp_multicast")
def _multicast(call: NodeCall, *data: Operand, num_outputs: int = 1, cast_narrow: bool = False) -> Any:
    return tuple(
        call.node("Identity", each) if each.dtype == result.dtype else call.array(each, result.dtype)
        for each, result in zip(data, call.results, strict=True)
    )


@ROWS.enter("add_n")
def _add_n(call: NodeCall, *args: Operand, num_args: int | None = None) -> Any:
    arrays = [call.array(each, call.result_dtype) for each in args]
    if call.result_dtype.kind == "f":
        return call.node("Sum", *arrays)
    total = arrays[0]
    for each in arrays[1:]:
        total = call.node("Add", total, each)
    return call.node("Identity", total) if len(arrays) == 1 else total
