"""Functions that assemble arrays: of several arrays, of one array repeated, or with a part replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.backends.native.language import Array, constant, uniform_value
from minpy.backends.native.translating.lowerings.elementwise_functions import where
from minpy.backends.native.translating.lowerings.keys import has_arrays, placed_by_arrays
from minpy.backends.native.translating.lowerings.lowering_tables import lowers
from minpy.backends.native.translating.lowerings.ufuncs import apply
from minpy.backends.native.translating.promotion import Operand, common_dtype, converted
from minpy.backends.native.translating.results import NotLowered
from minpy.backends.native.translating.step_builder import Emitter
from minpy.capture.numpy_functions import changed, filled
from minpy.capture.storage import with_item

__all__ = ["concatenate", "slice_along", "stored"]

Place = Callable[[numpy.ndarray], numpy.ndarray]


def slice_along(axis: int, start: int | None, stop: int | None, step: int | None = None) -> Place:
    """Return what takes a slice along one axis.

    >>> slice_along(1, 1, None)(numpy.arange(6).reshape(2, 3)).tolist()
    [[1, 2], [4, 5]]
    """
    key = (*[slice(None)] * axis, slice(start, stop, step))
    return lambda values: values[key]


def _promoted(emitter: Emitter, values: Any, dtype: Any = None) -> list[Array]:
    """Return operands in the dtype to which they are promoted."""
    if not isinstance(values, (list, tuple)):
        raise NotLowered("it joins the rows of one array")
    arrays = [value if isinstance(value, Array) else constant(numpy.asarray(value)) for value in values]
    dtype = common_dtype(*arrays) if dtype is None else numpy.dtype(dtype)
    return [emitter.cast(array, dtype) for array in arrays]


@lowers("concatenate")
def concatenate(emitter: Emitter, arrays: Any, axis: int | None = 0, dtype: Any = None) -> Array:
    """Return `numpy.concatenate`."""
    parts = _promoted(emitter, arrays, dtype)
    if axis is None:
        parts, axis = [emitter.reshape(part, (-1,)) for part in parts], 0
    ndim = len(parts[0].shape)
    axis %= ndim
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    if len(parts) == 1:
        return parts[0]
    places, start = [], 0
    for part in parts:
        places.append(slice_along(axis, start, start + part.shape[axis]))
        start += part.shape[axis]
    fill = next((value for value in map(uniform_value, parts) if value is not None), None)
    if fill is not None:  # uniform pieces become the fill of the others
        pieces = [position for position, part in enumerate(parts) if not _is_all(part, fill)]
        if pieces:
            return emitter.assembly([parts[i] for i in pieces], shape, [places[i] for i in pieces], fill=fill)
    return emitter.assembly(parts, shape, places)


def _is_all(array: Array, value: Any) -> bool:
    result = uniform_value(array)
    return result is not None and result.tobytes() == value.tobytes()


@lowers("stack")
def _stack(emitter: Emitter, arrays: Any, axis: int = 0, dtype: Any = None) -> Array:
    parts = _promoted(emitter, arrays, dtype)
    return concatenate(
        emitter, [emitter.view(part, lambda values: numpy.expand_dims(values, axis)) for part in parts], axis
    )


def _as_column(values: numpy.ndarray) -> numpy.ndarray:
    return values if values.ndim >= 2 else numpy.atleast_2d(values).T


def _joined_views(view: Callable[..., Any], axis: int | None) -> Callable[..., Array]:
    """Return the lowering of a function that joins views of its arrays; None: along the first axis but one, if any."""

    def lower(emitter: Emitter, tup: Any, dtype: Any = None) -> Array:
        parts = [emitter.view(part, view) for part in _promoted(emitter, tup)]
        return concatenate(emitter, parts, min(len(parts[0].shape) - 1, 1) if axis is None else axis, dtype)

    return lower


lowers("hstack")(_joined_views(numpy.atleast_1d, None))
lowers("vstack", "row_stack")(_joined_views(numpy.atleast_2d, 0))
lowers("dstack")(_joined_views(numpy.atleast_3d, 2))
lowers("column_stack")(_joined_views(_as_column, 1))


@lowers("append")
def _append(emitter: Emitter, arr: Array, values: Any, axis: int | None = None) -> Array:
    return concatenate(emitter, [arr, values], axis)


@lowers("block")
def _block(emitter: Emitter, arrays: Any) -> Array:
    raise NotLowered("arrays put together of nested lists are not compiled")


# -- one array, with something around it, or several times -------------------------------------------------------------


@lowers("pad")
def _pad(emitter: Emitter, array: Array, pad_width: Any, mode: Any = "constant", **options: Any) -> Array:
    widths = numpy.broadcast_to(numpy.asarray(pad_width), (len(array.shape), 2)).tolist()
    if mode == "constant":
        values = options.pop("constant_values", 0)
        if options or not isinstance(values, (int, float, bool, numpy.generic)):
            raise NotLowered("a padding with several values is not compiled")
        shape = [before + length + after for length, (before, after) in zip(array.shape, widths, strict=True)]
        key = tuple(slice(before, before + length) for length, (before, _) in zip(array.shape, widths, strict=True))
        return emitter.assembly([array], shape, [lambda target: target[key]], fill=converted(values, array.dtype).value)
    if mode not in ("edge", "reflect", "symmetric", "wrap") or options:
        raise NotLowered(f"the padding {mode!r} is not compiled")
    for axis, (before, after) in enumerate(widths):
        array = _padded(emitter, array, axis, before, after, mode)
    return array


def _padded(emitter: Emitter, array: Array, axis: int, before: int, after: int, mode: str) -> Array:
    """Return an array padded along one axis with its own elements."""
    length = array.shape[axis]
    most = {"reflect": length - 1, "symmetric": length, "wrap": length}.get(mode, max(before, after))
    if length == 0 or before > most or after > most:
        raise NotLowered("a padding that is wider than the array is not compiled")
    ends: list[Array] = []
    for width, is_first in ((before, True), (after, False)):
        if not width:
            ends.append(emitter.view(array, slice_along(axis, 0, 0)))
        elif mode == "edge":
            edge = emitter.view(array, slice_along(axis, *((0, 1) if is_first else (length - 1, None))))
            ends.append(emitter.broadcast(edge, (*array.shape[:axis], width, *array.shape[axis + 1 :])))
        elif mode == "wrap":
            ends.append(emitter.view(array, slice_along(axis, *((length - width, None) if is_first else (0, width)))))
        else:
            skipped = 1 if mode == "reflect" else 0
            first = (skipped, skipped + width) if is_first else (length - skipped - width, length - skipped)
            piece = emitter.view(array, slice_along(axis, *first))
            ends.append(emitter.view(piece, lambda values: numpy.flip(values, axis)))
    parts = [part for part in (ends[0], array, ends[1]) if part.shape[axis]]
    return concatenate(emitter, parts, axis)


@lowers("tile")
def _tile(emitter: Emitter, A: Array, reps: Any) -> Array:
    counts = [int(item) for item in (reps if isinstance(reps, (list, tuple, numpy.ndarray)) else (reps,))]
    ndim = max(len(counts), len(A.shape))
    counts = [1] * (ndim - len(counts)) + counts
    lengths = (1,) * (ndim - len(A.shape)) + A.shape
    split = emitter.reshape(A, [part for length in lengths for part in (1, length)])
    pairs = zip(counts, lengths, strict=True)
    spread = emitter.broadcast(split, [part for pair in pairs for part in pair])
    return emitter.reshape(spread, [count * length for count, length in zip(counts, lengths, strict=True)])


@lowers("repeat")
def _repeat(emitter: Emitter, a: Array, repeats: Any, axis: int | None = None) -> Array:
    if not isinstance(repeats, (int, numpy.integer)):
        raise NotLowered("elements repeated each as often as an array says are not compiled")
    if axis is None:
        a, axis = emitter.reshape(a, (-1,)), 0
    a = emitter.view(a, numpy.atleast_1d)
    axis %= len(a.shape)
    repeats = int(repeats)
    before, length, after = a.shape[:axis], a.shape[axis], a.shape[axis + 1 :]
    split = emitter.reshape(a, (*before, length, 1, *after))
    return emitter.reshape(
        emitter.broadcast(split, (*before, length, repeats, *after)), (*before, length * repeats, *after)
    )


@lowers("roll")
def _roll(emitter: Emitter, a: Array, shift: Any, axis: Any = None) -> Array:
    if axis is None:
        return emitter.reshape(_roll(emitter, emitter.reshape(a, (-1,)), shift, 0), a.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    for item, by in zip(axes if len(axes) == len(shifts) else axes * len(shifts), shifts, strict=True):
        item %= len(a.shape)
        length = a.shape[item]
        cut = int(by) % length if length else 0
        if cut:
            parts = [
                emitter.view(a, slice_along(item, length - cut, None)),
                emitter.view(a, slice_along(item, 0, length - cut)),
            ]
            a = concatenate(emitter, parts, item)
    return a


def _shift_of_half(sign: int) -> Callable[..., Array]:
    def lower(emitter: Emitter, x: Array, axes: Any = None) -> Array:
        chosen = tuple(range(len(x.shape))) if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)
        return _roll(emitter, x, tuple(sign * (x.shape[axis] // 2) for axis in chosen), chosen)

    return lower


lowers("fft.fftshift")(_shift_of_half(1))
lowers("fft.ifftshift")(_shift_of_half(-1))


# -- parts -------------------------------------------------------------------------------------------------------------


@lowers("triu")
def _triu(emitter: Emitter, m: Array, k: int = 0) -> Array:
    return where(emitter, _triangle(m, k - 1), constant(0, m.dtype), m)


def _triangle(like: Array, k: int) -> Array:
    """Return which elements of matrices lie on the k-th diagonal, or below."""
    lengths = like.shape[-2:]
    return constant(numpy.tri(lengths[0], lengths[-1], k, dtype=bool))


@lowers("tril")
def _tril(emitter: Emitter, m: Array, k: int = 0) -> Array:
    return where(emitter, _triangle(m, k), m, constant(0, m.dtype))


@lowers("diag")
def _diag(emitter: Emitter, v: Array, k: int = 0) -> Array:
    if len(v.shape) == 2:
        return emitter.view(v, lambda values: numpy.diagonal(values, k))
    length = v.shape[0] + abs(k)
    return emitter.assembly([v], (length, length), [lambda target: numpy.einsum("ii->i", _corner(target, k))], fill=0)


def _corner(matrix: numpy.ndarray, k: int) -> numpy.ndarray:
    """Return the square part of a square matrix whose main diagonal is its k-th."""
    size = len(matrix) - abs(k)
    return matrix[max(-k, 0) :, max(k, 0) :][:size, :size]


@lowers("diagflat")
def _diagflat(emitter: Emitter, v: Array, k: int = 0) -> Array:
    return _diag(emitter, emitter.reshape(v, (-1,)), k)


@lowers("diff")
def _diff(emitter: Emitter, a: Array, n: int = 1, axis: int = -1, **options: Any) -> Array:
    if options:
        raise NotLowered("differences with something before or after are not compiled")
    axis %= len(a.shape)
    ufunc = numpy.not_equal if a.dtype == bool else numpy.subtract
    for _ in range(n):
        parts = (emitter.view(a, slice_along(axis, *ends)) for ends in ((1, None), (0, max(a.shape[axis] - 1, 0))))
        a = apply(emitter, ufunc, *parts)
    return a


# -- with a part replaced ----------------------------------------------------------------------------------------------


def stored(emitter: Emitter, array: Array, value: Operand, place: Place) -> Array:
    """Return an array with a value, which broadcasts, in one part of it."""
    value = emitter.cast(value, array.dtype)
    fill = uniform_value(array)
    target = place(numpy.empty(array.shape, numpy.int8))
    extra = len(value.shape) - target.ndim
    if extra > 0:  # leading axes of one element
        value = emitter.reshape(value, value.shape[extra:])
    if fill is not None:
        return emitter.assembly([value], array.shape, [place], fill=fill)
    return emitter.assembly([array, value], array.shape, [lambda values: values, place])


@lowers(with_item)
def _with_item(emitter: Emitter, array: Array, index: Any, value: Operand) -> Array:
    parts = index if isinstance(index, tuple) else (index,)
    if has_arrays(index):
        return placed_by_arrays(emitter, array, index, value, False)
    key = (*parts, Ellipsis) if Ellipsis not in parts else parts
    return stored(emitter, array, value, lambda values: values[key])


@lowers(filled)
def _filled(emitter: Emitter, value: Operand, shape: Sequence[int], dtype: Any) -> Array:
    return emitter.broadcast(emitter.cast(value, dtype), shape)


@lowers(changed)
def _changed(emitter: Emitter, function: Any, target: Array, arguments: Any, keywords: dict[str, Any]) -> Array:
    options = dict(zip(("src", "casting", "where"), arguments, strict=False)) | keywords
    if function is numpy.copyto:
        mask = options.get("where", True)
        source = emitter.broadcast(emitter.cast(options["src"], target.dtype), target.shape)
        return source if mask is True else emitter.elementwise("where", emitter.cast(mask, bool), source, target)
    if function is numpy.fill_diagonal and len(target.shape) == 2 and len(arguments) == 1 and not keywords:
        (value,) = arguments
        if not isinstance(value, Array) or not value.shape:
            size = min(target.shape)
            return stored(emitter, target, value, lambda values: numpy.einsum("ii->i", values[:size, :size]))
    if function is numpy.putmask and len(arguments) == 2:
        mask, value = arguments
        if not isinstance(value, Array) or not value.shape:
            return emitter.elementwise("where", emitter.cast(mask, bool), emitter.cast(value, target.dtype), target)
    raise NotLowered(f"numpy.{function.__name__} is not compiled")
