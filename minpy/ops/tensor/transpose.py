"""Operators that put axes in another order: transpose, swapaxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.ops.axes import one_axis, several_axes
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.kernels.permuting import laid_out
from minpy.ops.registry import operator

__all__ = ["permuted", "swapaxes", "transpose"]


@operator(name="transpose", category="shape")
def transpose(data: np.ndarray, *, axes: tuple[int, ...] = ()) -> np.ndarray:
    """Return the data with its axes permuted.

    {data_parameter}
    axes : tuple of int
        The axes in their new order; reversed if left out.

    {returns_array}

    {raises_shape_error}
        If `axes` is no permutation of the data's.

    {examples}
    >>> nd.transpose(nd.zeros((2, 3, 4)), axes=(1, 0, 2)).shape
    (3, 2, 4)
    """
    if axes and len(several_axes("transpose", axes, data.ndim)) != data.ndim:
        raise ShapeError(
            f"transpose: axes {tuple(axes)} are no permutation of the {data.ndim} axes of data {data.shape}."
        )
    return np.transpose(data, axes or None)


transpose.def_kernel(lambda data, *, axes: laid_out(transpose.definition(data, axes=axes)))


@transpose.def_grad()
def _transpose_gradient(ans: Any, data: Any, *, axes: tuple[int, ...]) -> Any:
    back = tuple(int(axis) for axis in np.argsort([axis % len(axes) for axis in axes])) if axes else None
    return lambda g: np.transpose(g, back)


@transpose.def_grad_kernel()
def _transpose_raw_gradient(ans: Any, data: Any, *, axes: tuple[int, ...]) -> Any:
    gradient = _transpose_gradient(ans, data, axes=axes)
    return lambda g: laid_out(gradient(g))


@transpose.def_infer_shape
def _transpose_shapes(inputs: Any, outputs: Any, *, axes: Any) -> Any:
    stated = inputs[0] if inputs[0] is not None else outputs[0]
    count = len(axes) if axes else None if stated is None else len(stated)
    if count is None:
        return inputs, outputs
    if stated is not None and len(stated) != count:
        raise ShapeError(f"axes {tuple(axes)} are no permutation of {len(stated)} axes.")
    return permuted(inputs, outputs, several_axes("transpose", axes or range(count)[::-1], count))


@operator(name="swapaxes", aliases=("SwapAxis",), saved_name="SwapAxis", category="shape")
def swapaxes(data: np.ndarray, *, dim1: int = 0, dim2: int = 0) -> np.ndarray:
    """Return the data with two axes exchanged.

    {data_parameter}
    dim1, dim2 : int

    {returns_array}

    {raises_shape_error}
        If there is no such axis.

    {examples}
    >>> nd.swapaxes(nd.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    return np.swapaxes(data, one_axis("swapaxes", dim1, data.ndim), one_axis("swapaxes", dim2, data.ndim))


swapaxes.def_kernel(lambda data, *, dim1, dim2: laid_out(swapaxes.definition(data, dim1=dim1, dim2=dim2)))


swapaxes.def_grad(lambda ans, data, *, dim1, dim2: lambda g: np.swapaxes(g, dim1, dim2))
swapaxes.def_grad_kernel(lambda ans, data, *, dim1, dim2: lambda g: laid_out(np.swapaxes(g, dim1, dim2)))


@swapaxes.def_infer_shape
def _swapaxes_shapes(inputs: Any, outputs: Any, *, dim1: int, dim2: int) -> Any:
    stated = inputs[0] if inputs[0] is not None else outputs[0]
    if stated is None:
        return inputs, outputs
    first, second = (one_axis("swapaxes", dim, len(stated)) for dim in (dim1, dim2))
    order = list(range(len(stated)))
    order[first], order[second] = second, first
    return permuted(inputs, outputs, order)


def permuted(inputs: Any, outputs: Any, order: Any) -> Any:
    """Return the shapes of the data, and of the result, which has the data's axes in an order."""
    data = [UNKNOWN] * len(order) if inputs[0] is None else list(inputs[0])
    result = merge_shapes(outputs[0], tuple(data[axis] for axis in order)) or ()
    for axis, length in zip(order, result, strict=True):
        data[axis] = length
    return [tuple(data)], [result]
