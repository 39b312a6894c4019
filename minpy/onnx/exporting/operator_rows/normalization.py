"""Normalizations over batches, layers, channels and neighbours."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows, StepsInstead

__all__ = ["ROWS"]

ROWS = Rows()


@ROWS.enter("BatchNorm BatchNorm_v1 _contrib_SyncBatchNorm _contrib_BatchNormWithReLU")
def _batch_norm(
    call: NodeCall,
    data: Operand,
    gamma: Operand,
    beta: Operand,
    moving_mean: Operand,
    moving_var: Operand,
    eps: float = 1e-3,
    fix_gamma: bool = True,
    axis: int = 1,
    **_: Any,
) -> Any:
    ndim = data.ndim
    axis = axis % ndim
    text = data.text
    order = list(range(ndim))
    order.insert(min(1, ndim - 1), order.pop(axis))
    if order != sorted(order):
        text = call.transpose(data, order)
    if ndim == 1:
        text = call.unsqueeze(text, [0])
    scale: Any = gamma
    if fix_gamma:
        ones = numpy.ones(gamma.shape, gamma.dtype)
        scale = Operand(call.emitter.stored(ones), ones.shape, ones.dtype, ones)
    # Before opset 15 all are of one dtype.
    dtype = data.dtype if call.opset < 15 and gamma.dtype != data.dtype else None
    vectors = [call.array(scale, dtype)] + [call.array(vector, dtype) for vector in (beta, moving_mean, moving_var)]
    result = call.node("BatchNormalization", text, *vectors, epsilon=float(eps))
    if ndim == 1:
        result = call.squeeze(result, [0])
    if order != sorted(order):
        result = call.transpose(result, numpy.argsort(order))
    if call.name and call.key == "_contrib_BatchNormWithReLU":
        result = call.node("Relu", result)
    if len(call.results) == 1:
        return result
    if call.key in ("BatchNorm_v1", "_contrib_SyncBatchNorm"):
        return result, call.node("Identity", moving_mean), call.node("Identity", moving_var)
    spread = call.node("Add", moving_var, numpy.asarray(eps, moving_var.dtype))
    return result, call.node("Identity", moving_mean), call.node("Reciprocal", call.node("Sqrt", spread))


@ROWS.enter("LayerNorm")
def _layer_norm(
    call: NodeCall,
    data: Operand,
    gamma: Operand,
    beta: Operand,
    axis: int = -1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
) -> Any:
    ndim = data.ndim
    axis = axis % ndim
    text = data.text
    order = [*(each for each in range(ndim) if each != axis), axis]
    if axis != ndim - 1:
        text = call.transpose(data, order)
    results: list[str]
    # LayerNormalization computes in single precision, and returns no deviations.
    if call.opset >= 17 and not output_mean_var and data.dtype.itemsize <= 4 and gamma.dtype == data.dtype:
        results = [call.node("LayerNormalization", text, gamma, beta, axis=-1, epsilon=float(eps))]
    else:
        computed = numpy.promote_types(data.dtype, numpy.float32)
        text = text if computed == data.dtype else call.cast(text, computed)
        mean = call.reduce("ReduceMean", text, [-1], keepdims=True)
        centred = call.node("Sub", text, mean)
        variance = call.reduce("ReduceMean", call.node("Mul", centred, centred), [-1], keepdims=True)
        deviation = call.node("Sqrt", call.node("Add", variance, numpy.asarray(eps, computed)))
        scaled = call.node("Mul", call.node("Div", centred, deviation), call.array(gamma, computed))
        results = [call.node("Add", scaled, call.array(beta, computed)), mean, deviation][: len(call.results)]
        if computed != call.result_dtype:
            results = [call.cast(each, spec.dtype) for each, spec in zip(results, call.results, strict=True)]
    if axis != ndim - 1:
        results = [call.transpose(each, numpy.argsort(order)) for each in results]
    return tuple(results)


@ROWS.enter("InstanceNorm")
def _instance_norm(call: NodeCall, data: Operand, gamma: Operand, beta: Operand, eps: float = 1e-3) -> Any:
    if gamma.dtype != data.dtype or beta.dtype != data.dtype or data.dtype.itemsize > 4:
        raise StepsInstead  # ONNX has one dtype for all, and onnxruntime single precision
    return call.node("InstanceNormalization", data, gamma, beta, epsilon=float(eps))


@ROWS.enter("GroupNorm")
def _group_norm(
    call: NodeCall,
    data: Operand,
    gamma: Operand,
    beta: Operand,
    num_groups: int = 1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
) -> Any:
    """MXNet scales each group, and ONNX's GroupNormalization each channel: groups become channels."""
    if output_mean_var or {each.dtype for each in (data, gamma, beta)} != {numpy.dtype("float32")}:
        raise StepsInstead
    groups = call.node(
        "InstanceNormalization", call.reshape(data, (0, num_groups, -1)), gamma, beta, epsilon=float(eps)
    )
    shape = call.node("Shape", data) if call.emitter.open_lengths else call.ints(data.shape)
    return call.node("Reshape", groups, shape)


@ROWS.enter("LRN")
def _lrn(
    call: NodeCall, data: Operand, alpha: float = 1e-4, beta: float = 0.75, knorm: float = 2.0, nsize: int = 5
) -> Any:
    if data.dtype.itemsize > 4:
        raise StepsInstead  # onnxruntime has it for single precision alone
    return call.node("LRN", data, alpha=float(alpha), beta=float(beta), bias=float(knorm), size=nsize)
