"""Products of matrices."""

from __future__ import annotations

from typing import Any

import numpy

from minpy import symbol as sym
from minpy.onnx.importing.calls import Call, row

np = sym.np


@row("MatMul")
def _matmul(call: Call) -> Any:
    return np.matmul(call.symbol(0), call.symbol(1))


@row("Einsum")
def _einsum(call: Call) -> Any:
    return np.einsum(call.get("equation").replace(" ", ""), *call.symbols())


@row("Det")
def _determinant(call: Call) -> Any:
    return np.linalg.det(call.symbol())


@row("Gemm")
def gemm(call: Call) -> Any:
    """`FullyConnected` where it is one: weights in rows or not, a vector as the bias."""
    alpha, beta = call.get("alpha", 1.0), call.get("beta", 1.0)
    weight, bias = call.tensor(1), call.tensor(2) if call.has(2) else None
    units = None
    if weight.constant is not None and weight.constant.ndim == 2 and not call.get("transA", 0):
        units = weight.constant.shape[0 if call.get("transB", 0) else 1]
    has_vector = bias is None or (bias.constant is not None and bias.constant.shape in ((units,), (1, units)))
    if units is not None and has_vector and call.dtype().kind == "f" and alpha == 1.0 and beta == 1.0:
        assert weight.constant is not None
        rows = call.symbol(1)
        if not call.get("transB", 0):
            rows = call.parameter(numpy.ascontiguousarray(weight.constant.T), "weight")
        if bias is None:
            return sym.FullyConnected(call.symbol(0), rows, num_hidden=units, no_bias=True)
        assert bias.constant is not None
        vector = call.symbol(2) if bias.constant.ndim == 1 else call.parameter(bias.constant.reshape(-1), "bias")
        return sym.FullyConnected(call.symbol(0), rows, vector, num_hidden=units)
    first, second = (
        np.transpose(call.symbol(index)) if call.get(name, 0) else call.symbol(index)
        for index, name in ((0, "transA"), (1, "transB"))
    )
    result = np.matmul(first, second)
    result = result if alpha == 1.0 else np.multiply(result, alpha)
    if bias is None:
        return result
    return np.add(result, call.symbol(2) if beta == 1.0 else np.multiply(call.symbol(2), beta))
