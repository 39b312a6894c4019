"""Convolutions and their gradients: calls, all of one kind, whatever operator they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from minpy.backends.native.language import Array
from minpy.backends.native.translating.lowerings.lowering_tables import lowers_operator
from minpy.backends.native.translating.lowerings.ufuncs import apply
from minpy.core.array import Shaped
from minpy.ops.kernels import im2col
from minpy.ops.nn.convolution import per_axis, transposed_window, window_of

__all__ = ["Convolving"]

Ints = tuple[int, ...]


@dataclass(frozen=True)
class Convolving:
    """The function of a call: a convolution (N, C, *lengths) by (F, C / groups, *kernel), or a gradient of one.

    Attributes
    ----------
    lengths, kernel, stride, dilate, pad : tuple of int
        Those of the convolution, in as many dimensions as `kernel` has; `lengths` are those of the data.
    """

    # 'result': of (data, weight) the convolution; 'data': of (gradient, weight) the gradient of the data; 'weight': of
    # (data, gradient) that of the weight.
    computed: str
    lengths: Ints
    kernel: Ints
    stride: Ints
    dilate: Ints
    pad: Ints
    groups: int

    @property
    def __name__(self) -> str:
        return {"result": "convolution", "data": "convolution_data", "weight": "convolution_weight"}[self.computed]

    def __call__(self, first: Any, second: Any) -> Any:
        window: dict[str, Any] = {
            "stride": self.stride,
            "dilate": self.dilate,
            "pad": self.pad,
            "num_group": self.groups,
        }
        if self.computed == "result":
            return im2col.convolve.forward(first, second, **window)
        if self.computed == "data":
            return im2col.convolve_data.forward(first, second, lengths=self.lengths, **window)
        return im2col.convolve_weight.forward(first, second, kernel=self.kernel, **window)


_WHY = "convolutions have kernels of their own"


def _called(operators: Any, function: Convolving, first: Array, second: Array, shape: Ints) -> Array:
    dtype = numpy.result_type(first.dtype, second.dtype)
    (result,) = operators.emitter.call(function, (first, second), [(shape, dtype)], _WHY)
    return result


@lowers_operator("Convolution")
def _convolution(operators: Any, data: Array, weight: Array, bias: Array | None = None, **attributes: Any) -> Array:
    like = Shaped(data.shape, data.dtype)
    names = ("kernel", "stride", "dilate", "pad", "num_group")
    window = window_of("Convolution", like, *(attributes[name] for name in names))
    kernel = per_axis("Convolution", "kernel", attributes["kernel"], like.ndim - 2, 1, 1)
    result = _result(operators, data, weight, kernel, window)
    return result if bias is None else _with_bias(operators, result, bias)


@lowers_operator("Deconvolution")
def _deconvolution(operators: Any, data: Array, weight: Array, bias: Array | None = None, **attributes: Any) -> Array:
    names = ("kernel", "stride", "dilate", "pad", "adj", "target_shape", "num_group")
    window = transposed_window(Shaped(data.shape, data.dtype), *(attributes[name] for name in names))
    result = _data(operators, data, weight, **window)
    return result if bias is None else _with_bias(operators, result, bias)


def _result(operators: Any, data: Array, weight: Array, kernel: Ints, window: dict[str, Any]) -> Array:
    function = _function("result", data.shape[2:], kernel, window)
    positions = im2col.output_lengths(data.shape[2:], kernel, function.stride, function.dilate, function.pad)
    return _called(operators, function, data, weight, (data.shape[0], weight.shape[0], *positions))


def _function(computed: str, lengths: Ints, kernel: Ints, window: dict[str, Any]) -> Convolving:
    stride, dilate, pad = (tuple(window[name]) for name in ("stride", "dilate", "pad"))
    return Convolving(computed, tuple(lengths), tuple(kernel), stride, dilate, pad, window["num_group"])


def _with_bias(operators: Any, result: Array, bias: Array) -> Array:
    emitter = operators.emitter
    column = emitter.reshape(bias, (-1,) + (1,) * (len(result.shape) - 2))
    if numpy.can_cast(bias.dtype, result.dtype):
        column = emitter.cast(column, result.dtype)
    return apply(emitter, numpy.add, result, column)


@lowers_operator("_convolution")
def _convolve(operators: Any, data: Array, weight: Array, **window: Any) -> Array:
    return _result(operators, data, weight, weight.shape[2:], window)


@lowers_operator("_convolution_data")
def _data(operators: Any, gradient: Array, weight: Array, *, lengths: Ints, **window: Any) -> Array:
    function = _function("data", lengths, weight.shape[2:], window)
    shape = (gradient.shape[0], weight.shape[1] * function.groups, *lengths)
    return _called(operators, function, gradient, weight, shape)


@lowers_operator("_convolution_weight")
def _weight(operators: Any, data: Array, gradient: Array, *, kernel: Ints, **window: Any) -> Array:
    function = _function("weight", data.shape[2:], kernel, window)
    shape = (gradient.shape[1], data.shape[1] // function.groups, *kernel)
    return _called(operators, function, data, gradient, shape)
