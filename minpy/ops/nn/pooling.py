"""Pooling, in one to three dimensions: the maximum, sum, mean or p-norm of windows.

There are loops over the offsets in a window, never over its positions: what lies at one offset of all windows is a
strided view. Sums go along one axis after the other. The gradient of a maximum goes to the first of equal elements.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from minpy.core.errors import ArgumentError, DTypeError, ShapeError
from minpy.core.sums import sum_over
from minpy.ops.inference.partial_shapes import UNKNOWN
from minpy.ops.inference.rule_parts import forwards, joined
from minpy.ops.nn.convolution import LAYOUTS, per_axis
from minpy.ops.nn.data_axes import axes_of_layout, wrong_axes
from minpy.ops.registry import operator

__all__ = ["covers", "overlaps", "pooling", "window_sizes", "window_spread", "window_sum", "windows"]

_LAYOUTS = {*LAYOUTS.values(), "NWC", "NHWC", "NDHWC"}

Ints = tuple[int, ...]
Slices = tuple[slice, ...]


def _overlap(length: int, count: int, offset: int, stride: int, pad: int) -> tuple[slice, slice]:
    """Return (positions of a window, their elements at `offset`) along one axis, without those in the padding."""
    start = offset - pad
    first = max(0, -(start // stride))
    last = min(count - 1, (length - 1 - start) // stride)
    begin = first * stride + start
    if last < first:
        return slice(0, 0), slice(0, 0)
    return slice(first, last + 1), slice(begin, last * stride + start + 1, stride)


def overlaps(lengths: Ints, kernel: Ints, stride: Ints, pad: Ints, counts: Ints) -> Iterator[tuple[Slices, Slices]]:
    """Yield, for each offset in a window, (positions, their elements), as indices of arrays (batch, channels, ...)."""
    whole = (slice(None), slice(None))
    axis_overlaps = [
        [_overlap(length, count, offset, s, p) for offset in range(k)]
        for length, k, s, p, count in zip(lengths, kernel, stride, pad, counts, strict=True)
    ]
    for pairs in itertools.product(*axis_overlaps):
        yield (*whole, *(pair[0] for pair in pairs)), (*whole, *(pair[1] for pair in pairs))


# -- sums --------------------------------------------------------------------------------------------------------------


def _axis_key(ndim: int, axis: int, chosen: slice) -> Slices:
    return (slice(None),) * axis + (chosen,) + (slice(None),) * (ndim - axis - 1)


@operator(name="_window_sum", public=False, shape_only=(0,))
def window_sum(data: Any, *, kernel: Ints, stride: Ints, pad: Ints, counts: Ints) -> Any:
    """Return the sums of windows, along one axis after the other."""
    for axis, (k, s, p, count) in enumerate(zip(kernel, stride, pad, counts, strict=True), 2):
        length = data.shape[axis]
        if count == 1 and p == 0 and k >= length:
            data = sum_over(data, axis, keepdims=True)
            continue
        total = None
        for offset in range(k):
            positions, elements = _overlap(length, count, offset, s, p)
            part = data[_axis_key(data.ndim, axis, elements)]
            if total is None and positions == slice(0, count):
                total = part.copy(order="K")
                continue
            if total is None:
                like = data[_axis_key(data.ndim, axis, slice(0, 1))]
                total = np.zeros_like(like, shape=(*data.shape[:axis], count, *data.shape[axis + 1 :]))
            total[_axis_key(data.ndim, axis, positions)] += part
        data = total
    return data


@operator(name="_window_spread", public=False, shape_only=(0,))
def window_spread(data: Any, *, lengths: Ints, kernel: Ints, stride: Ints, pad: Ints) -> Any:
    """Return the transpose of `window_sum`: each number added to all elements of its window."""
    for axis in range(data.ndim - 1, 1, -1):
        length, k, s, p = lengths[axis - 2], kernel[axis - 2], stride[axis - 2], pad[axis - 2]
        shape = (*data.shape[:axis], length, *data.shape[axis + 1 :])
        if data.shape[axis] == 1 and p == 0 and k >= length:
            data = np.broadcast_to(data, shape)
            continue
        spread = np.zeros_like(data, shape=shape)
        for offset in range(k):
            positions, elements = _overlap(length, data.shape[axis], offset, s, p)
            spread[_axis_key(data.ndim, axis, elements)] += data[_axis_key(data.ndim, axis, positions)]
        data = spread
    return data if data.flags.writeable else data.copy()


@window_sum.def_grad()
def _window_sum_gradient(ans: Any, data: Any, *, kernel: Ints, stride: Ints, pad: Ints) -> Any:
    lengths = np.shape(data)[2:]
    return lambda g: window_spread(g, lengths=lengths, kernel=kernel, stride=stride, pad=pad)


@window_spread.def_grad()
def _window_spread_gradient(ans: Any, data: Any, *, kernel: Ints, stride: Ints, pad: Ints) -> Any:
    counts = np.shape(data)[2:]
    return lambda h: window_sum(h, kernel=kernel, stride=stride, pad=pad, counts=counts)


# -- maxima ------------------------------------------------------------------------------------------------------------


def covers(lengths: Ints, kernel: Ints, pad: Ints, counts: Ints) -> bool:
    """Tell whether there is one window, which is all of the data."""
    return all(
        count == 1 and p == 0 and k >= length for count, p, k, length in zip(counts, pad, kernel, lengths, strict=True)
    )


def _lowest(dtype: np.dtype) -> Any:
    return np.finfo(dtype).min if dtype.kind == "f" else dtype.kind != "b" and np.iinfo(dtype).min


def _window_max(data: np.ndarray, kernel: Ints, stride: Ints, pad: Ints, counts: Ints) -> np.ndarray:
    lengths = data.shape[2:]
    if covers(lengths, kernel, pad, counts):
        return data.max(axis=tuple(range(2, data.ndim)), keepdims=True)
    result = None
    whole = tuple(slice(0, count) for count in counts)
    for positions, elements in overlaps(lengths, kernel, stride, pad, counts):
        part = data[elements]
        if result is None and positions[2:] == whole:
            result = part.copy(order="K")
            continue
        if result is None:
            result = np.full_like(data, _lowest(data.dtype), shape=(*data.shape[:2], *counts))
        target = result[positions]
        np.maximum(target, part, out=target)
    assert result is not None
    return result


def _first_maxima(
    data: np.ndarray, largest: np.ndarray, kernel: Ints, stride: Ints, pad: Ints
) -> Iterator[tuple[Slices, Slices, np.ndarray]]:
    """Yield (positions, their elements, where these are the first that are the largest) for each offset in a window."""
    is_unassigned = np.ones_like(largest, dtype=bool)
    for positions, elements in overlaps(data.shape[2:], kernel, stride, pad, largest.shape[2:]):
        remaining = is_unassigned[positions]
        first = data[elements] == largest[positions]
        first &= remaining
        remaining ^= first
        yield positions, elements, first


@operator(name="_window_place", public=False, zero=(1, 2))
def window_place(gradient: Any, data: Any, largest: Any, *, kernel: Ints, stride: Ints, pad: Ints) -> Any:
    """Return zeros, with each number of `gradient` added at the first of the largest elements of its window."""
    if covers(data.shape[2:], kernel, pad, largest.shape[2:]):
        rows = data.reshape(math.prod(data.shape[:2]), math.prod(data.shape[2:]))
        result = np.zeros(rows.shape, gradient.dtype)
        result[np.arange(len(rows)), rows.argmax(axis=1)] = gradient.reshape(-1)
        return result.reshape(data.shape)
    disjoint = all(s >= k for s, k in zip(stride, kernel, strict=True))
    tiled = stride == kernel and data.shape[2:] == tuple(n * s for n, s in zip(largest.shape[2:], stride, strict=True))
    result = np.empty_like(data, gradient.dtype) if tiled and not any(pad) else np.zeros_like(data, gradient.dtype)
    for positions, elements, is_first in _first_maxima(data, largest, kernel, stride, pad):
        if disjoint:
            np.multiply(gradient[positions], is_first, out=result[elements])
        else:
            result[elements] += gradient[positions] * is_first
    return result


@operator(name="_window_pick", public=False, zero=(1, 2))
def window_pick(values: Any, data: Any, largest: Any, *, kernel: Ints, stride: Ints, pad: Ints) -> Any:
    """Return the transpose of `window_place`: the values at the first of the largest elements of each window."""
    if covers(data.shape[2:], kernel, pad, largest.shape[2:]):
        rows = data.reshape(math.prod(data.shape[:2]), -1)
        return values.reshape(rows.shape)[np.arange(len(rows)), rows.argmax(axis=1)].reshape(largest.shape)
    result = np.zeros_like(largest, dtype=values.dtype)
    for positions, elements, is_first in _first_maxima(data, largest, kernel, stride, pad):
        result[positions] += values[elements] * is_first
    return result


window_place.def_grad(
    lambda ans, gradient, data, largest, **window: lambda h: window_pick(h, data, largest, **window), argnum=0
)
window_pick.def_grad(
    lambda ans, values, data, largest, **window: lambda h: window_place(h, data, largest, **window), argnum=0
)
# Shapes are inferred, so that tracing runs nothing to learn them.
window_place.def_infer_shape(lambda inputs, outputs, **window: (inputs, [inputs[1]]))
window_pick.def_infer_shape(lambda inputs, outputs, **window: (inputs, [inputs[2]]))

# -- Pooling -----------------------------------------------------------------------------------------------------------


def first_numbers(value: Any, count: int) -> Any:
    """Return the first `count` of several numbers; one number as it is."""
    return tuple(value)[:count] if isinstance(value, (tuple, list)) else value


# The attributes of pooling that determine the windows.
_WINDOW = ("kernel", "global_pool", "pooling_convention", "stride", "pad")


def windows(
    shape: Ints, kernel: Any, global_pool: bool, pooling_convention: str, stride: Any, pad: Any
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return (kernel, stride, padding in front, number of windows) along each axis of (batch, channels, ...)."""
    lengths, count = shape[2:], len(shape) - 2
    if global_pool:
        return lengths, (1,) * count, (0,) * count, (1,) * count
    if not kernel:
        raise ArgumentError("Pooling: kernel is missing; give the lengths of a window, or pass global_pool=True.")
    kernel = per_axis("Pooling", "kernel", kernel, count, 1, 1)
    # Of too many numbers MXNet reads the first, of stride and pad, and so do its users' networks for one axis.
    stride = per_axis("Pooling", "stride", first_numbers(stride, count), count, 1, 1)
    pad = per_axis("Pooling", "pad", first_numbers(pad, count), count, 0, 0)
    if pooling_convention == "same":
        if any(pad):
            raise ArgumentError(f"Pooling: pad is {pad}; pooling_convention='same' finds the padding itself.")
        counts = tuple(-(-x // s) for x, s in zip(lengths, stride, strict=True))
        missing = [(n - 1) * s + k - x for n, s, k, x in zip(counts, stride, kernel, lengths, strict=True)]
        return kernel, stride, tuple(max(0, number) // 2 for number in missing), counts
    if any(x + 2 * p < k or p >= k for x, p, k in zip(lengths, pad, kernel, strict=True)):
        raise ShapeError(
            f"Pooling: kernel={kernel}, pad={pad} for data of shape {shape}; each length of kernel must be larger than "
            "its pad, and at most the length of the padded axis."
        )
    surplus = [x + 2 * p - k for x, p, k in zip(lengths, pad, kernel, strict=True)]
    if pooling_convention == "full":
        return kernel, stride, pad, tuple(-(-number // s) + 1 for number, s in zip(surplus, stride, strict=True))
    return kernel, stride, pad, tuple(number // s + 1 for number, s in zip(surplus, stride, strict=True))


def window_sizes(
    lengths: Ints, kernel: Ints, stride: Ints, pad: Ints, counts: Ints, include_pad: bool, dtype: Any
) -> Any:
    """Return how many elements the mean of each window is over: a number, or an array of the windows' shape."""
    sizes: Any = np.ones((), dtype)
    for x, k, s, p, count in zip(lengths, kernel, stride, pad, counts, strict=True):
        starts = np.arange(count) * s - p
        axis_sizes = np.minimum(starts + k, x + p if include_pad else x) - (
            starts if include_pad else np.maximum(starts, 0)
        )
        sizes = np.multiply.outer(sizes, np.maximum(axis_sizes, 1).astype(dtype))
    return dtype.type(sizes.flat[0]) if (sizes == sizes.flat[0]).all() else sizes


def _has_channels_last(shape: Ints, layout: str | None) -> bool:
    ndim = len(shape)
    if layout in _LAYOUTS and len(layout) != ndim:
        raise wrong_axes("Pooling: ", shape, axes_of_layout(layout))
    if not 3 <= ndim <= 5:
        raise ShapeError(
            f"Pooling: data has shape {shape}; expected (batch, channels, width), (batch, channels, height, "
            "width) or (batch, channels, depth, height, width)."
        )
    default = LAYOUTS[ndim - 2]
    channels_last = "N" + default[2:] + "C"
    if layout not in (None, default, channels_last):
        raise ArgumentError(
            f"Pooling: layout is {layout!r}; expected {default!r} or {channels_last!r} for {ndim} axes."
        )
    return layout == channels_last


def _channels_second(data: Any, layout: str | None) -> tuple[bool, Any]:
    """Return (whether the channels are last, the data with the channels second)."""
    channels_last = _has_channels_last(np.shape(data), layout)
    return channels_last, np.moveaxis(data, -1, 1) if channels_last else data


@operator(name="Pooling")
def pooling(
    data: np.ndarray,
    *,
    kernel: tuple[int, ...] = (),
    pool_type: Literal["max", "avg", "sum", "lp"] = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: Literal["valid", "full", "same"] = "valid",
    stride: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: str | None = None,
) -> np.ndarray:
    """Return the maximum, mean, sum or p-norm of windows, in one to three dimensions.

    {data_parameter}
        Of shape (batch, channels, width), (batch, channels, height, width) or (batch, channels, depth, height, width).
    kernel : tuple of int
        Lengths of a window.
    pool_type : {'max', 'avg', 'sum', 'lp'}
    global_pool : bool
        Whether there is one window, all of the data; kernel, stride and pad are then not used.
    pooling_convention : {'valid', 'full', 'same'}
        'valid': windows end inside the padded data. 'full': the last one may reach beyond. 'same': there are
        ceil(length / stride) windows, with the padding that this takes.
    stride : tuple of int
        Steps between windows; 1 if left out.
    pad : tuple of int
        By how much windows may begin before the data, and end after it; 0 if left out.
    p_value : {1, 2, 3}, optional
        The p of 'lp', whose result is (the sum of x**p)**(1 / p).
    count_include_pad : bool, optional
        Whether a mean counts the padding as zeros, which is the default, or leaves it out.
    layout : str, optional
        'NCW', 'NCHW', 'NCDHW', or with the channels last: 'NWC', 'NHWC', 'NDHWC'.
    cudnn_off : bool
        Accepted and not used.

    {returns_array}
        Of shape (batch, channels, ...), with (x + 2 * pad - kernel) / stride + 1 windows along an axis of length x,
        rounded down for 'valid' and up for 'full'.

    {raises_shape_error}
        If the window does not fit the data.
    ArgumentError
        For unknown names, without a kernel, or without a `p_value` for 'lp'.
    DTypeError
        For other pool types than 'max' on integers.

    {examples}
    >>> x = nd.arange(1, 10).reshape((1, 1, 3, 3))
    >>> nd.Pooling(x, kernel=(2, 2)).asnumpy()
    array([[[[5., 6.],
             [8., 9.]]]], dtype=float32)
    >>> nd.Pooling(x, kernel=(2, 2), pool_type='avg', stride=(2, 2), pooling_convention='full').asnumpy()
    array([[[[3. , 4.5],
             [7.5, 9. ]]]], dtype=float32)
    """
    if pool_type not in ("max", "avg", "sum", "lp"):
        raise ArgumentError(f"Pooling: unknown pool_type {pool_type!r}; expected 'max', 'avg', 'sum' or 'lp'.")
    if pooling_convention not in ("valid", "full", "same"):
        raise ArgumentError(
            f"Pooling: unknown pooling_convention {pooling_convention!r}; expected 'valid', 'full' or 'same'."
        )
    if pool_type == "lp" and p_value not in (1, 2, 3):
        raise ArgumentError(f"Pooling: p_value is {p_value}; expected 1, 2 or 3 for pool_type='lp'.")
    if pool_type != "max" and data.dtype.kind not in "fc":
        raise DTypeError(f"Pooling: data has dtype {data.dtype}; pool_type={pool_type!r} needs a floating-point dtype.")
    channels_last, values = _channels_second(data, layout)
    kernel, stride, pad, counts = windows(values.shape, kernel, global_pool, pooling_convention, stride, pad)
    window: dict[str, Any] = {"kernel": kernel, "stride": stride, "pad": pad, "counts": counts}
    if pool_type == "max":
        result = _window_max(values, **window)
    else:
        power = p_value if pool_type == "lp" else 1
        result = window_sum.forward(values if power == 1 else values**power, **window)
        if pool_type == "avg":
            result /= window_sizes(
                values.shape[2:], **window, include_pad=count_include_pad is not False, dtype=result.dtype
            )
        elif power != 1:
            result = np.sqrt(result) if power == 2 else np.cbrt(result)
    return np.moveaxis(result, 1, -1) if channels_last else result


@pooling.def_grad()
def _pooling_gradient(ans: Any, data: Any, *, pool_type: str, p_value: int | None, **attributes: Any) -> Any:
    channels_last, values = _channels_second(data, attributes["layout"])
    result = np.moveaxis(ans, -1, 1) if channels_last else ans
    shape = np.shape(values)
    kernel, stride, pad, counts = windows(shape, **{name: attributes[name] for name in _WINDOW})
    lengths = shape[2:]
    window: dict[str, Any] = {"kernel": kernel, "stride": stride, "pad": pad}

    def gradient(g: Any) -> Any:
        g = np.moveaxis(g, -1, 1) if channels_last else g
        if pool_type == "max":
            part = window_place(g, values, result, **window)
        elif pool_type == "lp" and p_value != 1:
            power = p_value - 1  # type: ignore[operator]
            slope = np.where(result == 0, 0, g / np.where(result == 0, 1, result) ** power)
            part = window_spread(slope, lengths=lengths, **window) * values**power
        else:
            if pool_type == "avg":
                include = attributes["count_include_pad"] is not False
                g = g / window_sizes(lengths, kernel, stride, pad, counts, include, np.dtype(g.dtype))
            part = window_spread(g, lengths=lengths, **window)
        return np.moveaxis(part, 1, -1) if channels_last else part

    return gradient


_PLACEHOLDER_LENGTH = 1 << 30


@pooling.def_infer_shape
@forwards
def _pooling_shape(
    data: Any,
    *,
    kernel: Any = (),
    global_pool: bool = False,
    pooling_convention: str = "valid",
    stride: Any = (),
    pad: Any = (),
    layout: str | None = None,
    **_: Any,
) -> Any:
    channels_last = _has_channels_last(data, layout)
    front, lengths = ((data[0], data[-1]), data[1:-1]) if channels_last else (data[:2], data[2:])
    # Windows along one axis do not depend on the other axes: in place of a length that is not known a long one will do.
    long = (*front, *(_PLACEHOLDER_LENGTH if length == UNKNOWN else length for length in lengths))
    counts = windows(long, kernel, global_pool, pooling_convention, stride, pad)[3]
    result = tuple(
        UNKNOWN if length == UNKNOWN and not global_pool else count
        for length, count in zip(lengths, counts, strict=True)
    )
    return (front[0], *result, front[1]) if channels_last else (*front, *result)


def _caption(attributes: dict[str, Any]) -> str:
    kind = attributes.get("pool_type", "max")
    if attributes.get("global_pool"):
        return f"global {kind}"
    return f"{kind}, {joined(attributes['kernel'])}/{joined(attributes.get('stride') or (1,))}"


def _saved_outputs(saved: dict[str, Any]) -> int:
    """Return 2 where MXNet keeps the positions of maxima, which callers do not see."""
    layout = saved.get("layout") or "NC"
    return 2 if saved.get("kernel") and saved.get("pool_type", "max") == "max" and layout.startswith("NC") else 1


pooling.category, pooling.caption, pooling.saved_outputs = "pooling", _caption, _saved_outputs
