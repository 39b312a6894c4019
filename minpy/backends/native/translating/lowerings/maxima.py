"""Gradients of the maxima of windows: to the first of the largest elements, or to all of them.

Where windows overlap, an element's gradient is the sum over the windows of which it is a maximum. All elements a stride
apart lie in the same number of windows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from minpy.backends.native.language import Array, constant
from minpy.backends.native.translating.lowerings.lowering_tables import lowers_operator
from minpy.backends.native.translating.lowerings.windows import Ints, padded, padded_window, taking
from minpy.backends.native.translating.results import NotLowered
from minpy.backends.native.translating.step_builder import Emitter
from minpy.ops.nn.pooling import covers, overlaps

__all__: list[str] = []

# Each element of a window takes a few steps: larger windows that overlap are calls.
_MAX_WINDOW = 49
# In place of the number of an element in a window, which is smaller.
_NOWHERE = 255


@lowers_operator("_window_place")
def _place(
    operators: Any, gradient: Array, data: Array, largest: Array, *, kernel: Ints, stride: Ints, pad: Ints
) -> Array:
    emitter: Emitter = operators.emitter
    if covers(data.shape[2:], kernel, pad, largest.shape[2:]):
        rows = emitter.reshape(data, (*data.shape[:2], -1))
        where = emitter.reduce("argmax", rows, (2,))
        numbers = constant(numpy.arange(rows.shape[2]).reshape(1, 1, -1))
        is_maximum = emitter.elementwise("equal", where, numbers)
        each = emitter.reshape(gradient, (*gradient.shape[:2], 1))
        return emitter.reshape(emitter.elementwise("where", is_maximum, each, constant(0, gradient.dtype)), data.shape)
    counts = largest.shape[2:]
    window = (kernel, stride, pad, counts)
    offsets = list(overlaps(data.shape[2:], *window))
    are_disjoint = all(s >= k for s, k in zip(stride, kernel, strict=True))
    if len(offsets) > (_NOWHERE if are_disjoint else _MAX_WINDOW):
        raise NotLowered("its windows are large")
    if data.dtype.kind != "f":
        raise NotLowered("maxima of whole numbers have no gradient")

    def chosen(part: Array, number: int, elements: tuple[slice, ...]) -> Array:
        return emitter.elementwise("equal", part, constant(number, numpy.uint8))

    first = _first_largest(emitter, data, largest, window)
    return _distributed(
        emitter, gradient, (first, _NOWHERE), data.shape[2:], window, chosen, None if are_disjoint else 0.0
    )


class _Residue(NamedTuple):
    """Elements a stride apart along an axis: the first one, their number, and in which windows they lie.

    `windows` has (offset, number) pairs: the first element is at that offset of that window, the next ones of the next
    windows. Such a window need not exist.
    """

    first: int
    length: int
    windows: list[tuple[int, int]]


def _residues(length: int, kernel: int, stride: int, pad: int) -> list[_Residue]:
    result = []
    for residue in range(stride):
        first = (residue - pad) % stride
        count = len(range(first, length, stride))
        windows = [(offset, (first + pad - offset) // stride) for offset in range(residue, kernel, stride)]
        if count and windows:
            result.append(_Residue(first, count, windows))
    return result


def _distributed(
    emitter: Emitter,
    gradient: Array,
    compared: tuple[Array, Any],
    lengths: Ints,
    window: tuple[Ints, Ints, Ints, Ints],
    chosen: Callable[[Array, int, tuple[slice, ...]], Array],
    zero: float | None = 0.0,
) -> Array:
    """Return the gradient of maxima of windows that overlap.

    `compared`: what `chosen` compares in each window, and its value for windows that do not exist. `lengths`:
    of the data, along the axes of windows. `window`: (kernel, stride, padding, number of windows). `chosen`:
    `chosen(part, number, elements)` returns which elements are maxima of the windows of `part`, in each of
    which they have a number; `elements` is their key. `zero`: what sums begin with, which tells -0.0 from 0.0; None:
    with the first gradient.
    """
    kernel, stride, pad, _ = window
    marks, mark = compared
    residues_by_axis = [_residues(*item) for item in zip(lengths, kernel, stride, pad, strict=True)]
    for axis, residues in enumerate(residues_by_axis, 2):
        # All windows of the residues; those that do not exist have no gradient.
        start = min(number for item in residues for _, number in item.windows)
        end = max(number + item.length for item in residues for _, number in item.windows)
        gradient = padded_window(emitter, gradient, axis, start, end - start)
        marks = padded_window(emitter, marks, axis, start, end - start, mark)
        for item in residues:
            item.windows[:] = [(offset, number - start) for offset, number in item.windows]
    shape = (*gradient.shape[:2], *lengths)
    leading = (slice(None), slice(None))
    parts, places = [], []
    for group in itertools.product(*residues_by_axis):
        elements = (*leading, *(slice(item.first, None, s) for item, s in zip(group, stride, strict=True)))
        total = None if zero is None else constant(zero, gradient.dtype)
        for windows in itertools.product(*(item.windows for item in group)):
            slices = (slice(number, number + item.length) for (_, number), item in zip(windows, group, strict=True))
            key = taking((*leading, *slices))
            number = int(numpy.ravel_multi_index([offset for offset, _ in windows], kernel))
            is_maximum = emitter.cast(chosen(emitter.view(marks, key), number, elements), gradient.dtype)
            part = emitter.elementwise("multiply", emitter.view(gradient, key), is_maximum)
            total = part if total is None else emitter.elementwise("add", total, part)
        assert total is not None
        parts.append(total)
        places.append(taking(elements))
    covered = sum(part.size for part in parts) == int(numpy.prod(shape))
    return emitter.assembly(parts, shape, places, fill=None if covered else 0)


@lowers_operator("_tied_place")
def _tied(
    operators: Any, gradient: Array, data: Array, largest: Array, *, kernel: Ints, stride: Ints, pad: Ints
) -> Array:
    emitter: Emitter = operators.emitter
    if data.dtype.kind != "f":
        raise NotLowered("maxima of whole numbers have no gradient")
    if covers(data.shape[2:], kernel, pad, largest.shape[2:]):
        is_maximum = emitter.cast(emitter.elementwise("equal", data, largest), gradient.dtype)
        result = emitter.elementwise("multiply", gradient, is_maximum)
        return emitter.elementwise("add", constant(0, gradient.dtype), result)
    if int(numpy.prod(kernel)) > _MAX_WINDOW:
        raise NotLowered("its windows overlap, and are large")

    def chosen(part: Array, number: int, elements: tuple[slice, ...]) -> Array:
        return emitter.elementwise("equal", emitter.view(data, taking(elements)), part)

    window = (kernel, stride, pad, largest.shape[2:])
    return _distributed(emitter, gradient, (largest, numpy.nan), data.shape[2:], window, chosen)


def _first_largest(emitter: Emitter, data: Array, largest: Array, window: tuple[Ints, Ints, Ints, Ints]) -> Array:
    """Return for each window the number of the first element that is the largest; `_NOWHERE`, if there is NaN."""
    kernel, stride, pad, counts = window
    for axis, (k, s, p, count) in enumerate(zip(kernel, stride, pad, counts, strict=True), 2):
        data = padded(emitter, data, axis, p, (count - 1) * s + k, numpy.nan)  # equal to nothing
    result = constant(_NOWHERE, numpy.uint8)
    offsets = list(overlaps(data.shape[2:], kernel, stride, (0,) * len(kernel), counts))
    for number, (_, elements) in reversed(list(enumerate(offsets))):
        is_maximum = emitter.elementwise("equal", emitter.view(data, taking(elements)), largest)
        result = emitter.elementwise("where", is_maximum, constant(number, numpy.uint8), result)
    return result
