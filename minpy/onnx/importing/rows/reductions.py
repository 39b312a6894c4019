"""Sums, means, maxima and their kin; softmax; positions of maxima."""

from __future__ import annotations

import math
from typing import Any

from minpy import symbol as sym
from minpy.onnx.importing.calls import Call, row
from minpy.onnx.importing.refusals import Refusal

np = sym.np


@row(
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
)  # fmt: skip
def reduce(call: Call) -> Any:
    """Over all axes, or those that are given as an attribute, or in later opsets as an input."""
    axes = call.ints(1, "axes", "axes")
    if not axes:
        if call.get("noop_with_empty_axes", 0):
            x = call.symbol()
            square = call.operator in ("ReduceSumSquare",)
            return np.square(x) if square else call.tensor(0)
        axes = None
    x, kind = call.symbol(), call.dtype()
    options: dict[str, Any] = {"axis": None if axes is None else tuple(axes), "keepdims": bool(call.get("keepdims", 1))}
    typed = options | ({"dtype": kind.name} if kind.kind in "iu" else {})
    name = call.operator
    if name in ("ReduceMax", "ReduceMin"):
        (is_empty,) = (0 in (call.tensor(0).static_shape or ()),)
        if is_empty:
            raise Refusal("its input is empty")
        if kind.kind == "b":
            return (np.any if name == "ReduceMax" else np.all)(x, **options)
        return (np.max if name == "ReduceMax" else np.min)(x, **options)
    if name == "ReduceMean":
        if kind.kind in "iu":
            return np.astype(np.trunc(np.mean(x, **options, dtype="float64")), kind.name)
        return np.mean(x, **options)
    if name == "ReduceProd":
        return np.prod(x, **typed)
    if name == "ReduceL1":
        return np.sum(np.abs(x), **typed)
    if name == "ReduceSumSquare":
        return np.sum(np.square(x), **typed)
    if name == "ReduceL2":
        return np.astype(np.sqrt(np.sum(np.square(x), **typed)), kind.name)
    if name == "ReduceLogSum":
        return np.log(np.sum(x, **options))
    if name == "ReduceLogSumExp":
        if 0 in (call.tensor(0).static_shape or ()):
            return np.log(np.sum(np.exp(x), **options))
        largest = np.max(x, axis=options["axis"], keepdims=True)
        result = np.log(np.sum(np.exp(np.subtract(x, largest)), **options))
        outer = largest if options["keepdims"] else np.max(x, **options)
        return np.add(result, outer)
    return np.sum(x, **typed)


@row("Softmax", "LogSoftmax")
def softmax(call: Call) -> Any:
    """Along an axis; before opset 13, over all axes from that one on."""
    function = sym.softmax if call.operator == "Softmax" else sym.log_softmax
    if call.opset >= 13:
        return function(call.symbol(), axis=call.get("axis", -1))
    axis, rank = call.axis(1), call.rank()
    if axis == rank - 1:
        return function(call.symbol(), axis=-1)
    shape = call.lengths()
    if all(isinstance(length, int) and length == 1 for length in shape[axis + 1 :]):
        return function(call.symbol(), axis=axis)
    if axis == 1:
        flat = function(sym.Flatten(call.symbol()), axis=-1)
        return sym.reshape_like(flat, call.symbol())
    rows = math.prod(call.shape(0, range(axis)))
    return np.reshape(function(np.reshape(call.symbol(), (rows, -1)), axis=-1).as_np_ndarray(), call.shape())


@row("Hardmax")
def _hardmax(call: Call) -> Any:
    axis = call.axis(-1 if call.opset >= 13 else 1)
    if call.opset < 13 and axis != call.rank() - 1:
        raise Refusal("before opset 13 it flattens its input. Convert the model to opset 13 by onnx.version_converter")
    (length,) = call.shape(0, [axis])
    places = call.parameter(_column(length, axis, call.rank()), "places")
    return np.astype(np.equal(np.argmax(call.symbol(), axis=axis, keepdims=True), places), call.dtype().name)


def _column(length: int, axis: int, rank: int) -> Any:
    import numpy

    return numpy.arange(length).reshape([length if other == axis else 1 for other in range(rank)])


@row("ArgMax", "ArgMin")
def _argument(call: Call) -> Any:
    function = np.argmax if call.operator == "ArgMax" else np.argmin
    axis, keepdims, x = call.axis(0), bool(call.get("keepdims", 1)), call.symbol()
    if call.get("select_last_index", 0):
        (length,) = call.shape(0, [axis])
        return np.subtract(length - 1, function(np.flip(x, axis), axis=axis, keepdims=keepdims))
    return function(x, axis=axis, keepdims=keepdims)


@row("CumSum", "CumProd")
def _cumulative(call: Call) -> Any:
    axis = int(call.value(1, "axis").item())
    function, neutral = (np.cumsum, 0) if call.operator == "CumSum" else (np.cumprod, 1)
    x, backwards = call.symbol(), call.get("reverse", 0)
    x = np.flip(x, axis) if backwards else x
    result = function(x, axis=axis, dtype=call.dtype().name)
    if call.get("exclusive", 0):
        widths = [(0, 0)] * call.rank()
        widths[axis] = (1, 0)
        index = [slice(None)] * call.rank()
        index[axis] = slice(None, -1)
        result = np.pad(result, tuple(widths), mode="constant", constant_values=neutral)[tuple(index)]
    return np.flip(result, axis) if backwards else result


@row("TopK")
def top_k(call: Call) -> Any:
    """In order of size, ties in order of place."""
    k = call.get("k") if "k" in call.attributes else int(call.value(1, "count").item())
    axis, x = call.axis(-1), call.symbol()
    if call.dtype().kind == "u" and call.get("largest", 1):
        raise Refusal("it orders numbers without a sign. Cast them to int64 before it")
    key = np.negative(x) if call.get("largest", 1) else x
    order = np.argsort(key, axis=axis, kind="stable")
    index = [slice(None)] * call.rank()
    index[axis] = slice(0, k)
    order = order[tuple(index)]
    return np.take_along_axis(x, order, axis=axis), np.astype(order, "int64")
