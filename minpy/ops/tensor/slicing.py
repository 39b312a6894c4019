"""Contiguous parts of an array: `slice`, `slice_axis`, `slice_like`, and diagonals."""

from __future__ import annotations

from builtins import slice as Slice
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, ShapeError
from minpy.ops.axes import one_axis, several_axes
from minpy.ops.inference.partial_shapes import UNKNOWN
from minpy.ops.inference.rule_parts import derived, dtype_of, forwards, replace_length
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import index, unindex

__all__ = ["diag", "slice", "slice_axis", "slice_key", "slice_like", "slice_shape"]


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def slice_key(ndim: int, begin: Any, end: Any, step: Any) -> tuple[Slice, ...]:
    """Return the key of the part of an array between `begin` and `end`, along its first axes."""
    begin, end = _as_tuple(begin), _as_tuple(end)
    step = (() if step is None else _as_tuple(step)) or (None,) * len(begin)
    if not len(begin) == len(end) == len(step) <= ndim:
        raise ShapeError(
            f"slice: begin {begin}, end {end} and step {step} must have the same length, at most the number of axes, "
            f"{ndim}."
        )
    if 0 in step:
        raise ArgumentError(f"slice: step is {step}; a step cannot be 0.")
    return tuple(map(Slice, begin, end, step))


@operator(name="slice", aliases=("crop",), shape_only=(0,), category="shape")
def slice(
    data: np.ndarray, *, begin: tuple[int | None, ...], end: tuple[int | None, ...], step: tuple[int | None, ...] = ()
) -> np.ndarray:
    """Return the part of an array between `begin` and `end`, along its first axes.

    {data_parameter}
    begin, end : tuple of int or None
        The first position, and the one after the last, for each of the first axes; None is where the axis starts or
        ends, and negative positions count from its end.
    step : tuple of int or None
        1 if left out.

    {returns_array}

    {raises_shape_error}
        If there are more entries than axes, or not equally many.
    ArgumentError
        If a step is 0.

    {examples}
    >>> nd.slice(nd.array([[1, 2, 3], [4, 5, 6]]), begin=(0, 1), end=(2, 3)).asnumpy()
    array([[2., 3.],
           [5., 6.]], dtype=float32)
    """
    return data[slice_key(data.ndim, begin, end, step)]


@slice.def_grad()
def _slice_gradient(ans: Any, data: Any, *, begin: Any, end: Any, step: Any) -> Any:
    shape = np.shape(data)
    return lambda g: unindex(g, key=slice_key(len(shape), begin, end, step), shape=shape)


def slice_shape(data: Any, *, begin: Any, end: Any, step: Any = (), **_: Any) -> Any:
    """Return the shape of a part of an array whose shape is known, but for lengths."""
    key = slice_key(len(data), begin, end, step)
    cut = tuple(
        UNKNOWN if length == UNKNOWN else len(range(*part.indices(length)))
        for part, length in zip(key, data, strict=False)
    )
    return cut + data[len(key) :]


slice.def_infer_shape(forwards(slice_shape))


def _axis_key(data_shape: tuple[int, ...], axis: int, begin: int, end: int | None) -> tuple[Slice, ...]:
    axis = one_axis("slice_axis", axis, len(data_shape))
    length = data_shape[axis]
    first = begin + length if begin < 0 else begin
    last = length if end is None else end + length if end < 0 else end
    if not 0 <= first <= last <= length:
        raise ShapeError(
            f"slice_axis: begin={begin}, end={end} is no part of axis {axis} of data {data_shape}, which has length "
            f"{length}."
        )
    return (*(Slice(None),) * axis, Slice(first, last))


@operator(name="slice_axis", shape_only=(0,), category="shape")
def slice_axis(data: np.ndarray, *, axis: int, begin: int, end: int | None) -> np.ndarray:
    """Return the part of an array between two positions along one axis.

    {data_parameter}
    axis : int
    begin, end : int
        The first position, and the one after the last; negative ones count from the axis's end, which `end=None` means.

    {returns_array}

    {raises_shape_error}
        If there is no such axis, or a position lies beyond it.

    {examples}
    >>> nd.slice_axis(nd.array([[1, 2, 3], [4, 5, 6]]), axis=1, begin=-2, end=None).asnumpy()
    array([[2., 3.],
           [5., 6.]], dtype=float32)
    """
    return data[_axis_key(data.shape, axis, begin, end)]


@slice_axis.def_grad()
def _slice_axis_gradient(ans: Any, data: Any, *, axis: int, begin: int, end: int | None) -> Any:
    shape = np.shape(data)
    return lambda g: unindex(g, key=_axis_key(shape, axis, begin, end), shape=shape)


@slice_axis.def_infer_shape
@forwards
def _slice_axis_shape(data: Any, *, axis: int, begin: int, end: int | None, **_: Any) -> Any:
    axis = one_axis("slice_axis", axis, len(data))
    if data[axis] != UNKNOWN:
        part = _axis_key(data, axis, begin, end)[axis]
        return replace_length(data, axis, part.stop - part.start)
    last = 0 if end is None else end  # counted from the axis's end, as `begin` is if it is negative
    from_end = begin < 0, end is None or end < 0
    return replace_length(data, axis, last - begin if from_end[0] == from_end[1] else UNKNOWN)


def _like_key(shape: tuple[int, ...], like: tuple[int, ...], axes: Any) -> tuple[Slice, ...]:
    if axes in ((), None) and len(shape) != len(like):
        raise ShapeError(f"slice_like: data {shape} and shape_like {like} differ in their number of axes; give axes.")
    chosen = several_axes("slice_like", axes if axes not in ((), None) else range(len(shape)), len(shape))
    names = _as_tuple(axes) if axes not in ((), None) else chosen
    key = [Slice(None)] * len(shape)
    for axis, name in zip(chosen, names, strict=True):
        length = like[one_axis("slice_like", name, len(like))]
        if length > shape[axis]:
            raise ShapeError(
                f"slice_like: shape_like {like} is longer than data {shape} in axis {axis} "
                f"({length} against {shape[axis]})."
            )
        key[axis] = Slice(0, length)
    return tuple(key)


@operator(name="slice_like", zero=(1,), dtypes=dtype_of(0), shape_only=(0,))
def slice_like(data: np.ndarray, shape_like: np.ndarray, *, axes: tuple[int, ...] = ()) -> np.ndarray:
    """Return the beginning of an array, cut to the shape of another.

    {data_parameter}
    shape_like : NDArray
        Only its shape is read.
    axes : tuple of int
        The axes to cut; all if left out.

    {returns_array}

    {raises_shape_error}
        If `shape_like` is longer than the data.

    {examples}
    >>> nd.slice_like(nd.array([[1, 2, 3], [4, 5, 6]]), nd.zeros((1, 2))).asnumpy()
    array([[1., 2.]], dtype=float32)
    """
    return data[_like_key(data.shape, shape_like.shape, axes)]


@slice_like.def_grad()
def _slice_like_gradient(ans: Any, data: Any, shape_like: Any, *, axes: Any) -> Any:
    shape = np.shape(data)
    return lambda g: unindex(g, key=_like_key(shape, np.shape(shape_like), axes), shape=shape)


@slice_like.def_infer_shape
@forwards
def _slice_like_shape(data: Any, shape_like: Any, *, axes: Any = (), **_: Any) -> Any:
    if UNKNOWN not in data and UNKNOWN not in shape_like:
        key = _like_key(data, shape_like, axes)
        return tuple(len(range(*part.indices(length))) for part, length in zip(key, data, strict=True))
    numbers = _as_tuple(axes) if axes not in ((), None) else range(len(data))
    for axis in numbers:
        position = one_axis("slice_like", axis, len(data))
        data = replace_length(data, position, shape_like[one_axis("slice_like", axis, len(shape_like))])
    return data


# -- diagonals ---------------------------------------------------------------------------------------------------------


def _diagonal_key(shape: tuple[int, ...], k: int, axis1: int, axis2: int) -> tuple[Any, ...]:
    """Return the key that selects a diagonal from an array whose axes (axis1, axis2) were moved to the front."""
    length = min(shape[axis1] - max(-k, 0), shape[axis2] - max(k, 0))
    if length < 0:
        raise ShapeError(f"diag: data {shape} has no diagonal k={k} in axes {axis1} and {axis2}.")
    positions = np.arange(length)
    return positions + max(-k, 0), positions + max(k, 0)


@operator(name="diag", shape_only=(0,))
def diag(data: np.ndarray, *, k: int = 0, axis1: int = 0, axis2: int = 1) -> np.ndarray:
    """Return a diagonal of an array, or the matrix with a vector on a diagonal.

    {data_parameter}
        A vector, or with two axes or more.
    k : int
        0 for the main diagonal, positive above it, negative below.
    axis1, axis2 : int
        The axes of the matrices.

    {returns_array}
        For a vector of length n a square matrix of n + abs(k) rows. Else the other axes, then the diagonal.

    {raises_shape_error}
        If there is no such diagonal.

    {examples}
    >>> nd.diag(nd.array([[1, 2], [3, 4]])).asnumpy()
    array([1., 4.], dtype=float32)
    >>> nd.diag(nd.array([1, 2])).asnumpy()
    array([[1., 0.],
           [0., 2.]], dtype=float32)
    """
    if data.ndim == 1:
        return np.diag(data, k)
    axis1, axis2 = one_axis("diag", axis1, data.ndim), one_axis("diag", axis2, data.ndim)
    _diagonal_key(data.shape, k, axis1, axis2)
    return np.diagonal(data, k, axis1, axis2).copy()


@operator(name="_undiag", public=False)
def undiag(data: np.ndarray, *, shape: tuple[int, ...], k: int, axis1: int, axis2: int) -> np.ndarray:
    """Return zeros of a shape with `data` on a diagonal: the transpose of `diag`."""
    result = np.zeros(shape, data.dtype)
    np.moveaxis(result, (axis1, axis2), (0, 1))[_diagonal_key(shape, k, axis1, axis2)] = np.moveaxis(data, -1, 0)
    return result


@diag.def_grad()
def _diag_gradient(ans: Any, data: Any, *, k: int, axis1: int, axis2: int) -> Any:
    shape = np.shape(data)
    if len(shape) == 1:
        key = _diagonal_key((shape[0] + abs(k),) * 2, k, 0, 1)
        return lambda g: index(g, key=key)
    return lambda g: undiag(g, shape=shape, k=k, axis1=axis1 % len(shape), axis2=axis2 % len(shape))


undiag.def_grad(lambda ans, data, *, k, axis1, axis2: lambda g: diag(g, k=k, axis1=axis1, axis2=axis2))


@diag.def_infer_shape
@forwards
def _diag_shape(data: Any, *, k: int = 0, axis1: int = 0, axis2: int = 1, **_: Any) -> Any:
    if len(data) == 1:
        return (derived(lambda n: n + abs(k), *data),) * 2
    axis1, axis2 = one_axis("diag", axis1, len(data)), one_axis("diag", axis2, len(data))
    outer = tuple(length for axis, length in enumerate(data) if axis not in (axis1, axis2))
    if UNKNOWN in (data[axis1], data[axis2]):
        return (*outer, UNKNOWN)
    return (*outer, len(_diagonal_key(data, k, axis1, axis2)[0]))
