"""Layers that matter in training only: in predict mode they are what they are given, or nearly."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.ops.nn.dropout import mask_shape

__all__ = ["ROWS"]

ROWS = Rows()


@ROWS.enter(
    "LinearRegressionOutput MAERegressionOutput SVMOutput MakeLoss make_loss BlockGrad IdentityAttachKLSparseReg"
)
def _unchanged(call: NodeCall, data: Operand, *_: Any, **attributes: Any) -> Any:
    return data.text


@ROWS.enter("Dropout")
def _dropout(
    call: NodeCall, data: Operand, p: float = 0.5, mode: str = "training", axes: Any = (), cudnn_off: bool = False
) -> Any:
    if mode == "training" or p == 0:
        return data.text
    if p == 1:
        return call.node("Mul", data, numpy.asarray(0, data.dtype))
    # Not a Dropout with training_mode: onnxruntime takes these nodes out of models, whatever the mode is.
    shape = call.ints(mask_shape(data.shape, axes))
    like = call.node("ConstantOfShape", shape, value=numpy.zeros(1, numpy.float32))
    drawn = call.node("RandomUniformLike", like, dtype=numpy.float32)
    is_kept = call.cast(call.node("Less", drawn, numpy.asarray(1 - p, numpy.float32)), data.dtype)
    return call.node("Mul", data, call.node("Mul", is_kept, numpy.asarray(1 / (1 - p), data.dtype)))


@ROWS.enter("softmax_cross_entropy")
def _softmax_cross_entropy(call: NodeCall, data: Operand, label: Operand) -> Any:
    total = call.node("SoftmaxCrossEntropyLoss", data, call.array(label, numpy.int64), reduction="sum")
    return call.reshape(total, (1,))


@ROWS.enter("LogisticRegressionOutput")
def _logistic(call: NodeCall, data: Operand, label: Any = None, **_: Any) -> Any:
    return call.node("Sigmoid", data)
