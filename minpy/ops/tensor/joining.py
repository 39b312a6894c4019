"""Operators that put arrays together, and take them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, ShapeError, describe
from minpy.ops.axes import one_axis
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import derived, known_ndim, merge_lengths, promoted, replace_length, without_axis
from minpy.ops.registry import operator

__all__ = ["concat", "concat_gradient", "concat_shapes", "stack", "stack_gradient"]


def _check_arrays(name: str, arrays: Sequence[Any]) -> None:
    if not arrays:
        raise ArgumentError(f"{name}: no arrays are given; expected at least one.")
    for position, array in enumerate(arrays):
        if isinstance(array, (list, tuple)):
            raise ArgumentError(
                f"{name}: argument {position} is {describe(array)}; give the arrays one by one: nd.{name}(*arrays)."
            )


@operator(name="concat", aliases=("Concat",), dtypes=promoted, saved_name="Concat", category="shape")
def concat(*data: np.ndarray, dim: int = 1, num_args: int | None = None) -> np.ndarray:
    """Return arrays joined along an axis that they have.

    Parameters
    ----------
    *data : NDArray
        Of equal shapes, but for the axis.
    dim : int
        The axis.
    num_args : int, optional
        Accepted and not used: the number of arrays.

    {returns_array}

    {raises_shape_error}
        If the shapes differ elsewhere, or there is no such axis.

    {examples}
    >>> nd.concat(nd.array([[1], [2]]), nd.array([[3, 4], [5, 6]]), dim=1).asnumpy()
    array([[1., 3., 4.],
           [2., 5., 6.]], dtype=float32)
    """
    _check_arrays("concat", data)
    axis = one_axis("concat", dim, data[0].ndim)
    first = data[0].shape
    for position, array in enumerate(data):
        shape = array.shape
        if len(shape) != len(first) or shape[:axis] != first[:axis] or shape[axis + 1 :] != first[axis + 1 :]:
            raise ShapeError(
                f"concat: argument {position} has shape {shape}, argument 0 has {first}; they may differ only in "
                f"axis {axis} (dim)."
            )
    return np.concatenate(data, axis=axis)


def concat_gradient(ans: Any, *data: Any, dim: int) -> Any:
    """Return the function from the gradient of a concatenation to those of its parts."""
    axis = dim % np.ndim(data[0])
    keys, start = [], 0
    for array in data:
        stop = start + np.shape(array)[axis]
        keys.append((*(slice(None),) * axis, slice(start, stop)))
        start = stop
    return lambda g: tuple(g[part] for part in keys)


concat.def_multiple_grad(concat_gradient)


@concat.def_infer_shape
def concat_shapes(inputs: Any, outputs: Any, *, dim: int) -> Any:
    """Infer the shapes of arrays that are joined along an axis, and of the result."""
    ndim = known_ndim(*inputs, *outputs)
    if ndim is None:
        return inputs, outputs
    axis = one_axis("concat", dim, ndim)
    common = (UNKNOWN,) * ndim
    for shape in (*inputs, *outputs):
        if shape is not None and len(shape) != ndim:
            raise ShapeError("the arrays differ in their number of axes.")
        common = merge_shapes(common, shape and replace_length(shape, axis, UNKNOWN)) or ()
    lengths = [UNKNOWN if shape is None else shape[axis] for shape in inputs]
    total = merge_lengths(derived(lambda *terms: sum(terms), *lengths), *(shape[axis] for shape in outputs if shape))
    if total != UNKNOWN and lengths.count(UNKNOWN) == 1:
        missing = total - sum(length for length in lengths if length != UNKNOWN)
        if missing < 0:
            raise ShapeError(f"the arrays are longer than their result along axis {axis}, which has length {total}.")
        lengths[lengths.index(UNKNOWN)] = missing
    return [replace_length(common, axis, length) for length in lengths], [replace_length(common, axis, total)]


@operator(name="stack", dtypes=promoted, category="shape")
def stack(*data: np.ndarray, axis: int = 0, num_args: int | None = None) -> np.ndarray:
    """Return arrays joined along a new axis.

    Parameters
    ----------
    *data : NDArray
        Of equal shapes.
    axis : int
        Where the new axis stands in the result.
    num_args : int, optional
        Accepted and not used: the number of arrays.

    {returns_array}

    {raises_shape_error}
        If the shapes differ, or the result has no such axis.

    {examples}
    >>> nd.stack(nd.array([1, 2]), nd.array([3, 4])).asnumpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    _check_arrays("stack", data)
    for position, array in enumerate(data):
        if array.shape != data[0].shape:
            raise ShapeError(
                f"stack: argument {position} has shape {array.shape}, argument 0 has {data[0].shape}; "
                "they must be equal."
            )
    return np.stack(data, axis=one_axis("stack", axis, data[0].ndim + 1))


def stack_gradient(ans: Any, *data: Any, axis: int) -> Any:
    """Return the function from the gradient of a stack to those of the arrays in it."""
    leading = (slice(None),) * (axis % (np.ndim(data[0]) + 1))
    return lambda g: tuple(g[(*leading, position)] for position in range(len(data)))


stack.def_multiple_grad(stack_gradient)


@stack.def_infer_shape
def _stack_shapes(inputs: Any, outputs: Any, *, axis: int) -> Any:
    ndim = known_ndim(*(without_axis(shape, 0) for shape in outputs), *inputs)
    if ndim is None:
        return inputs, outputs
    axis = one_axis("stack", axis, ndim + 1)
    part = without_axis(outputs[0], axis)
    for shape in inputs:
        part = merge_shapes(part, shape)
    return [part] * len(inputs), [(*part[:axis], len(inputs), *part[axis:])]  # type: ignore[index]


# -- taking apart ------------------------------------------------------------------------------------------------------
