"""Normalizations."""

from __future__ import annotations

from typing import Any

from minpy import symbol
from minpy.onnx.importing.calls import Call, row
from minpy.onnx.importing.refusals import Refusal

# The operators take lists of inputs before their keywords, which types cannot tell apart.
sym: Any = symbol
np = symbol.np


@row("BatchNormalization")
def batch_norm(call: Call) -> Any:
    """Running statistics that are constants become auxiliary states."""
    epsilon, x = call.get("epsilon", 1e-5), call.symbol()
    if call.get("training_mode", 0) or (call.opset < 7 and not call.get("is_test", 0)):
        raise Refusal("it is in training mode. Export the model for inference")
    if any(tensor.name for tensor in call.outputs[1:]):
        raise Refusal("it returns statistics, which are for training. Export the model for inference")
    if call.tensor(3).constant is None or call.tensor(4).constant is None or not call.get("spatial", 1):
        shape = (-1, *[1] * (call.rank() - 2))
        scale, shift, mean, variance = (np.reshape(call.symbol(index), shape) for index in range(1, 5))
        factor = np.divide(scale, np.sqrt(np.add(variance, epsilon)))
        return np.astype(np.add(np.multiply(np.subtract(x, mean), factor), shift), call.dtype().name)
    mean, variance = (call.importer.auxiliary_of(call.tensor(index)) for index in (3, 4))
    return sym.BatchNorm(
        x, call.symbol(1), call.symbol(2), mean, variance, eps=epsilon, momentum=call.get("momentum", 0.9),
        fix_gamma=False, use_global_stats=False,
    )  # fmt: skip


@row("InstanceNormalization")
def _instance_norm(call: Call) -> Any:
    return sym.InstanceNorm(*call.symbols(), eps=call.get("epsilon", 1e-5))


@row("LayerNormalization")
def _layer_norm(call: Call) -> Any:
    if call.axis(-1) != call.rank() - 1 or any(tensor.name for tensor in call.outputs[1:]) or not call.has(2):
        axes = tuple(range(call.axis(-1), call.rank()))
        x = np.astype(call.symbol(), "float32") if call.dtype().name == "float16" else call.symbol()
        mean = np.mean(x, axis=axes, keepdims=True)
        centered = np.subtract(x, mean)
        inverse = np.reciprocal(
            np.sqrt(np.add(np.mean(np.square(centered), axis=axes, keepdims=True), call.get("epsilon", 1e-5)))
        )
        result = np.multiply(np.astype(np.multiply(centered, inverse), call.dtype().name), call.symbol(1))
        result = np.add(result, call.symbol(2)) if call.has(2) else result
        return [result, mean, inverse][: max(len(call.outputs), 1)]
    return sym.LayerNorm(*call.symbols(), axis=-1, eps=call.get("epsilon", 1e-5))


@row("LpNormalization")
def _lp_normalization(call: Call) -> Any:
    axis, x = call.axis(-1), call.symbol()
    if call.get("p", 2) == 1:
        norm = np.sum(np.abs(x), axis=axis, keepdims=True)
    else:
        norm = np.sqrt(np.sum(np.square(x), axis=axis, keepdims=True))
    is_zero = np.equal(norm, 0.0)
    return np.where(is_zero, np.zeros_like(x), np.divide(x, np.where(is_zero, np.ones_like(norm), norm)))


@row("LRN")
def _local_response(call: Call) -> Any:
    size = call.get("size")
    if size % 2 == 0 or call.rank() != 4:
        raise Refusal(f"windows of {size} channels in {call.rank()} axes are not computed; odd ones in 4 are")
    return sym.LRN(
        call.symbol(),
        alpha=call.get("alpha", 1e-4),
        beta=call.get("beta", 0.75),
        knorm=call.get("bias", 1.0),
        nsize=size,
    )
