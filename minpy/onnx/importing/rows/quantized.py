"""Quantised numbers: integers that stand for `scale * (integer - zero point)`, computed in floating point."""

from __future__ import annotations

from typing import Any

import numpy

from minpy import symbol as sym
from minpy.onnx.importing.calls import Call, row
from minpy.onnx.importing.rows.convolution import convolved
from minpy.onnx.importing.tensors import numpy_dtype

np = sym.np


def _along(call: Call, index: int, axis: int) -> Any:
    """Return scales or zero points, shaped to be broadcast: one in all, or one for each place or block of an axis."""
    block = call.get("block_size", 0)
    if block:
        along = call.axis(1)
        (length,) = call.shape(0, [along])
        repeated = np.repeat(call.symbol(index), block, axis=along)
        return repeated[(*[slice(None)] * along, slice(0, length))]
    if call.rank(index) != 1:
        return call.symbol(index)
    return np.reshape(call.symbol(index), (-1, *[1] * (call.rank(0) - 1 - axis)))


@row("QuantizeLinear")
def quantize(call: Call) -> Any:
    """Rounded to the nearest even integer, and saturated."""
    axis = call.axis(1) if call.rank(1) == 1 else 0
    if call.has(2):
        dtype = call.dtype(2)
    else:
        dtype = numpy_dtype(call.get("output_dtype") or 2)
    limits = numpy.iinfo(dtype)
    x = np.astype(np.rint(np.divide(call.symbol(), _along(call, 1, axis))), "float64")
    if call.has(2):
        x = np.add(x, np.astype(_along(call, 2, axis), "float64"))
    return np.astype(np.minimum(np.maximum(x, float(limits.min)), float(limits.max)), dtype.name)


@row("DequantizeLinear")
def dequantize(call: Call) -> Any:
    """The dtype is the scale's."""
    axis = call.axis(1) if call.rank(1) == 1 else 0
    x = np.astype(call.symbol(), "float64")
    if call.has(2):
        x = np.subtract(x, np.astype(_along(call, 2, axis), "float64"))
    return np.multiply(np.astype(x, call.dtype(1).name), _along(call, 1, axis))


def _column(call: Call, index: int, rank: int) -> Any:
    """Return numbers of rows, as a column; one in all stays as it is."""
    symbol = np.astype(call.symbol(index), "int32")
    return np.expand_dims(symbol, -1) if rank == 1 and call.tensor(index).static_shape != (1,) else symbol


@row("MatMulInteger")
def matmul_integer(call: Call) -> Any:
    """Integers less their zero points, in int32."""
    first, second = (np.astype(call.symbol(index), "int32") for index in (0, 1))
    if call.has(2):
        first = np.subtract(first, _column(call, 2, call.rank(2)))
    if call.has(3):
        second = np.subtract(second, np.astype(call.symbol(3), "int32"))
    return np.matmul(first, second)


@row("QLinearMatMul")
def quantized_matmul(call: Call) -> Any:
    """A product of integers, scaled, rounded and saturated."""
    first = np.subtract(np.astype(call.symbol(0), "int32"), np.astype(call.symbol(2), "int32"))
    second = np.subtract(np.astype(call.symbol(3), "int32"), np.astype(call.symbol(5), "int32"))
    return _saturated(call, np.matmul(first, second))


@row("ConvInteger")
def convolution_integer(call: Call) -> Any:
    """Integers less their zero points; float64 holds their sums."""
    result = _of_integers(call, 1, [2, 3])
    return np.astype(result, "int32")


@row("QLinearConv")
def quantized_convolution(call: Call) -> Any:
    """A convolution of integers, scaled, rounded and saturated."""
    result = _of_integers(call, 3, [2, 5])
    if call.has(8):
        result = np.add(result, np.reshape(np.astype(call.symbol(8), "float64"), (-1, *[1] * (call.rank() - 2))))
    return _saturated(call, result)


def _of_integers(call: Call, weights: int, zeros: list[int]) -> Any:
    """Return the convolution of two inputs less their zero points."""
    rank, operands = call.rank(), []
    for index, zero in zip((0, weights), zeros, strict=True):
        operand = np.astype(call.symbol(index), "float64")
        if call.has(zero):
            point = np.astype(call.symbol(zero), "float64")
            if call.rank(zero) == 1:
                point = np.reshape(point, (-1, *[1] * (rank - 1)))
            operand = np.subtract(operand, point)
        operands.append(operand)
    return convolved(call, operands[0], operands[1], call.shape(weights)).as_np_ndarray()


def _saturated(call: Call, total: Any) -> Any:
    """Return sums of products in the scale and with the zero point of the output, inputs 6 and 7."""
    scales = [np.astype(call.symbol(index), "float64") for index in (1, 4, 6)]
    if call.operator == "QLinearConv" and call.rank(4) == 1:
        scales[1] = np.reshape(scales[1], (-1, *[1] * (call.rank() - 2)))
    x = np.rint(np.multiply(np.astype(total, "float64"), np.divide(np.multiply(scales[0], scales[1]), scales[2])))
    x = np.add(x, np.astype(call.symbol(7), "float64"))
    limits = numpy.iinfo(call.dtype(7))
    return np.astype(np.minimum(np.maximum(x, float(limits.min)), float(limits.max)), call.dtype(7).name)
