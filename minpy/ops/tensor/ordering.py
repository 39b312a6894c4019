"""Operators along an axis that depend on order: sort, argsort, topk, cumsum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from minpy.core.array import raw_of
from minpy.core.errors import ArgumentError, ShapeError
from minpy.ops.axes import one_axis
from minpy.ops.dtype_attributes import dtype_or
from minpy.ops.inference.partial_shapes import UNKNOWN, as_dtype, same_dtype, same_shape
from minpy.ops.inference.rule_parts import booleans_give, dtype_attribute, forwards, numbered, product, replace_length
from minpy.ops.kernels.sort_and_top_k import largest_positions, positions_in_order
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import index, put_along

__all__ = ["argsort", "cumsum", "sort", "topk"]


# MXNet numbers the outputs of operators that return elements, also a single one.
_TOPK_OUTPUTS: dict[Any, Sequence[str]] = {"value": numbered(1), "both": numbered(2)}


def _order(data: np.ndarray, axis: int, ascending: bool) -> np.ndarray:
    """Return the positions of the elements in order; equal ones stay in the order in which they come."""
    if ascending:
        return _argsort(data, axis)
    return data.shape[axis] - 1 - np.flip(_argsort(np.flip(data, axis), axis), axis)


def _argsort(data: np.ndarray, axis: int) -> np.ndarray:
    if axis == data.ndim - 1:
        return positions_in_order(data)
    return np.moveaxis(positions_in_order(np.moveaxis(data, axis, -1)), -1, axis)


def _raw_and_axis(name: str, data: Any, axis: int | None) -> tuple[np.ndarray, int]:
    """Return (the raw data, flat if `axis` is None; the axis counted from the left)."""
    raw = raw_of(data)
    if axis is None:
        return raw.reshape(-1), 0
    return raw, one_axis(name, axis, raw.ndim)


@operator(name="sort", outputs=numbered(1), saved_outputs=lambda attributes: 2)
def sort(data: np.ndarray, *, axis: int | None = -1, is_ascend: bool = True) -> np.ndarray:
    """Return the elements in order.

    {data_parameter}
    axis : int, optional
        Along which; None sorts all elements, flattened.
    is_ascend : bool
        Whether the smallest comes first.

    {returns_like_data}

    {raises_shape_error}
        If there is no such axis.

    {examples}
    >>> nd.sort(nd.array([3, 1, 2]), is_ascend=False).asnumpy()
    array([3., 2., 1.], dtype=float32)
    """
    data, axis = _raw_and_axis("sort", data, axis)
    return np.take_along_axis(data, _order(data, axis, is_ascend), axis)


@sort.def_kernel
def _sort_kernel(data: Any, *, axis: int | None, is_ascend: bool) -> Any:
    raw, along = _raw_and_axis("sort", data, axis)
    result = np.sort(raw, axis=along)
    return result if is_ascend else np.flip(result, along).copy()


@sort.def_grad()
def _sort_gradient(ans: Any, data: Any, *, axis: int | None, is_ascend: bool) -> Any:
    raw, along = _raw_and_axis("sort", data, axis)
    order = _order(raw, along, is_ascend)
    return lambda g: np.reshape(put_along(g, order, axis=along, length=raw.shape[along]), np.shape(data))


@operator(name="argsort", zero="all", dtypes=dtype_attribute("float32"))
def argsort(data: np.ndarray, *, axis: int | None = -1, is_ascend: bool = True, dtype: str = "float32") -> np.ndarray:
    """Return the positions of the elements in order; equal elements stay in the order in which they come.

    {data_parameter}
    axis : int, optional
        Along which; None orders all elements, flattened.
    is_ascend : bool
        Whether the smallest comes first.
    dtype : str
        Of the result.

    {returns_like_data}

    {raises_shape_error}
        If there is no such axis.

    {examples}
    >>> nd.argsort(nd.array([3, 1, 2])).asnumpy()
    array([1., 2., 0.], dtype=float32)
    """
    data, axis = _raw_and_axis("argsort", data, axis)
    return _order(data, axis, is_ascend).astype(dtype)


@operator(name="topk", outputs=lambda attributes: _TOPK_OUTPUTS.get(attributes.get("ret_typ"), ("output",)))
def topk(
    data: np.ndarray,
    *,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: Literal["indices", "both", "mask", "value"] = "indices",
    is_ascend: bool = False,
    dtype: str = "float32",
) -> Any:
    """Return the k largest elements in order, their positions, or both.

    {data_parameter}
    axis : int, optional
        Along which; None takes all elements, flattened.
    k : int
        How many; 0 for all.
    ret_typ : {'indices', 'value', 'both', 'mask'}
        Positions; elements; elements and positions; or 1 where an element is among them and 0 elsewhere.
    is_ascend : bool
        Whether the smallest are taken, smallest first.
    dtype : str
        Of the positions.

    Returns
    -------
    NDArray, or two of them
        With length k along the axis; a mask has the data's shape.

    {raises_shape_error}
        If there is no such axis.
    ArgumentError
        If k is larger than the axis, or for another `ret_typ`.

    {examples}
    >>> nd.topk(nd.array([3, 1, 2]), k=2).asnumpy()
    array([0., 2.], dtype=float32)
    >>> nd.topk(nd.array([3, 1, 2]), k=2, ret_typ='mask').asnumpy()
    array([1., 0., 1.], dtype=float32)
    """
    if ret_typ not in ("indices", "value", "both", "mask"):
        raise ArgumentError(f"topk: unknown ret_typ {ret_typ!r}; expected 'indices', 'value', 'both' or 'mask'.")
    shape = data.shape
    data, axis = _raw_and_axis("topk", data, axis)
    chosen = _top_positions(data, axis, k, is_ascend)
    if ret_typ == "indices":
        return chosen.astype(dtype)
    if ret_typ == "mask":
        mask = np.zeros_like(data)
        np.put_along_axis(mask, chosen, 1, axis)
        return mask.reshape(shape)
    values = np.take_along_axis(data, chosen, axis)
    return values if ret_typ == "value" else (values, chosen.astype(dtype))


def _top_positions(data: np.ndarray, axis: int, k: int, ascending: bool) -> np.ndarray:
    length = data.shape[axis]
    if not 0 <= k <= length:
        raise ArgumentError(f"topk: k is {k}; expected 0 <= k <= {length}, the length of axis {axis}.")
    if (few := largest_positions(np.moveaxis(data, axis, -1), k, ascending)) is not None:
        return np.moveaxis(few, -1, axis)
    return np.take(_order(data, axis, ascending), np.arange(k or length), axis=axis)


@topk.def_grad()
def _topk_gradient(ans: Any, data: Any, *, axis: int | None, k: int, ret_typ: str, is_ascend: bool) -> Any:
    if ret_typ in ("indices", "mask"):
        return lambda g: np.zeros(np.shape(data))
    raw, along = _raw_and_axis("topk", data, axis)
    chosen = _top_positions(raw, along, k, is_ascend)

    def gradient(g: Any) -> Any:
        part = g[0] if ret_typ == "both" else g
        return np.reshape(put_along(part, chosen, axis=along, length=raw.shape[along]), np.shape(data))

    return gradient


@operator(name="cumsum", aliases=("_np_cumsum",), shape_only=(0,), saved_name="_np_cumsum")
def cumsum(a: np.ndarray, *, axis: int | None = None, dtype: str | None = None) -> np.ndarray:
    """Return the sums of the elements up to each.

    Parameters
    ----------
    a : NDArray
    axis : int, optional
        Along which; None sums all elements, flattened.
    dtype : str, optional
        Of the sums; that of `a` if left out, int64 for booleans, of which the true ones are counted.

    {returns_array}
        Of the shape of `a`; with one axis if `axis` is None.

    {raises_shape_error}
        If there is no such axis.

    {examples}
    >>> nd.cumsum(nd.array([1, 2, 3])).asnumpy()
    array([1., 3., 6.], dtype=float32)
    """
    if axis is not None:
        axis = one_axis("cumsum", axis, a.ndim)
    return np.cumsum(a, axis=axis, dtype=dtype_or(dtype, np.int64 if a.dtype.kind == "b" else a.dtype))


@cumsum.def_grad()
def _cumsum_gradient(ans: Any, a: Any, *, axis: int | None) -> Any:
    shape = np.shape(a)
    along = 0 if axis is None else axis % len(shape)
    backwards = (*(slice(None),) * along, slice(None, None, -1))

    def gradient(g: Any) -> Any:
        return np.reshape(index(cumsum(index(g, key=backwards), axis=along), key=backwards), shape)

    return gradient


def _ordered_shapes(inputs: Any, outputs: Any, *, axis: int | None, **_: Any) -> Any:
    if axis is not None:
        return same_shape(inputs, outputs)
    return inputs, [(UNKNOWN if inputs[0] is None else product(inputs[0]),)]


for _operator in (sort, argsort):
    _operator.def_infer_shape(_ordered_shapes)
cumsum.def_infer_shape(lambda inputs, outputs, *, axis: _ordered_shapes(inputs, outputs, axis=axis))


@cumsum.def_infer_type
def _cumsum_dtypes(inputs: Any, outputs: Any, *, dtype: Any) -> Any:
    return (booleans_give(np.int64) if dtype in (None, "None") else dtype_attribute())(inputs, outputs, dtype=dtype)


@topk.def_infer_shape
@forwards
def _topk_shape(data: Any, *, axis: int | None = -1, k: int = 1, ret_typ: str = "indices", **_: Any) -> Any:
    if ret_typ == "mask":
        return data
    flat = (product(data),) if axis is None else data
    axis = 0 if axis is None else one_axis("topk", axis, len(flat))
    if flat[axis] != UNKNOWN and not 0 <= k <= flat[axis]:
        raise ShapeError(f"topk: k is {k}; expected 0 <= k <= {flat[axis]}, the length of axis {axis}.")
    return replace_length(flat, axis, k or flat[axis])


@topk.def_infer_type
def _topk_dtypes(inputs: Any, outputs: Any, *, ret_typ: str, dtype: Any) -> Any:
    positions = as_dtype(dtype)
    if ret_typ == "indices":
        return inputs, [positions]
    inputs, elements = same_dtype(inputs, outputs[:1])
    return inputs, [*elements, positions][: len(outputs)]


topk.saved_outputs = lambda attributes: 2 if attributes.get("ret_typ") in ("value", "both") else 1
