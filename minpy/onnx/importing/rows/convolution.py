"""Convolutions and pooling."""

from __future__ import annotations

import math
from typing import Any

import numpy

from minpy import symbol
from minpy.onnx.importing.calls import Call, row
from minpy.onnx.importing.refusals import Refusal

# The operators take lists of inputs before their keywords, which types cannot tell apart.
sym: Any = symbol
np = symbol.np


def _pads(call: Call, kernel: list[int], strides: list[int], dilations: list[int]) -> tuple[list[int], list[int]]:
    """Return what is added before and after each axis of the data."""
    count, automatic = len(kernel), call.get("auto_pad", "NOTSET")
    if automatic == "VALID":
        return [0] * count, [0] * count
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        lengths = call.shape(0, range(2, 2 + count))
        totals = [
            max((-(-length // stride) - 1) * stride + (width - 1) * dilation + 1 - length, 0)
            for length, stride, width, dilation in zip(lengths, strides, kernel, dilations, strict=True)
        ]
        smaller, larger = [total // 2 for total in totals], [total - total // 2 for total in totals]
        return (smaller, larger) if automatic == "SAME_UPPER" else (larger, smaller)
    pads = list(call.get("pads", [0] * 2 * count))
    return pads[:count], pads[count:]


def _padded(x: Any, before: list[int], after: list[int], value: float = 0.0) -> Any:
    widths = ((0, 0), (0, 0), *zip(before, after, strict=True))
    return np.pad(x, widths, mode="constant", constant_values=value)


@row("Conv")
def convolution(call: Call) -> Any:
    """`Convolution`; padding that is not the same on both sides is added before it."""
    bias = [call.symbol(2)] if call.has(2) else []
    return convolved(call, call.symbol(0), call.symbol(1), call.shape(1), *bias)


def convolved(call: Call, x: Any, weights: Any, weight: tuple[int, ...], *bias: Any) -> Any:
    """Return the convolution that the attributes of a node say.

    Parameters
    ----------
    call : Call
    x, weights : Symbol
    weight : tuple of int
        The shape of the weights.
    *bias : Symbol
        At most one.
    """
    kernel = list(call.get("kernel_shape", weight[2:]))
    count = len(kernel)
    strides, dilations = call.get("strides", [1] * count), call.get("dilations", [1] * count)
    before, after = _pads(call, kernel, strides, dilations)
    if before != after or min(before, default=0) < 0:
        if min([*before, *after], default=0) < 0:
            raise Refusal("its padding is negative. Cut the data off by Slice")
        x, before = _padded(x, before, after), [0] * count
    if count > 3 or count < 1:
        raise Refusal(f"it has {count} spatial axes; convolutions have 1 to 3")
    return sym.Convolution(
        x, weights, *bias, kernel=tuple(kernel), stride=tuple(strides), dilate=tuple(dilations), pad=tuple(before),
        num_filter=weight[0], num_group=call.get("group", 1), no_bias=not bias,
    )  # fmt: skip


@row("ConvTranspose")
def _transposed_convolution(call: Call) -> Any:
    weight, groups = call.shape(1), call.get("group", 1)
    kernel = list(call.get("kernel_shape", weight[2:]))
    count = len(kernel)
    strides, dilations = call.get("strides", [1] * count), call.get("dilations", [1] * count)
    extra = list(call.get("output_padding", [0] * count))
    pads = list(call.get("pads", [0] * 2 * count))
    before, after = pads[:count], pads[count:]
    automatic = call.get("auto_pad", "NOTSET")
    if "output_shape" in call.attributes or automatic in ("SAME_UPPER", "SAME_LOWER"):
        lengths = call.shape(0, range(2, 2 + count))
        target = call.get("output_shape", [length * stride for length, stride in zip(lengths, strides, strict=True)])
        sizes = zip(lengths, strides, kernel, dilations, extra, target[-count:], strict=True)
        totals = [
            stride * (length - 1) + more + (width - 1) * dilation + 1 - end
            for length, stride, width, dilation, more, end in sizes
        ]
        smaller, larger = [total // 2 for total in totals], [total - total // 2 for total in totals]
        before, after = (larger, smaller) if automatic == "SAME_LOWER" else (smaller, larger)
        if automatic == "NOTSET":
            before, after = smaller, larger
    if automatic == "VALID":
        before = after = [0] * count
    x = call.symbol()
    # All of the result, and then what is not padding of it.
    inputs = [x, call.symbol(1)] + ([call.symbol(2)] if call.has(2) else [])
    is_even = (
        before == after and min(before) >= 0 and all(more < step for more, step in zip(extra, strides, strict=True))
    )
    options = {
        "kernel": tuple(kernel), "stride": tuple(strides), "dilate": tuple(dilations),
        "num_filter": weight[1] * groups, "num_group": groups, "no_bias": not call.has(2),
    }  # fmt: skip
    if is_even:
        return sym.Deconvolution(*inputs, pad=tuple(before), adj=tuple(extra), **options)
    if any(more >= step for more, step in zip(extra, strides, strict=True)):
        raise Refusal("its output_padding is not less than its strides")
    whole = sym.Deconvolution(*inputs, pad=(0,) * count, adj=tuple(extra), **options).as_np_ndarray()
    cut = [slice(max(first, 0), -last if last > 0 else None) for first, last in zip(before, after, strict=True)]
    if min([*before, *after]) < 0:
        raise Refusal("its padding is negative")
    return whole[(slice(None), slice(None), *cut)]


@row("AveragePool", "MaxPool", "LpPool")
def _pool(call: Call) -> Any:
    kernel = list(call.get("kernel_shape"))
    count = len(kernel)
    strides, dilations = list(call.get("strides", [1] * count)), list(call.get("dilations", [1] * count))
    before, after = _pads(call, kernel, strides, dilations)
    if len(call.outputs) > 1 and call.outputs[1].name:
        raise Refusal("it returns the places of the maxima, too, which Pooling does not. Leave that output out")
    is_simple = before == after and not call.get("ceil_mode", 0) and set(dilations) == {1} and count <= 3
    is_simple = is_simple and all(pad < width for pad, width in zip(before, kernel, strict=True))
    kind = {"AveragePool": "avg", "MaxPool": "max", "LpPool": "lp"}[call.operator]
    options: dict[str, Any] = {"count_include_pad": bool(call.get("count_include_pad", 0))} if kind == "avg" else {}
    if kind == "lp":
        options["p_value"] = int(call.get("p", 2))
        is_simple = is_simple and options["p_value"] in (1, 2, 3) and options["p_value"] == 2
    if call.dtype().kind == "f" and is_simple:
        return sym.Pooling(
            call.symbol(), kernel=tuple(kernel), pool_type=kind, stride=tuple(strides), pad=tuple(before), **options
        )
    return _windows(call, kind, kernel, strides, dilations, before, after)


def _windows(
    call: Call,
    kind: str,
    kernel: list[int],
    strides: list[int],
    dilations: list[int],
    before: list[int],
    after: list[int],
) -> Any:
    """Pool as a maximum or sum of slices, one for each place of the window."""
    count = len(kernel)
    lengths = call.shape(0, range(2, 2 + count))
    reach = [(width - 1) * dilation + 1 for width, dilation in zip(kernel, dilations, strict=True)]
    steps, more = [], []
    for length, first, last, span, stride in zip(lengths, before, after, reach, strides, strict=True):
        free = length + first + last - span
        windows = (-(-free // stride) if call.get("ceil_mode", 0) else free // stride) + 1
        if call.get("ceil_mode", 0) and (windows - 1) * stride >= length + first:
            windows -= 1  # one that would begin in the padding
        steps.append(windows)
        more.append(max((windows - 1) * stride + span - (length + first), last))
    if math.prod(kernel) > 4096:
        raise Refusal("its windows are too large for pooling with such padding or dilation")
    dtype = call.dtype()
    lowest = 0.0 if kind != "max" else (-numpy.inf if dtype.kind == "f" else int(numpy.iinfo(dtype).min))
    x = call.symbol()
    x = np.power(np.abs(x), float(call.get("p", 2))) if kind == "lp" else x
    parts = _slices(_padded(x, before, more, lowest), kernel, strides, dilations, steps)
    if kind == "max":
        return _joined(np.maximum, parts)
    total = _joined(np.add, parts)
    if kind == "lp":
        return np.power(total, 1.0 / call.get("p", 2))
    # How many places of each window count.
    inside = numpy.ones(lengths, dtype)
    if call.get("count_include_pad", 0):
        inside = numpy.pad(inside, [*zip(before, after, strict=True)], constant_values=1)
        rest = [end - last for end, last in zip(more, after, strict=True)]
        inside = numpy.pad(inside, [(0, end) for end in rest])
    else:
        inside = numpy.pad(inside, [*zip(before, more, strict=True)])
    counts = sum(_slices(inside[None, None], kernel, strides, dilations, steps))
    return np.divide(total, call.parameter(numpy.asarray(counts, dtype), "counts"))


def _slices(x: Any, kernel: list[int], strides: list[int], dilations: list[int], steps: list[int]) -> list[Any]:
    parts = []
    for place in numpy.ndindex(*kernel):
        index: list[Any] = [slice(None), slice(None)]
        for offset, stride, dilation, windows in zip(place, strides, dilations, steps, strict=True):
            start = offset * dilation
            index.append(slice(start, start + (windows - 1) * stride + 1, stride))
        parts.append(x[tuple(index)])
    return parts


def _joined(function: Any, parts: list[Any]) -> Any:
    result = parts[0]
    for part in parts[1:]:
        result = function(result, part)
    return result if len(parts) > 1 else np.positive(result)


@row("GlobalAveragePool", "GlobalMaxPool")
def _global_pool(call: Call) -> Any:
    kind = "avg" if call.operator == "GlobalAveragePool" else "max"
    if call.rank() > 5 or call.rank() < 3:
        function = np.mean if kind == "avg" else np.max
        return function(call.symbol(), axis=tuple(range(2, call.rank())), keepdims=True)
    return sym.Pooling(call.symbol(), kernel=(1,) * (call.rank() - 2), pool_type=kind, global_pool=True)
