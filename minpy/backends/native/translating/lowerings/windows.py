"""Pooling: what lies at one offset of all windows is a strided view, and a step for each offset computes them all."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from minpy.backends.native.language import Array, constant
from minpy.backends.native.translating.lowerings.assembling import slice_along
from minpy.backends.native.translating.lowerings.lowering_tables import lowers_operator
from minpy.backends.native.translating.results import NotLowered
from minpy.backends.native.translating.step_builder import Emitter
from minpy.ops import registry
from minpy.ops.nn.pooling import covers, overlaps, window_sizes, windows
from minpy.ops.nn.pooling_v1 import hold_padding
from minpy.ops.nn.upsampling import bilinear_window

__all__ = ["Ints", "padded", "padded_window", "taking"]

Ints = tuple[int, ...]

# Windows of more steps than this along one axis are reduced, in place of a step for each.
_LONG = 8


def taking(key: tuple[slice, ...]) -> Callable[[numpy.ndarray], numpy.ndarray]:
    """Return what takes a part of an array by a key."""
    return lambda values: values[key]


def padded(emitter: Emitter, data: Array, axis: int, before: int, length: int, fill: Any) -> Array:
    """Return an array that begins `before` elements earlier on an axis, and has a length; it may be cut."""
    copied_length = min(data.shape[axis], length - before)
    if before == 0 and copied_length == length:
        return emitter.view(data, slice_along(axis, 0, length))
    piece = emitter.view(data, slice_along(axis, 0, copied_length))
    shape = (*data.shape[:axis], length, *data.shape[axis + 1 :])
    return emitter.assembly([piece], shape, [slice_along(axis, before, before + copied_length)], fill=fill)


def _pool_axis(emitter: Emitter, function: str, data: Array, axis: int, kernel: int, stride: int, count: int) -> Array:
    """Reduce the windows along one axis of data that is as long as they reach."""
    ufunc = {"sum": "add", "max": "maximum"}[function]
    if kernel > _LONG:

        def all_windows(values: numpy.ndarray) -> numpy.ndarray:
            result = numpy.lib.stride_tricks.sliding_window_view(values, kernel, axis)
            return result[(slice(None),) * axis + (slice(0, None, stride),)]

        result = emitter.view(data, all_windows)
        return emitter.reduce(function, result, (len(result.shape) - 1,), keepdims=False)
    total = None
    for offset in range(kernel):
        part = emitter.view(data, slice_along(axis, offset, offset + (count - 1) * stride + 1, stride))
        total = part if total is None else emitter.elementwise(ufunc, total, part)
    assert total is not None
    return total


def window_sum(emitter: Emitter, data: Array, kernel: Ints, stride: Ints, pad: Ints, counts: Ints) -> Array:
    """Return the sums of windows, along one axis after the other."""
    for axis, (k, s, p, count) in enumerate(zip(kernel, stride, pad, counts, strict=True), 2):
        if count == 1 and p == 0 and k >= data.shape[axis]:
            data = emitter.reduce("sum", data, (axis,))
            continue
        data = padded(emitter, data, axis, p, (count - 1) * s + k, 0)
        data = _pool_axis(emitter, "sum", data, axis, k, s, count)
    return data


@lowers_operator("_window_sum")
def _sums(operators: Any, data: Array, *, kernel: Ints, stride: Ints, pad: Ints, counts: Ints) -> Array:
    return window_sum(operators.emitter, data, kernel, stride, pad, counts)


@lowers_operator("_window_spread")
def _spread(operators: Any, data: Array, *, lengths: Ints, kernel: Ints, stride: Ints, pad: Ints) -> Array:
    emitter: Emitter = operators.emitter
    for axis in range(len(data.shape) - 1, 1, -1):
        length, k, s, p = lengths[axis - 2], kernel[axis - 2], stride[axis - 2], pad[axis - 2]
        shape = (*data.shape[:axis], length, *data.shape[axis + 1 :])
        if data.shape[axis] == 1 and p == 0 and k >= length:
            data = emitter.broadcast(data, shape)
            continue
        places, parts = [], []
        for residue in range(s):
            # Elements p - residue apart from a multiple of the stride, and the windows that each of them is in.
            first = (residue - p) % s
            offsets = range(residue, k, s)
            count = len(range(first, length, s))
            if not count or not offsets:
                continue
            shift = (first + p - residue) // s  # the number of the window in which the first is at offset `residue`
            reach = len(offsets)
            padded_data = padded_window(emitter, data, axis, shift - reach + 1, count + reach - 1)
            parts.append(_pool_axis(emitter, "sum", padded_data, axis, reach, 1, count))
            places.append(slice_along(axis, first, None, s))
        covered = sum(part.shape[axis] for part in parts) == length
        data = (
            parts[0]
            if covered and len(parts) == 1
            else emitter.assembly(parts, shape, places, fill=None if covered else 0)
        )
    return data


def padded_window(emitter: Emitter, data: Array, axis: int, start: int, length: int, fill: Any = 0) -> Array:
    """Return the elements from `start` on, which may be before the first; zeros, or `fill`, where there are none."""
    if start >= 0:
        data, start = emitter.view(data, slice_along(axis, min(start, data.shape[axis]), None)), 0
    return padded(emitter, data, axis, -start, length, fill)


# -- maxima ------------------------------------------------------------------------------------------------------------


def _lowest(dtype: numpy.dtype) -> Any:
    if dtype.kind == "f":
        return numpy.finfo(dtype).min
    return False if dtype.kind == "b" else numpy.iinfo(dtype).min


def _window_max(emitter: Emitter, data: Array, kernel: Ints, stride: Ints, pad: Ints, counts: Ints) -> Array:
    if covers(data.shape[2:], kernel, pad, counts):
        return emitter.reduce("max", data, range(2, len(data.shape)))
    # Windows begin with the lowest number where some begin in the padding; else with their first element.
    positions, _ = next(overlaps(data.shape[2:], kernel, stride, pad, counts))
    begins_inside = positions[2:] == tuple(slice(0, count) for count in counts)
    lowest = -numpy.inf if begins_inside and data.dtype.kind == "f" else _lowest(data.dtype)
    for axis, (k, s, p, count) in enumerate(zip(kernel, stride, pad, counts, strict=True), 2):
        data = padded(emitter, data, axis, p, (count - 1) * s + k, lowest)
        data = _pool_axis(emitter, "max", data, axis, k, s, count)
    return _at_least(emitter, data, lowest)


def _at_least(emitter: Emitter, maxima: Array, lowest: Any) -> Array:
    """Return maxima with which all windows have begun, those that do not reach into the padding as well."""
    if maxima.dtype.kind != "f" or lowest == -numpy.inf:
        return maxima
    return emitter.elementwise("maximum", maxima, constant(lowest, maxima.dtype))


# -- Pooling -----------------------------------------------------------------------------------------------------------


@lowers_operator("Pooling")
def _pooling(operators: Any, data: Array, **attributes: Any) -> Array:
    emitter: Emitter = operators.emitter
    kind, power = attributes["pool_type"], attributes["p_value"] if attributes["pool_type"] == "lp" else 1
    ndim = len(data.shape)
    channels_last = bool(attributes["layout"]) and attributes["layout"].endswith("C")
    if channels_last:
        data = emitter.transpose(data, (0, ndim - 1, *range(1, ndim - 1)))
    kernel, stride, pad, counts = windows(
        data.shape,
        attributes["kernel"],
        attributes["global_pool"],
        attributes["pooling_convention"],
        attributes["stride"],
        attributes["pad"],
    )
    if kind == "max":
        result = _window_max(emitter, data, kernel, stride, pad, counts)
    else:
        if data.dtype.kind != "f":
            raise NotLowered("means of integers are refused")
        if power == 2:
            data = emitter.elementwise("square", data)
        elif power != 1:
            data = emitter.elementwise("power", data, constant(power, data.dtype))
        result = window_sum(emitter, data, kernel, stride, pad, counts)
        if kind == "avg":
            include = attributes["count_include_pad"] is not False
            sizes = window_sizes(data.shape[2:], kernel, stride, pad, counts, include, data.dtype)
            result = emitter.elementwise("divide", result, constant(sizes, data.dtype))
        elif power != 1:
            result = emitter.elementwise("sqrt" if power == 2 else "cbrt", result)
    return emitter.transpose(result, (0, *range(2, ndim), 1)) if channels_last else result


@lowers_operator("Pooling_v1")
def _pooling_v1(operators: Any, data: Array, **attributes: Any) -> Array:
    emitter: Emitter = operators.emitter
    if data.dtype.kind != "f" or len(data.shape) not in (4, 5):
        raise NotLowered("it refuses such data")
    names = ("kernel", "global_pool", "pooling_convention", "stride", "pad")
    window = windows(data.shape, *(attributes[name] for name in names))
    kernel, _, pad, _ = window
    if attributes["pool_type"] != "max":
        result = window_sum(emitter, data, *window)
        if attributes["pool_type"] == "sum":
            return result
        return emitter.elementwise("divide", result, constant(math.prod(kernel), data.dtype))
    result = _window_max(emitter, data, *window)
    if not any(pad):
        return result
    padded = constant(hold_padding(data.shape[2:], *window))
    positive = emitter.elementwise("maximum", result, constant(0, data.dtype))
    return emitter.elementwise("where", padded, positive, result)


@lowers_operator("UpSampling")
def _up_sampling(operators: Any, *data: Array, scale: int, sample_type: str, **unused: Any) -> Any:
    if sample_type != "bilinear" or len(data) != 2:
        return NotImplemented
    window = bilinear_window(data[0].shape, scale)
    return operators.lower(registry.OPERATORS["Deconvolution"], data, window).value
