"""Functions of NumPy's that make arrays: of equal elements, of evenly spaced numbers."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.row_parts import axis_of, only
from minpy.onnx.exporting.array_parts import counted, expanded, operand_of, sliced
from minpy.onnx.exporting.calls import NodeCall, Rows

__all__ = ["ROWS"]

ROWS = Rows()
_row = ROWS.enter


@_row("empty_like")
def _empty_like(call: NodeCall, prototype: Any, **keywords: Any) -> Any:
    return call.row("zeros_like", prototype, **keywords)


@_row("linspace")
def _linspace(
    call: NodeCall,
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    device: Any = None,
) -> str:
    only(call, "retstep", retstep, (False,))
    if call.result_dtype.kind not in "f":
        raise call.refuse(f"dtype={call.result_dtype.name}")
    computed = numpy.result_type(call.spec(start).dtype, call.spec(stop).dtype, 1.0)
    first, last = (operand_of(call, value) for value in (start, stop))
    ndim = max(first.ndim, last.ndim)
    shape = numpy.broadcast_shapes(first.shape, last.shape)
    begin, end = call.array(first, computed), call.array(last, computed)
    count = int(num)
    numbers = call.cast(counted(call, 0, count), computed)
    if ndim:
        numbers = call.reshape(numbers, [-1, *[1] * ndim])
    divisor = count - 1 if endpoint else count
    width = call.node("Sub", end, begin)
    if divisor > 0:
        width = call.node("Div", width, numpy.asarray(divisor, computed))
    result = call.node("Add", call.node("Mul", numbers, width), begin)
    if endpoint and count > 1:
        at_end = expanded(call, end, [1, *shape])
        result = call.node("Concat", sliced(call, result, [0], [-1], [0]), at_end, axis=0)
    at = axis_of(axis, ndim + 1)
    if at:
        result = call.transpose(result, [*range(1, at + 1), 0, *range(at + 1, ndim + 1)])
    return result if computed == call.result_dtype else call.cast(result, call.result_dtype)


@_row("logspace")
def _logspace(
    call: NodeCall, start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None,
    axis: int = 0,
) -> str:  # fmt: skip
    if not isinstance(base, (int, float)):
        raise call.refuse("base= that is not a number")
    exponents = _linspace(call, start, stop, num, endpoint, False, None, axis)
    name: str = call.node("Pow", numpy.asarray(base, call.result_dtype), exponents)
    return name
