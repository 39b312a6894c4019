"""NumPy's functions that change their first argument, recorded: each is a write `x[key] = value`, as users write it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from minpy.core.array import raw_of
from minpy.numpy_table.table import row_of

__all__ = ["WRITERS", "target_of", "write"]


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    source, target = numpy.result_type(raw_of(src)), raw_of(dst).dtype
    if hasattr(src, "dtype") and not numpy.can_cast(source, target, casting):  # type: ignore[arg-type]
        raise TypeError(f"Cannot cast array data from {source!r} to {target!r} according to the rule {casting!r}")
    if where is True:
        dst[...] = src
    else:
        mask = numpy.broadcast_to(raw_of(where), dst.shape)
        dst[mask] = _as_np(numpy.broadcast_to(_as_np(src), dst.shape))[mask]


def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    positions = numpy.asarray(raw_of(ind)).reshape(-1)
    if mode == "raise":
        if ((positions < -a.size) | (positions >= a.size)).any():
            raise IndexError(f"numpy.put: an index is out of range for an array of {a.size} elements.")
        positions = numpy.where(positions < 0, positions + a.size, positions)
    else:
        positions = positions % a.size if mode == "wrap" else numpy.clip(positions, 0, a.size - 1)
    if positions.size:
        _store_flat(a, positions, v)


def _place(arr: Any, mask: Any, vals: Any) -> None:
    chosen = numpy.flatnonzero(numpy.asarray(raw_of(mask)).reshape(arr.shape))
    if chosen.size:
        if not numpy.size(raw_of(vals)):
            raise ValueError("Cannot insert from an empty array!")
        _store_flat(arr, chosen, vals)


def _putmask(a: Any, mask: Any, values: Any) -> None:
    chosen = numpy.flatnonzero(numpy.broadcast_to(raw_of(mask), a.shape))
    if chosen.size:
        repeated: Any = numpy.resize(_as_np(values), a.shape)
        a[numpy.unravel_index(chosen, a.shape)] = numpy.ravel(repeated)[chosen]


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    marks = numpy.zeros(a.shape, bool)
    numpy.fill_diagonal(marks, True, wrap)  # with the errors that it has for shapes
    _store_flat(a, numpy.flatnonzero(marks), val)


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    indices = numpy.asarray(raw_of(indices))
    if axis is None:
        _put(arr, indices, numpy.broadcast_to(_as_np(values), indices.shape))
        return
    axis = axis % arr.ndim
    key = list(numpy.ogrid[tuple(slice(length) for length in arr.shape)])
    key[axis] = indices
    arr[tuple(key)] = values


def _store_flat(array: Any, positions: numpy.ndarray, values: Any) -> None:
    """Write values, repeated as often as it takes, to the elements at flat positions."""
    repeated: Any = values if not numpy.ndim(raw_of(values)) else numpy.resize(_as_np(values), positions.shape)
    array[numpy.unravel_index(positions, array.shape)] = repeated


def _as_np(value: Any) -> Any:
    return value.as_np_ndarray() if hasattr(value, "as_np_ndarray") else numpy.asarray(value)


# By function of NumPy: how it is written here.
WRITERS: dict[Any, Callable[..., None]] = {
    numpy.copyto: _copyto,
    numpy.fill_diagonal: _fill_diagonal,
    numpy.place: _place,
    numpy.put: _put,
    numpy.put_along_axis: _put_along_axis,
    numpy.putmask: _putmask,
}


def target_of(function: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Return the array that a call changes."""
    if arguments:
        return arguments[0]
    row = row_of(function)
    assert row is not None, function
    return keywords[row.writes]


def write(function: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Make a call that changes an array of ours, as a recorded write."""
    WRITERS[function](*arguments, **keywords)
