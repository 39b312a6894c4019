"""Pooling: one node for maxima and means, several for sums and norms."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows, StepsInstead
from minpy.ops.nn.pooling import window_sizes, windows

__all__ = ["ROWS"]

ROWS = Rows()


@ROWS.enter("Pooling")
def _pooling(
    call: NodeCall,
    data: Operand,
    kernel: Any = (),
    pool_type: str = "max",
    global_pool: bool = False,
    pooling_convention: str = "valid",
    stride: Any = (),
    pad: Any = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: str | None = None,
    **_: Any,
) -> Any:
    ndim = data.ndim
    if data.dtype.kind != "f":
        raise call.refuse(f"a maximum of {data.dtype}: onnxruntime has floating point only; cast the data")
    has_channels_last = layout is not None and layout.endswith("C") and len(layout) == ndim
    text, shape = data.text, data.shape
    if has_channels_last:
        text, shape = call.transpose(data, (0, ndim - 1, *range(1, ndim - 1))), (shape[0], shape[-1], *shape[1:-1])
    if global_pool:
        result = _global(call, text, shape, pool_type, p_value)
    else:
        window = _Windows(shape, *windows(shape, kernel, False, pooling_convention, stride, pad))
        includes_padding = count_include_pad is not False
        result = _in_windows(call, text, pool_type, p_value, includes_padding, window, pooling_convention)
    return call.transpose(result, (0, *range(2, ndim), 1)) if has_channels_last else result


@ROWS.enter("Pooling_v1")
def _pooling_v1(
    call: NodeCall,
    data: Operand,
    kernel: Any = (),
    pool_type: str = "max",
    global_pool: bool = False,
    pooling_convention: str = "valid",
    stride: Any = (),
    pad: Any = (),
) -> Any:
    if global_pool:
        return _global(call, data.text, data.shape, pool_type, None)
    window = _Windows(data.shape, *windows(data.shape, kernel, False, pooling_convention, stride, pad))
    if pool_type == "avg":  # over as many elements as the kernel has, also where the last window reaches beyond
        return _means(call, data.text, window)
    text, front = data.text, window.front
    if pool_type == "max" and any(front):  # the zeros of the padding count
        text = call.node("Pad", data, call.ints([0, 0, *front, 0, 0, *front]))
        lengths = (x + 2 * p for x, p in zip(data.shape[2:], front, strict=True))
        window = window._replace(shape=(*data.shape[:2], *lengths), front=(0,) * len(front))
    return _in_windows(call, text, pool_type, None, True, window, pooling_convention)


@ROWS.enter("_contrib_AdaptiveAvgPooling2D")
def _adaptive_pooling(call: NodeCall, data: Operand, output_size: Any = ()) -> Any:
    lengths, counts = data.shape[2:], call.shape[2:]
    if counts == (1, 1):
        return call.node("GlobalAveragePool", data)
    if call.emitter.open_lengths or any(length % count for length, count in zip(lengths, counts, strict=True)):
        raise StepsInstead  # windows of several sizes, which overlap
    sizes = [length // count for length, count in zip(lengths, counts, strict=True)]
    return call.node("AveragePool", data, kernel_shape=sizes, strides=sizes)


def _global(call: NodeCall, text: str, shape: tuple[int, ...], pool_type: str, p_value: int | None) -> str:
    result: str
    if pool_type in ("max", "avg"):
        result = call.node("GlobalMaxPool" if pool_type == "max" else "GlobalAveragePool", text)
        return result
    powers = _to_power(call, text, p_value if pool_type == "lp" else 1)
    total = call.reduce("ReduceSum", powers, range(2, len(shape)), keepdims=True)
    return _root(call, total, p_value if pool_type == "lp" else 1)


class _Windows(NamedTuple):
    """Windows of the last axes of data of a shape: see `minpy.ops.nn.pooling.windows`."""

    shape: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    front: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def attributes(self) -> dict[str, Any]:
        return {"kernel_shape": self.kernel, "strides": self.stride}

    @property
    def ends(self) -> list[int]:
        """The padding behind the data: as in front, where that gives as many windows, for other lengths then, too."""
        axes = zip(self.shape[2:], self.kernel, self.stride, self.front, self.counts, strict=True)
        return [
            p if (x + 2 * p - k) // s + 1 == count else max((count - 1) * s + k - x - p, 0)
            for x, k, s, p, count in axes
        ]

    @property
    def reach_data(self) -> bool:
        """Whether no window lies in the padding as a whole."""
        return all(end < k for end, k in zip(self.ends, self.kernel, strict=True))

    @property
    def begin_in_data(self) -> bool:
        """Whether that is so for all lengths."""
        return all(s <= k - p for s, k, p in zip(self.stride, self.kernel, self.front, strict=True))

    def padded(self, call: NodeCall, text: str, number: Any) -> str:
        """Return the name of the data with all that windows reach."""
        pads = call.ints([0, 0, *self.front, 0, 0, *self.ends])
        return str(call.node("Pad", text, pads, numpy.asarray(number, call.result_dtype)))


def _in_windows(
    call: NodeCall,
    text: str,
    pool_type: str,
    power: int | None,
    includes_padding: bool,
    window: _Windows,
    convention: str,
) -> str:
    front, ends = window.front, window.ends
    if pool_type == "max" or (pool_type == "avg" and not includes_padding):
        op_type = "MaxPool" if pool_type == "max" else "AveragePool"
        if convention == "same" and call.emitter.open_lengths:
            return str(call.node(op_type, text, **window.attributes, auto_pad="SAME_UPPER"))
        if convention == "full" and window.begin_in_data and (call.emitter.open_lengths or ends != list(front)):
            return str(call.node(op_type, text, **window.attributes, pads=(*front, *front), ceil_mode=1))
        if window.reach_data:
            return str(call.node(op_type, text, **window.attributes, pads=(*front, *ends)))
        if pool_type == "max":
            lowest = numpy.finfo(call.result_dtype).min
            return str(call.node(op_type, window.padded(call, text, lowest), **window.attributes))
    means = _means(call, _to_power(call, text, power if pool_type == "lp" else 1), window)
    size = math.prod(window.kernel)
    if pool_type == "avg":
        # A mean is over the data and the padding, or the data, but not over what lies beyond.
        sizes = window_sizes(window.shape[2:], *window[1:], includes_padding, call.result_dtype)
        if numpy.all(sizes == size):
            return means
        return str(call.node("Mul", means, numpy.asarray(size / sizes, call.result_dtype)))
    total = call.node("Mul", means, numpy.asarray(size, call.result_dtype))
    return _root(call, total, power if pool_type == "lp" else 1)


def _means(call: NodeCall, text: str, window: _Windows) -> str:
    """Return the name of means over as many elements as the kernel has, zeros where there is no data."""
    if not window.reach_data:
        return str(call.node("AveragePool", window.padded(call, text, 0), **window.attributes))
    pads = (*window.front, *window.ends)
    return str(call.node("AveragePool", text, **window.attributes, pads=pads, count_include_pad=int(any(pads)) or None))


@ROWS.enter("_window_sum")
def _window_sum(call: NodeCall, data: Operand, kernel: Any, stride: Any, pad: Any, counts: Any) -> Any:
    means = _means(call, data.text, _Windows(data.shape, tuple(kernel), tuple(stride), tuple(pad), tuple(counts)))
    return call.node("Mul", means, numpy.asarray(math.prod(kernel), call.result_dtype))


def _to_power(call: NodeCall, text: str, power: int | None) -> str:
    result = text
    for _ in range(1, power or 1):
        result = call.node("Mul", result, text)
    return result


def _root(call: NodeCall, total: str, power: int | None) -> str:
    result: str
    if power == 2:
        result = call.node("Sqrt", total)
        return result
    if power == 3:
        magnitude = call.node("Pow", call.node("Abs", total), numpy.asarray(1 / 3, call.result_dtype))
        result = call.node("Mul", call.node("Sign", total), magnitude)
        return result
    return total
