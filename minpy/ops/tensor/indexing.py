"""Reading and writing parts of an array: `x[key]` and `x[key] = value` on the tape, and operators that take parts.

Indices may be of any dtype, as in MXNet: fractions are cut off. They get no gradient.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from minpy.core.array import raw_of
from minpy.core.errors import ArgumentError, OutOfRangeError, ShapeError
from minpy.core.sums import sum_to
from minpy.ops.axes import one_axis
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import (
    by_default,
    dtype_attribute,
    dtype_of,
    forwards,
    replace_length,
    with_axes,
    without_axis,
)
from minpy.ops.kernels.scattering import add_rows
from minpy.ops.registry import operator

__all__ = [
    "assign",
    "batch_take",
    "checked_positions",
    "coordinates",
    "gather_nd",
    "in_range",
    "index",
    "is_basic",
    "one_hot",
    "overwrite",
    "pick",
    "put_along",
    "scatter_nd",
    "scatter_rows",
    "take",
    "take_along",
    "truncated",
    "unindex",
]


def is_basic(key: Any) -> bool:
    """Tell whether a key selects a view: integers, slices, None and Ellipsis only."""
    subscripts = key if type(key) is tuple else (key,)
    return all(
        part is None or part is Ellipsis or isinstance(part, (int, np.integer, slice)) for part in subscripts
    ) and not any(isinstance(part, (bool, np.bool_)) for part in subscripts)


@operator(name="_index", public=False, shape_only=(0, 0))
def index(data: np.ndarray, *, key: Any) -> np.ndarray:
    """Return `data[key]`, for any key that NumPy takes."""
    return data[key]


@operator(name="_unindex", public=False, grad=lambda ans, data, *, key: lambda g: index(g, key=key))
def unindex(data: np.ndarray, *, key: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return zeros of `shape` with `data` added at `key`: the transpose of `index`."""
    result = np.zeros(shape, data.dtype)
    if is_basic(key) or (isinstance(key, np.ndarray) and key.dtype == bool):
        result[key] = data
    else:
        np.add.at(result, key, data)
    return result


@unindex.def_kernel
def _unindex_kernel(data: Any, *, key: Any, shape: tuple[int, ...]) -> Any:
    is_integer_key = type(key) is tuple and all(type(part) is np.ndarray and part.dtype.kind in "iu" for part in key)
    if not is_integer_key or data.dtype.kind not in "fc" or 0 in shape:
        return unindex.definition(data, key=key, shape=shape)
    positions = np.broadcast_arrays(*key)
    lengths = shape[: len(key)]
    inside = tuple(np.where(part < 0, part + length, part) for part, length in zip(positions, lengths, strict=True))
    rows = np.ravel_multi_index(inside, lengths).reshape(-1)
    return add_rows(data.reshape(rows.size, math.prod(shape[len(key) :])), rows, math.prod(lengths)).reshape(shape)


@operator(name="_assign", public=False, shape_only=(1,))
def assign(data: np.ndarray, value: Any, *, key: Any) -> np.ndarray:
    """Return a copy of `data` in which `value`, broadcast, stands at `key`."""
    result = data.copy()
    result[key] = value
    return result


@operator(name="_overwrite", public=False, shape_only=(1,))
def overwrite(data: np.ndarray, value: Any, *, into: Any, of: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return a copy of `data` whose elements at the flat positions `into` are those at `of` of `value`, as `shape`."""
    result = data.copy()
    result.reshape(-1)[into] = np.broadcast_to(_without_leading(value, len(shape)), shape).reshape(-1)[of]
    return result


def _without_leading(value: Any, ndim: int) -> Any:
    """Return a value that is assigned to an array without its further axes of length 1 in front."""
    shape = np.shape(value)
    return np.reshape(value, shape[len(shape) - ndim :]) if len(shape) > ndim else value


def _undo_broadcast(part: Any, shape: tuple[int, ...]) -> Any:
    """Return the gradient of a value of a shape that was broadcast to `part`'s when it was assigned."""
    core = shape[max(len(shape) - part.ndim, 0) :]
    return np.reshape(sum_to(part, core), shape)


index.def_grad(lambda ans, data, *, key: lambda g: unindex(g, key=key, shape=np.shape(data)))
assign.def_grad(lambda ans, data, value, *, key: lambda g: assign(g, np.zeros((), g.dtype), key=key), 0)
assign.def_grad(lambda ans, data, value, *, key: lambda g: _undo_broadcast(index(g, key=key), np.shape(value)), 1)
overwrite.def_grad(
    lambda ans, data, value, *, into, of, shape: (
        lambda g: overwrite(g, np.zeros((), g.dtype), into=into, of=of, shape=shape)
    ),
    0,
)


@overwrite.def_grad(argnum=1)
def _overwriting_gradient(ans: Any, data: Any, value: Any, *, into: Any, of: Any, shape: tuple[int, ...]) -> Any:
    def gradient(g: Any) -> Any:
        part = index(np.reshape(g, (math.prod(np.shape(g)),)), key=into)
        whole = unindex(part, key=of, shape=(math.prod(shape),))
        return _undo_broadcast(np.reshape(whole, shape), np.shape(value))

    return gradient


# -- taking along an axis ----------------------------------------------------------------------------------------------


def truncated(indices: Any) -> Any:
    """Return an array of indices of any dtype as integers, fractions cut off."""
    with np.errstate(invalid="ignore"):  # NaN and infinity become numbers that are out of range
        return indices.astype(np.intp, copy=False)


def in_range(name: str, indices: np.ndarray, length: int, mode: str) -> np.ndarray:
    """Return integer indices with those out of range clipped, wrapped around, or refused."""
    if mode == "clip":
        return np.clip(indices, 0, length - 1)
    if mode == "wrap":
        return np.mod(indices, length)
    if mode != "raise":
        raise ArgumentError(f"{name}: unknown mode {mode!r}; expected 'clip', 'wrap' or 'raise'.")
    if indices.size and (indices.min() < -length or indices.max() >= length):
        worst = indices.max() if indices.max() >= length else indices.min()
        raise OutOfRangeError(f"{name}: index {worst} is out of range for an axis of length {length}.")
    return np.mod(indices, length)


_PICK_TEXTS = (
    "pick: index",
    "0 <= index < {}, with mode='raise'; in a cross-entropy these are labels, numbers of classes.",
)


def checked_positions(
    index: np.ndarray, length: int, subject: str = _PICK_TEXTS[0], expected: str = _PICK_TEXTS[1]
) -> np.ndarray:
    """Return indices of any dtype as integers, fractions cut off; a negative one, too, is an error."""
    positions = truncated(index)
    if positions.size and positions.view(np.uintp).max() >= length:  # as unsigned, negative ones are large
        place = np.unravel_index(int(np.argmax((positions < 0) | (positions >= length))), positions.shape)
        where = f"[{', '.join(map(str, place))}]" if place else ""
        raise OutOfRangeError(f"{subject}{where} is {index[place]}; expected {expected.format(length)}")
    return positions


@operator(name="take", zero=(1,), dtypes=dtype_of(0), shape_only=(0,))
def take(
    a: np.ndarray, indices: np.ndarray, *, axis: int = 0, mode: Literal["clip", "raise", "wrap"] = "clip"
) -> np.ndarray:
    """Return the slices of an array that `indices` number.

    Parameters
    ----------
    a : NDArray
    indices : NDArray
        Of any shape and dtype.
    axis : int
        The axis that they count along.
    mode : {'clip', 'wrap', 'raise'}
        What becomes of numbers out of range: the nearest in range, the remainder, or an error.

    {returns_array}
        The shape of `a` with the axis replaced by the shape of `indices`.

    {raises_shape_error}
        If there is no such axis.
    ArgumentError
        For another mode.
    OutOfRangeError
        For an index out of range with 'raise'.

    {examples}
    >>> nd.take(nd.array([[1, 2], [3, 4], [5, 6]]), nd.array([2, 0])).asnumpy()
    array([[5., 6.],
           [1., 2.]], dtype=float32)
    """
    axis = one_axis("take", axis, a.ndim)
    return a.take(in_range("take", truncated(indices), a.shape[axis], mode), axis=axis)


@take.def_grad()
def _take_gradient(ans: Any, a: Any, indices: Any, *, axis: int, mode: str) -> Any:
    shape = np.shape(a)
    axis %= len(shape)
    before, length, after = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    rows = np.reshape(indices, (math.prod(np.shape(indices)),))

    def gradient(g: Any) -> Any:
        split = np.reshape(g, (before, rows.shape[0], after))
        columns = np.reshape(np.transpose(split, (1, 0, 2)), (rows.shape[0], before * after))
        summed = np.reshape(scatter_rows(columns, rows, count=length, mode=mode), (length, before, after))
        return np.reshape(np.transpose(summed, (1, 0, 2)), shape)

    return gradient


@take.def_infer_shape
@forwards
def _take_shape(a: Any, indices: Any, *, axis: int = 0, **_: Any) -> Any:
    return replace_length(a, one_axis("take", axis, len(a)), *indices)


@operator(name="_scatter_rows", public=False, zero=(1,))
def scatter_rows(data: np.ndarray, rows: np.ndarray, *, count: int, mode: str = "clip") -> np.ndarray:
    """Return `count` rows, each the sum of the rows of `data` with its number: the transpose of taking rows."""
    return add_rows(data, in_range("take", truncated(rows), count, mode), count)


scatter_rows.def_grad(lambda ans, data, rows, *, mode: lambda g: take(g, rows, mode=mode), 0)


@operator(name="_take_along", public=False, zero=(1,))
def take_along(data: np.ndarray, indices: np.ndarray, *, axis: int) -> np.ndarray:
    """Return `numpy.take_along_axis`."""
    return np.take_along_axis(data, indices, axis)


@operator(name="_put_along", public=False, zero=(1,))
def put_along(data: np.ndarray, indices: np.ndarray, *, axis: int, length: int) -> np.ndarray:
    """Return zeros with `data` put at indices that differ, along an axis of a length: the transpose of `take_along`."""
    shape = list(data.shape)
    shape[axis] = length
    result = np.zeros(shape, data.dtype)
    np.put_along_axis(result, indices, data, axis)
    return result


take_along.def_grad(
    lambda ans, data, indices, *, axis: lambda g: put_along(g, indices, axis=axis, length=np.shape(data)[axis]), 0
)
put_along.def_grad(lambda ans, data, indices, *, axis: lambda g: take_along(g, indices, axis=axis), 0)


@operator(name="pick", aliases=("choose_element_0index",), zero=(1,), dtypes=dtype_of(0), shape_only=(0,))
def pick(
    data: np.ndarray,
    index: np.ndarray,
    *,
    axis: int = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap", "raise"] = "clip",
) -> np.ndarray:
    """Return one element from each row along an axis: the one that `index` numbers.

    {data_parameter}
    index : NDArray
        Of the data's shape without the axis, or with the axis of length 1; of any dtype. For data of one axis (1,).
    axis : int
    keepdims : bool
        Whether the result keeps the axis, with length 1.
    mode : {'clip', 'wrap', 'raise'}
        What becomes of numbers out of range: the nearest in range, the remainder, or an error. (Files of graphs say
        'clip' for 'raise', which MXNet does not have.)

    {returns_array}
        Of the data's shape without the axis; of shape (1,) if it has no other.

    {raises_shape_error}
        If the shapes do not fit, or there is no such axis.
    OutOfRangeError
        For a number out of range, also a negative one, with 'raise'.

    {examples}
    >>> nd.pick(nd.array([[1, 2], [3, 4]]), nd.array([0, 1])).asnumpy()
    array([1., 4.], dtype=float32)
    """
    axis = one_axis("pick", axis, data.ndim)
    picked = np.take_along_axis(data, _positions(data.shape, index, axis, mode), axis)
    return picked if keepdims or picked.ndim == 1 else picked.squeeze(axis)


def _positions(shape: tuple[int, ...], index: np.ndarray, axis: int, mode: str) -> np.ndarray:
    """Return what `pick` picks as integers in range, with the axis of length 1."""
    expected = (*shape[:axis], 1, *shape[axis + 1 :])
    if index.shape != expected and index.shape != shape[:axis] + shape[axis + 1 :]:
        raise ShapeError(
            f"pick: index has shape {index.shape}; expected {shape[:axis] + shape[axis + 1 :]}, the shape of data "
            f"{shape} without axis {axis}."
        )
    if mode == "raise":
        return checked_positions(index, shape[axis]).reshape(expected)
    return in_range("pick", truncated(index), shape[axis], mode).reshape(expected)


@pick.def_grad()
def _pick_gradient(ans: Any, data: Any, index: Any, *, axis: int, mode: str) -> Any:
    shape = np.shape(data)
    axis %= len(shape)
    positions = _positions(shape, raw_of(index), axis, "clip" if mode == "raise" else mode)  # forward has looked
    return lambda g: put_along(np.reshape(g, positions.shape), positions, axis=axis, length=shape[axis])


pick.saved_attributes = lambda saved: saved | {"mode": "clip"} if saved.get("mode") == "raise" else saved


@pick.def_infer_shape
def _pick_shapes(inputs: Any, outputs: Any, *, axis: int, keepdims: bool) -> Any:
    data, index = inputs
    if data is None:
        return inputs, outputs
    axis = one_axis("pick", axis, len(data))
    outer = without_axis(data, axis) or (1,)
    return [data, by_default(index, outer)], [replace_length(data, axis, 1) if keepdims else outer]


@operator(name="batch_take", zero=(1,), dtypes=dtype_of(0), shape_only=(0,))
def batch_take(a: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return one element from each row of a matrix.

    Parameters
    ----------
    a : NDArray
        Of shape (batch, n).
    indices : NDArray
        Of shape (batch,); numbers out of range are clipped.

    {returns_array}
        Of shape (batch,).

    {raises_unless_shapes_fit}

    {examples}
    >>> nd.batch_take(nd.array([[1, 2], [3, 4]]), nd.array([0, 1], dtype='int32')).asnumpy()
    array([1., 4.], dtype=float32)
    """
    if a.ndim != 2 or indices.shape != a.shape[:1]:
        raise ShapeError(f"batch_take: a {a.shape} and indices {indices.shape}; expected (batch, n) and (batch,).")
    return a[np.arange(len(a)), in_range("batch_take", truncated(indices), a.shape[1], "clip")]


batch_take.def_grad(lambda ans, a, indices: _pick_gradient(ans, a, indices, axis=1, mode="clip"), 0)


@batch_take.def_infer_shape
def _batch_take_shapes(inputs: Any, outputs: Any) -> Any:
    rows = merge_shapes(merge_shapes(with_axes(inputs[1], 1), outputs[0]), with_axes(inputs[0], 2)[:1]) or ()
    return [(*rows, UNKNOWN), rows], [rows]


@operator(name="one_hot", zero="all", dtypes=dtype_attribute("float32"))
def one_hot(
    indices: np.ndarray, *, depth: int, on_value: float = 1.0, off_value: float = 0.0, dtype: str = "float32"
) -> np.ndarray:
    """Return a row for each index, with `on_value` at its position and `off_value` elsewhere.

    Parameters
    ----------
    indices : NDArray
        Of any shape and dtype; an index out of range gives a row of `off_value`.
    depth : int
        Length of the rows.
    on_value, off_value : float
    dtype : str
        Of the result.

    {returns_array}
        Of shape indices.shape + (depth,).

    {examples}
    >>> nd.one_hot(nd.array([1, 0]), depth=3).asnumpy()
    array([[0., 1., 0.],
           [1., 0., 0.]], dtype=float32)
    """
    hot = np.expand_dims(truncated(indices), -1) == np.arange(depth)
    if on_value == 1 and off_value == 0:
        return hot.astype(dtype)
    on, off = _wrapped((on_value, off_value), dtype)
    return np.where(hot, on, off)


def _wrapped(values: Any, dtype: Any) -> np.ndarray:
    """Return floats in a dtype; in one of integers fractions are cut off, and -1 is 255 in uint8."""
    floats = np.array(values, np.float64)
    return floats.astype(np.int64).astype(dtype) if np.dtype(dtype).kind in "iu" else floats.astype(dtype)


@one_hot.def_kernel
def _one_hot_kernel(indices: Any, *, depth: int, on_value: float, off_value: float, dtype: str) -> Any:
    rows = truncated(indices).reshape(-1)
    on, off = _wrapped((on_value, off_value), dtype)
    result = np.full((rows.size, depth), off) if off_value else np.zeros((rows.size, depth), dtype)
    in_range = np.flatnonzero((rows >= 0) & (rows < depth))
    result[in_range, rows[in_range]] = on
    return result.reshape(*indices.shape, depth)


@one_hot.def_infer_shape
def _one_hot_shapes(inputs: Any, outputs: Any, *, depth: int) -> Any:
    indices = merge_shapes(inputs[0], outputs[0] and outputs[0][:-1])
    return [indices], [None if indices is None else (*indices, depth)]


# -- by coordinates ----------------------------------------------------------------------------------------------------


def _require_coordinates(name: str, indices: tuple[int, ...], shape: tuple[int, ...]) -> None:
    if not indices or indices[0] > len(shape):
        raise ShapeError(
            f"{name}: indices has shape {indices}; expected (m, ...) with m <= {len(shape)}, one row "
            f"for each axis of {shape} that is indexed."
        )


def coordinates(name: str, indices: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Return the key that an array of coordinates, one axis of `shape` a row, stands for."""
    _require_coordinates(name, indices.shape, shape)
    key = tuple(truncated(indices))
    for axis, row in enumerate(key):
        if row.size and (row.min() < -shape[axis] or row.max() >= shape[axis]):
            worst = row.max() if row.max() >= shape[axis] else row.min()
            raise OutOfRangeError(f"{name}: index {worst} is out of range for axis {axis} of length {shape[axis]}.")
    return key


@operator(name="gather_nd", zero=(1,), dtypes=dtype_of(0), shape_only=(0,))
def gather_nd(data: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the elements, or slices, of an array at given coordinates.

    {data_parameter}
    indices : NDArray
        Of shape (m, ...): row i holds the positions along axis i, for the first m axes; negative ones count from the
        end.

    {returns_array}
        Of shape indices.shape[1:] + data.shape[m:].

    {raises_shape_error}
        If there are more rows than axes.
    OutOfRangeError
        If a position is out of range.

    {examples}
    >>> nd.gather_nd(nd.array([[1, 2], [3, 4]]), nd.array([[0, 1], [1, 0]])).asnumpy()
    array([2., 3.], dtype=float32)
    """
    return data[coordinates("gather_nd", indices, data.shape)]


@gather_nd.def_grad()
def _gather_nd_gradient(ans: Any, data: Any, indices: Any) -> Any:
    shape = np.shape(data)
    key = coordinates("gather_nd", raw_of(indices), shape)
    return lambda g: unindex(g, key=key, shape=shape)


@gather_nd.def_infer_shape
@forwards
def _gather_nd_shape(data: Any, indices: Any, **_: Any) -> Any:
    _require_coordinates("gather_nd", indices, data)
    return None if indices[0] == UNKNOWN else indices[1:] + data[indices[0] :]


@operator(
    name="scatter_nd", zero=(1,), dtypes=dtype_of(0), grad=lambda ans, data, indices: lambda g: gather_nd(g, indices)
)
def scatter_nd(data: np.ndarray, indices: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    """Return zeros with values put at given coordinates; where some coincide, one of them stays.

    {data_parameter}
        The values, of shape indices.shape[1:] + shape[m:].
    indices : NDArray
        Of shape (m, ...): row i holds the positions along axis i, for the first m axes.
    shape : tuple of int
        Of the result.

    {returns_array}

    {raises_unless_shapes_fit}
    OutOfRangeError
        If a position is out of range.

    {examples}
    >>> nd.scatter_nd(nd.array([5, 6]), nd.array([[0, 1], [1, 0]]), shape=(2, 2)).asnumpy()
    array([[0., 5.],
           [6., 0.]], dtype=float32)
    """
    key = coordinates("scatter_nd", indices, shape)
    expected = indices.shape[1:] + tuple(shape[len(key) :])
    if data.shape != expected:
        raise ShapeError(f"scatter_nd: data has shape {data.shape}; expected {expected} for indices {indices.shape}.")
    result = np.zeros(shape, data.dtype)
    result[key] = data
    return result


@scatter_nd.def_infer_shape
def _scatter_nd_shapes(inputs: Any, outputs: Any, *, shape: Any) -> Any:
    data, indices = inputs
    if indices is not None:
        _require_coordinates("scatter_nd", indices, shape)
    if indices is not None and indices[0] != UNKNOWN:
        data = merge_shapes(data, indices[1:] + tuple(shape[indices[0] :]))
    return [data, indices], [tuple(shape)]
