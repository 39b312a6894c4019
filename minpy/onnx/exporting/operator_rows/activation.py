"""Activations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows, StepsInstead
from minpy.ops.nn.activation import slopes_shape

__all__ = ["ROWS"]

ROWS = Rows()

_NODES = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "softrelu": "Softplus", "softsign": "Softsign"}


def _one_node(op_type: str) -> Callable[..., Any]:
    def row(call: NodeCall, data: Operand) -> Any:
        if call.result_dtype.kind != "f":
            raise StepsInstead
        return call.node(op_type, call.array(data, call.result_dtype))

    return row


ROWS.update({name: _one_node(_NODES[name]) for name in ("relu", "sigmoid", "softsign", "tanh")})


@ROWS.enter("Activation")
def _activation(call: NodeCall, data: Operand, act_type: str) -> Any:
    if data.dtype.kind != "f":
        raise StepsInstead
    return call.node(_NODES[act_type], data)


@ROWS.enter("hard_sigmoid")
def _hard_sigmoid(call: NodeCall, data: Operand, alpha: float = 0.2, beta: float = 0.5) -> Any:
    _require_single(data)
    return call.node("HardSigmoid", data, alpha=float(alpha), beta=float(beta))


@ROWS.enter("LeakyReLU")
def _leaky_relu(
    call: NodeCall,
    data: Operand,
    gamma: Operand | None = None,
    act_type: str = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
) -> Any:
    if act_type != "prelu":
        _require_single(data)
    if act_type == "leaky":
        return call.node("LeakyRelu", data, alpha=float(slope))
    if act_type == "rrelu":  # in predict mode the slope is the mean of its bounds
        return call.node("LeakyRelu", data, alpha=(lower_bound + upper_bound) / 2)
    if act_type == "elu":
        return call.node("Elu", data, alpha=float(slope))
    if act_type == "selu":
        return call.node("Selu", data)
    if act_type == "gelu":
        return _gelu(call, data)
    if act_type == "prelu" and gamma is not None:
        shape = slopes_shape(gamma.shape, data.shape)
        if math.prod(shape) == 1 and gamma.ndim == 1:  # broadcasts as it is
            shape = gamma.shape
        elif shape[0] == 1:
            shape = shape[1:]
        if shape == gamma.shape:
            return call.node("PRelu", data, gamma)
        if gamma.value is not None:
            return call.node("PRelu", data, gamma.value.reshape(shape))
        return call.node("PRelu", data, call.reshape(gamma, shape))
    raise call.refuse(f"act_type={act_type!r}")


def _require_single(data: Operand) -> None:
    """Leave double precision to the definition: ONNX's attributes, and runtimes' constants, are of single precision."""
    if data.dtype.itemsize > 4:
        raise StepsInstead


def _gelu(call: NodeCall, data: Operand) -> Any:
    if call.opset >= 20:
        return call.node("Gelu", data)
    dtype = data.dtype
    normal = call.node("Erf", call.node("Mul", data, numpy.asarray(1 / math.sqrt(2), dtype)))
    half = call.node("Mul", data, numpy.asarray(0.5, dtype))
    return call.node("Mul", half, call.node("Add", normal, numpy.asarray(1, dtype)))
