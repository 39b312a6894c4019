"""Reductions with MXNet's semantics: over everything they have shape (1,), and all keep the dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.ops.registry import OPERATORS
from minpy.ops.tensor.reduction import resolve_axes

__all__ = ["ROWS"]

ROWS = Rows()

_FLOATS = ("float16", "float32", "float64")


def _reduced(call: NodeCall, op_type: str, value: Any, axes: Sequence[int], ndim: int, keepdims: bool) -> str:
    """Return the name of a reduction over axes; of shape (1,) over all."""
    if not axes:
        name = call.array(value)
        return name if ndim else call.reshape(name, [1])
    if len(axes) < ndim or keepdims:
        return call.reduce(op_type, value, axes, keepdims)
    return call.reduce(op_type, value if ndim == 1 else call.reshape(value, [-1]), [0], True)


def _wide_dtype(name: str, dtype: numpy.dtype) -> numpy.dtype:
    """Return the dtype to reduce in: of sums of integers, the lowest digits are those of a wider sum."""
    if dtype == numpy.float16:
        return numpy.dtype("float32")
    return numpy.dtype("int64") if name == "sum" and dtype.kind in "iub" else dtype


def _reduction(name: str, op_type: str, dtypes: Sequence[str]) -> Callable[..., Any]:
    def row(call: NodeCall, data: Operand, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Any:
        wide = _wide_dtype(name, data.dtype)
        if wide.name not in dtypes:
            return call.steps(
                lambda data: OPERATORS[name].definition(data, axis=axis, keepdims=keepdims, exclude=exclude), data
            )
        axes = resolve_axes(name, axis, data.shape, exclude)
        result = _reduced(call, op_type, call.array(data, wide), axes, data.ndim, keepdims)
        return result if wide == data.dtype else call.cast(result, data.dtype)

    return row


for _name, _op_type, _dtypes in (
    ("sum", "ReduceSum", (*_FLOATS, "int32", "int64")),
    ("mean", "ReduceMean", _FLOATS),
    ("prod", "ReduceProd", (*_FLOATS, "int32", "int64")),
    ("max", "ReduceMax", (*_FLOATS, "int32", "int64", "int8", "uint8")),
    ("min", "ReduceMin", (*_FLOATS, "int32", "int64", "int8", "uint8")),
):
    ROWS[_name] = _reduction(_name, _op_type, _dtypes)


def _without_nan(name: str, number: float) -> Callable[..., Any]:
    def row(call: NodeCall, data: Operand, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Any:
        if data.dtype.kind == "f":
            replaced = call.node("Where", call.node("IsNaN", data), numpy.asarray(number, data.dtype), data)
            data = Operand(replaced, data.shape, data.dtype)
        return call.row(name, data, axis=axis, keepdims=keepdims, exclude=exclude)

    return row


ROWS["nansum"] = _without_nan("sum", 0.0)
ROWS["nanprod"] = _without_nan("prod", 1.0)


@ROWS.enter("norm")
def _norm(
    call: NodeCall, data: Operand, ord: int = 2, axis: Any = None, out_dtype: Any = None, keepdims: bool = False
) -> Any:
    wide = numpy.dtype("float32" if data.dtype.name in ("float16", "float32") else "float64")
    axes = resolve_axes("norm", axis, data.shape)
    value = call.array(data, wide)
    if axes and wide == numpy.float32:
        result = _reduced(call, "ReduceL1" if ord == 1 else "ReduceL2", value, axes, data.ndim, keepdims)
    elif ord == 1:
        result = _reduced(call, "ReduceSum", call.node("Abs", value), axes, data.ndim, keepdims)
    else:
        squares = _reduced(call, "ReduceSum", call.node("Mul", value, value), axes, data.ndim, keepdims)
        result = call.node("Sqrt", squares)
    return result if wide == call.result_dtype else call.cast(result, call.result_dtype)


@ROWS.enter("moments")
def _moments(call: NodeCall, data: Operand, axes: Any, keepdims: bool = False) -> Any:
    wide = data.dtype if data.dtype.name in ("float32", "float64") else numpy.dtype("float64")
    value = call.array(data, wide)
    over = resolve_axes("moments", axes, data.shape)
    mean = call.reduce("ReduceMean", value, over, True)
    difference = call.node("Sub", value, mean)
    squares = call.node("Mul", difference, difference)
    variance = _reduced(call, "ReduceMean", squares, over, data.ndim, keepdims)
    mean = _reduced(call, "ReduceMean", value, over, data.ndim, keepdims) if not keepdims else mean
    results = (mean, variance)
    return results if wide == data.dtype else tuple(call.cast(result, data.dtype) for result in results)


# -- numbers of a whole array ------------------------------------------------------------------------------------------


@ROWS.enter("all_finite multi_all_finite")
def _all_finite(call: NodeCall, *arrays: Operand, init_output: bool = True, num_arrays: int | None = None) -> Any:
    """A number less itself is zero, but for infinities and NaN."""
    flags = []
    for array in arrays:
        flat = call.reshape(array, [-1])
        zeros = call.node("Equal", call.node("Sub", flat, flat), numpy.zeros((), array.dtype))
        flags.append(call.reduce("ReduceMin", call.cast(zeros, numpy.float32), [0], True))
    result = flags[0]
    for flag in flags[1:]:
        result = call.node("Mul", result, flag)
    return result
