"""Pooling: what lies at one offset of all windows is a strided view, and so a step for each offset computes them all.

The gradient of a maximum goes to the first of the largest elements: where windows overlap, an element's is the sum over
the windows in which it is that one, of which there are the same number for all elements a stride apart.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from minpy.graph.native.language import Array, constant
from minpy.graph.native.translating.emitter import Emitter
from minpy.graph.native.translating.lowerings.assembling import slice_along
from minpy.graph.native.translating.lowerings.tables import lowers_operator
from minpy.graph.native.translating.refusals import NotLowered
from minpy.ops.nn.pooling import covers, overlaps, window_sizes, windows

__all__: list[str] = []

Ints = tuple[int, ...]

# Windows of more elements than this are reduced along one axis after the other.
_LARGE = 16
# Gradients of maxima take a few steps for each element of a window: of larger windows that overlap they are calls.
_MOST = 49
# In place of the number of an element in a window.
_NOWHERE = 255
# Windows of more steps than this along one axis are reduced, in place of a step for each.
_LONG = 8


def _taking(key: tuple[slice, ...]) -> Callable[[numpy.ndarray], numpy.ndarray]:
    return lambda values: values[key]


def _padded(emitter: Emitter, data: Array, axis: int, before: int, length: int, fill: Any) -> Array:
    """Return an array that begins `before` elements earlier on an axis, and has a length; it may be cut."""
    kept = min(data.shape[axis], length - before)
    if before == 0 and kept == length:
        return emitter.view(data, slice_along(axis, 0, length))
    piece = emitter.view(data, slice_along(axis, 0, kept))
    shape = (*data.shape[:axis], length, *data.shape[axis + 1 :])
    return emitter.assembly([piece], shape, [slice_along(axis, before, before + kept)], fill=fill)


def _along(emitter: Emitter, function: str, data: Array, axis: int, kernel: int, stride: int, count: int) -> Array:
    """Reduce the windows along one axis of data that is as long as they reach."""
    ufunc = {"sum": "add", "max": "maximum"}[function]
    if kernel > _LONG:

        def all_windows(values: numpy.ndarray) -> numpy.ndarray:
            found = numpy.lib.stride_tricks.sliding_window_view(values, kernel, axis)
            return found[(slice(None),) * axis + (slice(0, None, stride),)]

        found = emitter.view(data, all_windows)
        return emitter.reduce(function, found, (len(found.shape) - 1,), keepdims=False)
    total = None
    for offset in range(kernel):
        part = emitter.view(data, slice_along(axis, offset, offset + (count - 1) * stride + 1, stride))
        total = part if total is None else emitter.elementwise(ufunc, total, part)
    assert total is not None
    return total


def _window_sum(emitter: Emitter, data: Array, kernel: Ints, stride: Ints, pad: Ints, counts: Ints) -> Array:
    for axis, (k, s, p, count) in enumerate(zip(kernel, stride, pad, counts, strict=True), 2):
        if count == 1 and p == 0 and k >= data.shape[axis]:
            data = emitter.reduce("sum", data, (axis,))
            continue
        data = _padded(emitter, data, axis, p, (count - 1) * s + k, 0)
        data = _along(emitter, "sum", data, axis, k, s, count)
    return data


@lowers_operator("_window_sum")
def _sums(operators: Any, data: Array, *, kernel: Ints, stride: Ints, pad: Ints, counts: Ints) -> Array:
    return _window_sum(operators.emitter, data, kernel, stride, pad, counts)


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
            room = _padded_window(emitter, data, axis, shift - reach + 1, count + reach - 1)
            parts.append(_along(emitter, "sum", room, axis, reach, 1, count))
            places.append(slice_along(axis, first, None, s))
        covered = sum(part.shape[axis] for part in parts) == length
        data = (
            parts[0]
            if covered and len(parts) == 1
            else emitter.assembly(parts, shape, places, fill=None if covered else 0)
        )
    return data


def _padded_window(emitter: Emitter, data: Array, axis: int, start: int, length: int, fill: Any = 0) -> Array:
    """Return the elements from `start` on, which may be before the first; zeros, or `fill`, where there are none."""
    if start >= 0:
        data, start = emitter.view(data, slice_along(axis, min(start, data.shape[axis]), None)), 0
    return _padded(emitter, data, axis, -start, length, fill)


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
        data = _padded(emitter, data, axis, p, (count - 1) * s + k, lowest)
    if math.prod(kernel) > _LARGE:
        for axis, (k, s, count) in enumerate(zip(kernel, stride, counts, strict=True), 2):
            data = _along(emitter, "max", data, axis, k, s, count)
        return data
    total = None
    for _, elements in overlaps(data.shape[2:], kernel, stride, (0,) * len(kernel), counts):
        part = emitter.view(data, _taking(elements))
        total = part if total is None else emitter.elementwise("maximum", total, part)
    assert total is not None
    return total


@lowers_operator("_window_place")
def _place(
    operators: Any, gradient: Array, data: Array, largest: Array, *, kernel: Ints, stride: Ints, pad: Ints
) -> Array:
    emitter: Emitter = operators.emitter
    if covers(data.shape[2:], kernel, pad, largest.shape[2:]):
        rows = emitter.reshape(data, (*data.shape[:2], -1))
        where = emitter.reduce("argmax", rows, (2,))
        numbers = constant(numpy.arange(rows.shape[2]).reshape(1, 1, -1))
        is_it = emitter.elementwise("equal", where, numbers)
        each = emitter.reshape(gradient, (*gradient.shape[:2], 1))
        return emitter.reshape(emitter.elementwise("where", is_it, each, constant(0, gradient.dtype)), data.shape)
    counts = largest.shape[2:]
    window = (kernel, stride, pad, counts)
    offsets = list(overlaps(data.shape[2:], *window))
    if all(s >= k for s, k in zip(stride, kernel, strict=True)):
        whole = tuple(slice(0, count) for count in counts)
        if all(positions[2:] == whole for positions, _ in offsets):
            return _placed_apart(emitter, gradient, data, largest, [elements for _, elements in offsets])
    if len(offsets) > _MOST:
        raise NotLowered("its windows overlap, and are large")
    return _placed_among(emitter, gradient, data, largest, window)


def _placed_apart(
    emitter: Emitter, gradient: Array, data: Array, largest: Array, offsets: Sequence[tuple[slice, ...]]
) -> Array:
    """Return the gradient of maxima of windows that do not overlap, nor reach into the padding."""
    free: Array | None = None
    parts, places = [], []
    for elements in offsets:
        part = emitter.view(data, _taking(elements))
        found = emitter.elementwise("equal", part, largest)
        if free is not None:
            found = emitter.elementwise("logical_and", found, free)
        rest = emitter.elementwise("logical_not", found)
        free = rest if free is None else emitter.elementwise("logical_and", free, rest)
        parts.append(emitter.elementwise("multiply", gradient, emitter.cast(found, gradient.dtype)))
        places.append(_taking(elements))
    covered = sum(part.size for part in parts) == data.size
    return emitter.assembly(parts, data.shape, places, fill=None if covered else 0)


class _Residue(NamedTuple):
    """Elements a stride apart along an axis: the first one, their number, and what lies where in which window.

    `windows` has for each offset that they have in windows the number of the window in which the first of them has it:
    those of the others follow. It may be that of no window.
    """

    first: int
    count: int
    windows: list[tuple[int, int]]


def _residues(length: int, kernel: int, stride: int, pad: int) -> list[_Residue]:
    found = []
    for residue in range(stride):
        first = (residue - pad) % stride
        count = len(range(first, length, stride))
        windows = [(offset, (first + pad - offset) // stride) for offset in range(residue, kernel, stride)]
        if count and windows:
            found.append(_Residue(first, count, windows))
    return found


def _placed_among(
    emitter: Emitter, gradient: Array, data: Array, largest: Array, window: tuple[Ints, Ints, Ints, Ints]
) -> Array:
    """Return the gradient of maxima of windows that overlap."""
    kernel, stride, pad, counts = window
    if data.dtype.kind != "f":
        raise NotLowered("maxima of whole numbers have no gradient")
    where = _first_largest(emitter, data, largest, window)
    along = [_residues(*one) for one in zip(data.shape[2:], kernel, stride, pad, strict=True)]
    for axis, residues in enumerate(along, 2):
        # All windows that are asked for, of which some are none: nothing comes from there.
        start = min(number for one in residues for _, number in one.windows)
        end = max(number + one.count for one in residues for _, number in one.windows)
        gradient = _padded_window(emitter, gradient, axis, start, end - start)
        where = _padded_window(emitter, where, axis, start, end - start, _NOWHERE)
        for one in residues:
            one.windows[:] = [(offset, number - start) for offset, number in one.windows]
    parts, places = [], []
    for residues in itertools.product(*along):
        total = constant(0, gradient.dtype)
        for met in itertools.product(*(one.windows for one in residues)):
            taken = (slice(number, number + one.count) for (_, number), one in zip(met, residues, strict=True))
            key = (slice(None), slice(None), *taken)
            number = int(numpy.ravel_multi_index([offset for offset, _ in met], kernel))
            is_it = emitter.elementwise("equal", emitter.view(where, _taking(key)), constant(number, where.dtype))
            part = emitter.view(gradient, _taking(key))
            part = emitter.elementwise("multiply", part, emitter.cast(is_it, gradient.dtype))
            total = emitter.elementwise("add", total, part)
        parts.append(total)
        steps = (slice(one.first, None, s) for one, s in zip(residues, stride, strict=True))
        places.append(_taking((slice(None), slice(None), *steps)))
    covered = sum(part.size for part in parts) == data.size
    return emitter.assembly(parts, data.shape, places, fill=None if covered else 0)


def _first_largest(
    emitter: Emitter, data: Array, largest: Array, window: tuple[Ints, Ints, Ints, Ints]
) -> Array:
    """Return for each window the number of the first element that is the largest; `_NOWHERE`, if there is NaN."""
    kernel, stride, pad, counts = window
    for axis, (k, s, p, count) in enumerate(zip(kernel, stride, pad, counts, strict=True), 2):
        data = _padded(emitter, data, axis, p, (count - 1) * s + k, numpy.nan)  # equal to nothing
    found = constant(_NOWHERE, numpy.uint8)
    offsets = list(overlaps(data.shape[2:], kernel, stride, (0,) * len(kernel), counts))
    for number, (_, elements) in reversed(list(enumerate(offsets))):
        is_it = emitter.elementwise("equal", emitter.view(data, _taking(elements)), largest)
        found = emitter.elementwise("where", is_it, constant(number, numpy.uint8), found)
    return found


# -- Pooling -----------------------------------------------------------------------------------------------------------


@lowers_operator("Pooling")
def _pooling(operators: Any, data: Array, **given: Any) -> Array:
    emitter: Emitter = operators.emitter
    kind, power = given["pool_type"], given["p_value"] if given["pool_type"] == "lp" else 1
    ndim = len(data.shape)
    channels_last = bool(given["layout"]) and given["layout"].endswith("C")
    if channels_last:
        data = emitter.transpose(data, (0, ndim - 1, *range(1, ndim - 1)))
    kernel, stride, pad, counts = windows(
        data.shape, given["kernel"], given["global_pool"], given["pooling_convention"], given["stride"], given["pad"]
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
        result = _window_sum(emitter, data, kernel, stride, pad, counts)
        if kind == "avg":
            include = given["count_include_pad"] is not False
            sizes = window_sizes(data.shape[2:], kernel, stride, pad, counts, include, data.dtype)
            result = emitter.elementwise("divide", result, constant(sizes, data.dtype))
        elif power != 1:
            result = emitter.elementwise("sqrt" if power == 2 else "cbrt", result)
    return emitter.transpose(result, (0, *range(2, ndim), 1)) if channels_last else result
