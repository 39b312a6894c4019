"""Definitions of operators that can be traced, where those of the operators cannot."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.backends.native.translating.lowerings.lowering_tables import defines
from minpy.backends.native.translating.results import NotLowered
from minpy.ops.tensor.tiling import margins_of

__all__ = ["LONG_ROW", "defined_pick", "one_of_each_row"]

# To take one element of a row, all of them are compared with its number: of longer rows that is not the shortest way.
LONG_ROW = 2048


def one_of_each_row(data: Any, positions: Any, axis: int) -> Any:
    """Return the elements at positions, which have the data's shape with that axis of length 1."""
    length = data.shape[axis]
    if length > LONG_ROW:
        raise NotLowered("it takes few of many elements")
    numbers = numpy.arange(length).reshape([-1 if item == axis else 1 for item in range(data.ndim)])
    zero = data.dtype.type(0)
    return numpy.sum(numpy.where(numbers == positions, data, zero), axis=axis, keepdims=True, dtype=data.dtype)


def _in_range(positions: Any, length: int, mode: str) -> Any:
    if mode not in ("clip", "wrap"):
        raise NotLowered("it refuses positions that are out of range")
    return numpy.clip(positions, 0, length - 1) if mode == "clip" else numpy.mod(positions, length)


@defines("pick")
def defined_pick(data: Any, index: Any, *, axis: int, keepdims: bool, mode: str) -> Any:
    """Return what `pick` does, of positions that are clipped or wrapped around."""
    axis %= data.ndim
    expected = (*data.shape[:axis], 1, *data.shape[axis + 1 :])
    positions = _in_range(index.astype(numpy.intp), data.shape[axis], mode)
    picked = one_of_each_row(data, positions.reshape(expected), axis)
    return picked if keepdims or data.ndim == 1 else numpy.squeeze(picked, axis)


@defines("batch_take")
def _batch_take(a: Any, indices: Any, **attributes: Any) -> Any:
    if a.ndim != 2:
        raise NotLowered("it takes rows")
    positions = _in_range(indices.astype(numpy.intp), a.shape[1], attributes.get("mode", "clip"))
    return one_of_each_row(a, positions.reshape(-1, 1), 1).reshape(indices.shape)


@defines("_put_along")
def _put_along(data: Any, indices: Any, *, axis: int, length: int) -> Any:
    axis %= data.ndim
    if data.shape[axis] != 1:
        raise NotLowered("it puts elements by an array of indices")
    numbers = numpy.arange(length).reshape([-1 if item == axis else 1 for item in range(data.ndim)])
    return numpy.where(numbers == indices, data, data.dtype.type(0))


@defines("_unpad")
def _unpad(data: Any, *, shape: tuple[int, ...], mode: str, pad_width: tuple[int, ...]) -> Any:
    for axis, ((before, after), length) in enumerate(zip(margins_of(pad_width, len(shape)), shape, strict=True)):
        end = before + length
        ends = ((0, before), (before, end), (end, end + after))
        front, core, back = (_part(data, axis, start, stop) for start, stop in ends)
        for margin, width, is_front in ((front, before, True), (back, after, False)):
            if not width or mode == "constant":
                continue
            if mode == "edge":
                margin = numpy.sum(margin, axis=axis, keepdims=True)
                start = 0 if is_front else length - 1
            else:
                margin = numpy.flip(margin, axis)
                start = 1 if is_front else length - 1 - width
            room = [(0, 0)] * data.ndim
            room[axis] = (start, length - start - margin.shape[axis])
            core = core + numpy.pad(margin, room)
        data = core
    return data


def _part(data: Any, axis: int, start: int, stop: int) -> Any:
    return data[(slice(None),) * axis + (slice(start, stop),)]


@defines("_adamw_update")
def _adamw(weight: Any, grad: Any, mean: Any, var: Any, rescale_grad: Any, **attributes: Any) -> Any:
    """Where the scale is 0 or no number, nothing changes."""
    scale = rescale_grad.reshape(-1)[0]
    holds = numpy.logical_and(numpy.isfinite(scale), scale != 0)
    beta1, beta2, limit = attributes["beta1"], attributes["beta2"], attributes["clip_gradient"]
    gradient = grad.astype(weight.dtype) * scale
    gradient = numpy.clip(gradient, -limit, limit) if limit >= 0 else gradient
    first = beta1 * mean + (1 - beta1) * gradient
    second = beta2 * var + (1 - beta2) * gradient * gradient
    step = attributes["lr"] * first / (numpy.sqrt(second) + attributes["epsilon"]) + attributes["wd"] * weight
    mean[...] = numpy.where(holds, first, mean)
    var[...] = numpy.where(holds, second, var)
    return numpy.where(holds, weight - attributes["eta"] * step, weight)
