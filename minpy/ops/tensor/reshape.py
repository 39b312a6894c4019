"""Operators that give an array another shape: reshape and its kin, expand_dims, squeeze."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.ops.axes import one_axis, several_axes
from minpy.ops.inference.partial_shapes import UNKNOWN, is_known, merge_shapes
from minpy.ops.inference.reshaping import codes_given, resolve_shape, shape_of_target
from minpy.ops.inference.rule_parts import dtype_of, merge_lengths, product, solved
from minpy.ops.registry import operator

__all__ = ["expand_dims", "flatten", "reshape", "reshape_exactly", "reshape_like", "squeeze"]


@operator(name="_reshape_exactly", public=False, may_alias=False, shape_only=(0,))
def reshape_exactly(data: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    """Return `data` in a shape given without codes; a view."""
    return data.reshape(shape)


reshape_exactly.def_grad(lambda ans, data: lambda g: np.reshape(g, np.shape(data)))


@operator(name="reshape", aliases=("Reshape",), shape_only=(0,), category="shape")
def reshape(
    data: np.ndarray,
    *,
    shape: tuple[int, ...] | None = None,
    reverse: bool = False,
    target_shape: tuple[int, ...] = (),
    keep_highest: bool = False,
) -> np.ndarray:
    """Return the data in another shape.

    {data_parameter}
    shape : tuple of int
        Lengths, and codes: 0 copies an axis, -1 is inferred, -2 copies all remaining axes, -3 merges two into one,
        -4 splits one into the two lengths that follow.
    reverse : bool
        Whether codes are matched with axes from the right.
    target_shape : tuple of int
        An older way to say the shape, which counts if there is no `shape`: one length may be 0, and is inferred.
    keep_highest : bool
        With `target_shape`: the first axis stays as it is.

    {returns_array}

    {raises_shape_error}
        If the number of elements would change, or a code does not fit.
    ArgumentError
        If neither `shape` nor `target_shape` is given.

    {examples}
    >>> nd.reshape(nd.zeros((2, 3, 4)), shape=(0, -1)).shape
    (2, 12)
    """
    return data.reshape(resolve_shape(data.shape, *codes_given(shape, reverse, target_shape, keep_highest)))


reshape.def_grad(lambda ans, data: lambda g: np.reshape(g, np.shape(data)))


@reshape.def_infer_shape
def _reshape_shapes(
    inputs: Any, outputs: Any, *, shape: Any, reverse: bool, target_shape: Any, keep_highest: bool
) -> Any:
    [data], (target, reverse) = inputs, codes_given(shape, reverse, target_shape, keep_highest)
    resolved = shape_of_target(target) if data is None else resolve_shape(data, target, reverse)
    result: Any = merge_shapes(outputs[0], resolved)
    return [solved(data, product(result)) if is_known(result) else data], [result]


@operator(name="reshape_like", zero=(1,), dtypes=dtype_of(0), shape_only=(0,))
def reshape_like(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
) -> np.ndarray:
    """Return an array in the shape of another, or with some of its axes replaced by some of the other's.

    Parameters
    ----------
    lhs : NDArray
    rhs : NDArray
        Only its shape is read.
    lhs_begin, lhs_end : int, optional
        The axes of `lhs` to replace; all if left out.
    rhs_begin, rhs_end : int, optional
        The axes of `rhs` to put there; all if left out.

    {returns_array}

    {raises_shape_error}
        If the number of elements would change.

    {examples}
    >>> nd.reshape_like(nd.zeros((6,)), nd.zeros((2, 3))).shape
    (2, 3)
    >>> nd.reshape_like(nd.zeros((6, 7)), nd.zeros((2, 3, 4)), lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2).shape
    (2, 3, 7)
    """
    replaced = slice(lhs_begin, lhs_end).indices(lhs.ndim)
    shape = lhs.shape[: replaced[0]] + rhs.shape[rhs_begin:rhs_end] + lhs.shape[max(replaced[0], replaced[1]) :]
    if math.prod(shape) != lhs.size:
        raise ShapeError(f"reshape_like: lhs has shape {lhs.shape}, which has not as many elements as {shape}.")
    return lhs.reshape(shape)


reshape_like.def_grad(lambda ans, lhs, rhs: lambda g: np.reshape(g, np.shape(lhs)))


@reshape_like.def_infer_shape
def _reshape_like_shapes(
    inputs: Any, outputs: Any, *, lhs_begin: int | None, lhs_end: int | None, rhs_begin: int | None, rhs_end: int | None
) -> Any:
    lhs, rhs = inputs
    if lhs_begin is None and lhs_end is None:
        result: Any = None if rhs is None else rhs[rhs_begin:rhs_end]
    elif lhs is None or rhs is None:
        return inputs, outputs
    else:
        first, last, _step = slice(lhs_begin, lhs_end).indices(len(lhs))
        result = lhs[:first] + rhs[rhs_begin:rhs_end] + lhs[max(first, last) :]
    result = merge_shapes(outputs[0], result)
    if is_known(lhs) and is_known(result) and product(lhs) != product(result):
        raise ShapeError(f"lhs has shape {lhs}, which has not as many elements as {result}.")
    return [solved(lhs, product(result)) if is_known(result) else lhs, rhs], [result]


@operator(name="flatten", aliases=("Flatten",), shape_only=(0,), category="shape")
def flatten(data: np.ndarray) -> np.ndarray:
    """Return the data as a matrix: the first axis stays, the others become one.

    {data_parameter}
        With one axis or more.

    {returns_array}
        With two axes.

    {raises_shape_error}
        If the data has no axis.

    {examples}
    >>> nd.flatten(nd.zeros((2, 3, 4))).shape
    (2, 12)
    """
    if not data.ndim:
        raise ShapeError("flatten: data has shape (); expected at least one axis.")
    return data.reshape(data.shape[0], math.prod(data.shape[1:]))


flatten.def_grad(lambda ans, data: lambda g: np.reshape(g, np.shape(data)))


@flatten.def_infer_shape
def _flatten_shapes(inputs: Any, outputs: Any) -> Any:
    [data] = inputs
    if data == ():
        raise ShapeError("data has shape (); expected at least one axis.")
    if data is None:
        return inputs, [(UNKNOWN, UNKNOWN)]
    result = merge_shapes(outputs[0], (data[0], product(data[1:]))) or ()
    data = merge_shapes(data, (result[0], *[UNKNOWN] * (len(data) - 1))) or ()
    return [(data[0], *(solved(data[1:], result[1]) or ()))], [result]


@operator(name="expand_dims", shape_only=(0,), category="shape")
def expand_dims(data: np.ndarray, *, axis: int) -> np.ndarray:
    """Return the data with a new axis of length 1.

    {data_parameter}
    axis : int
        Where the new axis stands in the result.

    {returns_array}

    {raises_shape_error}
        If the result has no such axis.

    {examples}
    >>> nd.expand_dims(nd.zeros((2, 3)), axis=1).shape
    (2, 1, 3)
    """
    axis = one_axis("expand_dims", axis, data.ndim + 1)
    return data.reshape(*data.shape[:axis], 1, *data.shape[axis:])


expand_dims.def_grad(lambda ans, data: lambda g: np.reshape(g, np.shape(data)))


@expand_dims.def_infer_shape
def _expand_dims_shapes(inputs: Any, outputs: Any, *, axis: int) -> Any:
    [data], [result] = inputs, outputs
    if data is not None:
        position = one_axis("expand_dims", axis, len(data) + 1)
        result = merge_shapes(result, (*data[:position], 1, *data[position:]))
    if result is not None:
        position = one_axis("expand_dims", axis, len(result))
        merge_lengths(result[position], 1)
        data = result[:position] + result[position + 1 :]
        result = (*result[:position], 1, *result[position + 1 :])
    return [data], [result]


@operator(name="squeeze", shape_only=(0,), category="shape")
def squeeze(data: np.ndarray, *, axis: int | tuple[int, ...] | None = None) -> np.ndarray:
    """Return the data without axes of length 1.

    {data_parameter}
    axis : int or tuple of int, optional
        The axes to remove; all of length 1 if left out.

    {returns_array}
        With one axis at least.

    {raises_shape_error}
        If an axis does not have length 1.

    {examples}
    >>> nd.squeeze(nd.zeros((1, 2, 1)), axis=0).shape
    (2, 1)
    """
    ones = tuple(position for position, length in enumerate(data.shape) if length == 1)
    removed = ones if axis is None else several_axes("squeeze", axis, data.ndim)
    for position in removed:
        if position not in ones:
            raise ShapeError(
                f"squeeze: axis {position} of data {data.shape} has length {data.shape[position]}; expected 1."
            )
    return data.reshape(tuple(n for position, n in enumerate(data.shape) if position not in removed) or (1,))


squeeze.def_grad(lambda ans, data: lambda g: np.reshape(g, np.shape(data)))


@squeeze.def_infer_shape
def _squeeze_shapes(inputs: Any, outputs: Any, *, axis: Any) -> Any:
    [data] = inputs
    if data is None or (axis is None and not is_known(data)):
        return inputs, outputs
    if axis is None:
        return inputs, [tuple(length for length in data if length != 1) or (1,)]
    removed = several_axes("squeeze", axis, len(data))
    data = merge_shapes(data, tuple(1 if position in removed else UNKNOWN for position in range(len(data)))) or ()
    return [data], [tuple(length for position, length in enumerate(data) if position not in removed) or (1,)]


# MXNet's files write these names, not the ones of the functions.
flatten.saved_name, reshape.saved_name = "Flatten", "Reshape"
