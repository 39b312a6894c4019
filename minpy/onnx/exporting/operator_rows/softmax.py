"""Softmax along an axis, and the layers that end in one."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows

__all__ = ["ROWS"]

ROWS = Rows()


def _scaled(call: NodeCall, data: Operand, temperature: float | None, sign: int = 1) -> str:
    computed = call.result_dtype if call.result_dtype.itemsize >= data.dtype.itemsize else data.dtype
    text = call.array(data, computed)
    if temperature not in (None, 1.0):
        text = call.node("Div", text, numpy.asarray(temperature, computed))
    return str(call.node("Neg", text)) if sign < 0 else text


def _in_dtype(call: NodeCall, text: str, data: Operand) -> str:
    is_narrower = call.result_dtype.itemsize < data.dtype.itemsize
    return call.cast(text, call.result_dtype) if is_narrower else text


@ROWS.enter("softmax")
def _softmax(
    call: NodeCall,
    data: Operand,
    length: Operand | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Any = None,
    use_length: bool = False,
) -> Any:
    axis = axis % data.ndim
    text = _scaled(call, data, temperature)
    if not use_length or length is None:
        return _in_dtype(call, call.node("Softmax", text, axis=axis), data)
    positions = call.node("Range", call.ints(0), call.ints(data.shape[axis]), call.ints(1))
    shape = [1] * data.ndim
    shape[axis] = -1
    counts = call.unsqueeze(call.array(length, numpy.int64), [axis])
    is_inside = call.node("Less", call.reshape(positions, shape), counts)
    computed = call.result_dtype if call.result_dtype.itemsize >= data.dtype.itemsize else data.dtype
    masked = call.node("Where", is_inside, text, numpy.asarray(-numpy.inf, computed))
    probabilities = call.node("Softmax", masked, axis=axis)
    return _in_dtype(call, call.node("Where", is_inside, probabilities, numpy.asarray(0, computed)), data)


@ROWS.enter("log_softmax")
def _log_softmax(
    call: NodeCall, data: Operand, axis: int = -1, temperature: float | None = None, dtype: Any = None, **_: Any
) -> Any:
    return _in_dtype(call, call.node("LogSoftmax", _scaled(call, data, temperature), axis=axis % data.ndim), data)


@ROWS.enter("softmin")
def _softmin(
    call: NodeCall, data: Operand, axis: int = -1, temperature: float | None = None, dtype: Any = None, **_: Any
) -> Any:
    return _in_dtype(call, call.node("Softmax", _scaled(call, data, temperature, -1), axis=axis % data.ndim), data)


@ROWS.enter("SoftmaxOutput")
def _softmax_output(
    call: NodeCall, data: Operand, label: Any = None, multi_output: bool = False, preserve_shape: bool = False, **_: Any
) -> Any:
    return call.node("Softmax", data, axis=1 if multi_output else data.ndim - 1)


@ROWS.enter("SoftmaxActivation")
def _softmax_activation(call: NodeCall, data: Operand, mode: str = "instance") -> Any:
    return call.node("Softmax", data, axis=1 if mode == "channel" else data.ndim - 1)
