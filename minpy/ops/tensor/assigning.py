"""Copies of an array with other values in some places: what in-place assignments mean in a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.array import raw_of
from minpy.core.errors import ShapeError
from minpy.core.sums import sum_over
from minpy.ops.inference.partial_shapes import merge_shapes, same_shape
from minpy.ops.inference.rule_parts import dtype_of, with_followers
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import assign, coordinates, index, truncated
from minpy.ops.tensor.slicing import slice_key, slice_shape

__all__ = ["fill_element_0index", "scatter_set_nd", "slice_assign", "slice_assign_scalar"]


@operator(name="_slice_assign", aliases=("_crop_assign",), dtypes=with_followers, shape_only=(1,))
def slice_assign(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    begin: tuple[int | None, ...],
    end: tuple[int | None, ...],
    step: tuple[int | None, ...] = (),
) -> np.ndarray:
    """Return a copy of an array in which the part between `begin` and `end` is another array.

    Parameters
    ----------
    lhs : NDArray
    rhs : NDArray
        Of the shape of that part.
    begin, end, step : tuple of int or None
        As for `slice`.

    {returns_array}
        Of the shape and dtype of `lhs`; with `out=lhs`, `lhs` is changed.

    {raises_unless_shapes_fit}

    {examples}
    >>> nd._internal._slice_assign(nd.array([1, 2, 3]), nd.array([7, 8]), begin=(1,), end=(3,)).asnumpy()
    array([1., 7., 8.], dtype=float32)
    """
    key = slice_key(lhs.ndim, begin, end, step)
    expected = slice_shape(lhs.shape, begin=begin, end=end, step=step)
    if rhs.shape != expected:
        raise ShapeError(
            f"_slice_assign: rhs has shape {rhs.shape}; expected {expected}, the part of lhs {lhs.shape} from "
            f"begin={begin} to end={end}."
        )
    return assign.definition(lhs, rhs.astype(lhs.dtype, copy=False), key=key)


@slice_assign.def_grad(argnum=0)
def _slice_assign_lhs_gradient(ans: Any, lhs: Any, rhs: Any, *, begin: Any, end: Any, step: Any) -> Any:
    key = slice_key(np.ndim(lhs), begin, end, step)
    return lambda g: assign(g, np.zeros((), g.dtype), key=key)


@slice_assign.def_grad(argnum=1)
def _slice_assign_rhs_gradient(ans: Any, lhs: Any, rhs: Any, *, begin: Any, end: Any, step: Any) -> Any:
    key = slice_key(np.ndim(lhs), begin, end, step)
    return lambda g: index(g, key=key)


@slice_assign.def_infer_shape
def _slice_assign_shapes(inputs: Any, outputs: Any, *, begin: Any, end: Any, step: Any) -> Any:
    data_shape = merge_shapes(inputs[0], outputs[0])
    part = (
        inputs[1]
        if data_shape is None
        else merge_shapes(inputs[1], slice_shape(data_shape, begin=begin, end=end, step=step))
    )
    return [data_shape, part], [data_shape]


@operator(name="_slice_assign_scalar", aliases=("_crop_assign_scalar",), shapes=same_shape, dtypes=dtype_of(0))
def slice_assign_scalar(
    data: np.ndarray,
    *,
    scalar: float = 0.0,
    begin: tuple[int | None, ...],
    end: tuple[int | None, ...],
    step: tuple[int | None, ...] = (),
) -> np.ndarray:
    """Return a copy of an array in which all elements between `begin` and `end` are a number.

    {data_parameter}
    scalar : float
    begin, end, step : tuple of int or None
        As for `slice`.

    {returns_array}
        Of the shape and dtype of `data`; with `out=data`, `data` is changed.

    {raises_shape_error}
        If there are more entries than axes, or not equally many.

    {examples}
    >>> nd._internal._slice_assign_scalar(nd.array([1, 2, 3]), scalar=7, begin=(1,), end=(3,)).asnumpy()
    array([1., 7., 7.], dtype=float32)
    """
    return assign.definition(data, scalar, key=slice_key(data.ndim, begin, end, step))


@slice_assign_scalar.def_grad()
def _slice_assign_scalar_gradient(ans: Any, data: Any, *, begin: Any, end: Any, step: Any) -> Any:
    key = slice_key(np.ndim(data), begin, end, step)
    return lambda g: assign(g, np.zeros((), g.dtype), key=key)


@operator(name="_scatter_set_nd", zero=(2,), dtypes=with_followers, shape_only=(1,))
def scatter_set_nd(lhs: np.ndarray, rhs: np.ndarray, indices: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    """Return a copy of an array with values at given positions.

    Parameters
    ----------
    lhs : NDArray
    rhs : NDArray
        The values, of shape (count, ..., rest of the shape of `lhs`).
    indices : NDArray
        Of shape (axes, count, ...): the positions along the first axes. Where a position stands twice, the last one
        counts.
    shape : tuple of int
        The shape of `lhs`.

    {returns_array}
        Of the shape and dtype of `lhs`; with `out=lhs`, `lhs` is changed.

    {raises_unless_shapes_fit}
    OutOfRangeError
        If a position is out of range.

    {examples}
    >>> x, positions = nd.array([1, 2, 3]), nd.array([[2, 0]])
    >>> nd._internal._scatter_set_nd(x, nd.array([7, 8]), positions, shape=(3,)).asnumpy()
    array([8., 2., 7.], dtype=float32)
    """
    key = _key_of_positions(lhs, rhs, indices, shape)
    return assign.definition(lhs, rhs.astype(lhs.dtype, copy=False), key=key)


def _key_of_positions(lhs: Any, rhs: Any, indices: Any, shape: Any) -> Any:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if np.shape(lhs) != shape:
        raise ShapeError(f"_scatter_set_nd: lhs has shape {np.shape(lhs)}; expected {shape}, which is `shape`.")
    count = np.shape(indices)
    if not 1 <= count[0] <= len(shape) or np.shape(rhs) != (*count[1:], *shape[count[0] :]):
        raise ShapeError(
            f"_scatter_set_nd: rhs has shape {np.shape(rhs)}, indices {count}; expected (axes, count, ...) and (count, "
            f"..., rest of {shape}), with 1 to {len(shape)} axes."
        )
    return coordinates("_scatter_set_nd", raw_of(indices), shape)


@scatter_set_nd.def_grad(argnum=0)
def _scatter_set_lhs_gradient(ans: Any, lhs: Any, rhs: Any, indices: Any, *, shape: Any) -> Any:
    key = _key_of_positions(lhs, rhs, indices, shape)
    return lambda g: assign(g, np.zeros((), g.dtype), key=key)


@scatter_set_nd.def_grad(argnum=1)
def _scatter_set_rhs_gradient(ans: Any, lhs: Any, rhs: Any, indices: Any, *, shape: Any) -> Any:
    key = _key_of_positions(lhs, rhs, indices, shape)
    # Of values for one position only the last is seen.
    numbers = np.arange(int(np.prod(np.shape(indices)[1:]))).reshape(np.shape(indices)[1:])
    last_writer = np.zeros(np.shape(lhs)[: np.shape(indices)[0]], numbers.dtype)
    last_writer[key] = numbers
    is_seen = (last_writer[key] == numbers).reshape(np.shape(numbers) + (1,) * (np.ndim(rhs) - np.ndim(numbers)))
    return lambda g: index(g, key=key) * is_seen


@scatter_set_nd.def_infer_shape
def _scatter_set_shapes(inputs: Any, outputs: Any, *, shape: Any) -> Any:
    data_shape = merge_shapes(merge_shapes(inputs[0], outputs[0]), (shape,) if isinstance(shape, int) else tuple(shape))
    rhs, indices = inputs[1:]
    if indices is not None and data_shape is not None and indices[0] > 0:
        rhs = merge_shapes(rhs, (*indices[1:], *data_shape[indices[0] :]))
    return [data_shape, rhs, indices], [data_shape]


@operator(name="fill_element_0index", zero=(2,), dtypes=with_followers)
def fill_element_0index(lhs: np.ndarray, mhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Return a copy of a matrix with one element of each row replaced.

    Parameters
    ----------
    lhs : NDArray
        Of shape (rows, columns).
    mhs : NDArray
        The new elements, of shape (rows,).
    rhs : NDArray
        Their columns, of shape (rows,); a row whose column is out of range stays as it is.

    {returns_array}
        Of the shape and dtype of `lhs`.

    {raises_unless_shapes_fit}

    {examples}
    >>> nd.fill_element_0index(nd.zeros((2, 3)), nd.array([7, 8]), nd.array([2, 0])).asnumpy()
    array([[0., 0., 7.],
           [8., 0., 0.]], dtype=float32)
    """
    if lhs.ndim != 2 or mhs.shape != lhs.shape[:1] or rhs.shape != lhs.shape[:1]:
        raise ShapeError(
            f"fill_element_0index: lhs has shape {lhs.shape}, mhs {mhs.shape}, rhs {rhs.shape}; expected (rows, "
            "columns), (rows,) and (rows,)."
        )
    return np.where(_is_replaced(lhs, rhs), np.expand_dims(mhs, 1), lhs).astype(lhs.dtype, copy=False)


def _is_replaced(lhs: Any, rhs: Any) -> Any:
    """Return which elements of a matrix are replaced."""
    return np.equal(np.arange(np.shape(lhs)[1]), np.expand_dims(truncated(rhs), 1))


fill_element_0index.def_grad(lambda ans, lhs, mhs, rhs: lambda g: g * ~_is_replaced(lhs, raw_of(rhs)), argnum=0)
fill_element_0index.def_grad(
    lambda ans, lhs, mhs, rhs: lambda g: sum_over(g * _is_replaced(lhs, raw_of(rhs)), axis=1), argnum=1
)


@fill_element_0index.def_infer_shape
def _fill_shapes(inputs: Any, outputs: Any) -> Any:
    [data_shape], _ = same_shape([merge_shapes(inputs[0], outputs[0])], [])
    vector = merge_shapes(inputs[1], inputs[2])
    if data_shape is not None:
        vector = merge_shapes(vector, data_shape[:1])
    return [data_shape, vector, vector], [data_shape]


for _operator in (slice_assign, slice_assign_scalar, scatter_set_nd, fill_element_0index):
    _operator.keep_shape_only(0)
    _operator.may_alias = False
