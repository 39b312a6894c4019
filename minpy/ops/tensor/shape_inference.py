"""What graphs infer of the operators of `minpy.ops.tensor.shape`, which rearrange axes and copy or convert elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.ops.axes import one_axis, several_axes
from minpy.ops.inference.partial_shapes import UNKNOWN, is_known, merge_shapes, same_shape
from minpy.ops.inference.reshaping import resolve_shape, shape_of_target
from minpy.ops.inference.rules import dtype_attribute, dtype_of, forwards, merge_lengths, product, solved
from minpy.ops.tensor.shape import (
    cast,
    expand_dims,
    flatten,
    identity,
    ones_like,
    reshape,
    reshape_like,
    shape_array,
    size_array,
    squeeze,
    swapaxes,
    transpose,
    zeros_like,
)

for _operator in (identity, cast, zeros_like, ones_like):
    _operator.def_infer_shape(same_shape)
cast.def_infer_type(dtype_attribute())
shape_array.def_infer_shape(forwards(lambda data, **_: (len(data),)))
size_array.def_infer_shape(lambda inputs, outputs: (inputs, [(1,)]))
for _operator in (shape_array, size_array):
    _operator.def_infer_type(dtype_attribute(np.int64))


@reshape.def_infer_shape
def _reshape_shapes(inputs: Any, outputs: Any, *, shape: Any, reverse: bool) -> Any:
    [data], target = inputs, (shape,) if isinstance(shape, int) else tuple(shape)
    found = shape_of_target(target) if data is None else resolve_shape(data, target, reverse)
    result: Any = merge_shapes(outputs[0], found)
    return [solved(data, product(result)) if is_known(result) else data], [result]


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


reshape_like.def_infer_type(dtype_of(0))


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


def _permuted(inputs: Any, outputs: Any, order: Any) -> Any:
    """Return the shapes of the data, and of the result, which has the data's axes in an order."""
    data = [UNKNOWN] * len(order) if inputs[0] is None else list(inputs[0])
    result = merge_shapes(outputs[0], tuple(data[axis] for axis in order)) or ()
    for axis, length in zip(order, result, strict=True):
        data[axis] = length
    return [tuple(data)], [result]


@transpose.def_infer_shape
def _transpose_shapes(inputs: Any, outputs: Any, *, axes: Any) -> Any:
    known = inputs[0] if inputs[0] is not None else outputs[0]
    count = len(axes) if axes else None if known is None else len(known)
    if count is None:
        return inputs, outputs
    if known is not None and len(known) != count:
        raise ShapeError(f"axes {tuple(axes)} are no permutation of {len(known)} axes.")
    return _permuted(inputs, outputs, several_axes("transpose", axes or range(count)[::-1], count))


@swapaxes.def_infer_shape
def _swapaxes_shapes(inputs: Any, outputs: Any, *, dim1: int, dim2: int) -> Any:
    known = inputs[0] if inputs[0] is not None else outputs[0]
    if known is None:
        return inputs, outputs
    first, second = (one_axis("swapaxes", dim, len(known)) for dim in (dim1, dim2))
    order = list(range(len(known)))
    order[first], order[second] = second, first
    return _permuted(inputs, outputs, order)
