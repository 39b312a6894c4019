"""Positions in an array, as one number an element and as one number an axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.errors import ShapeError
from minpy.ops.inference.partial_shapes import merge_shapes
from minpy.ops.inference.rule_parts import with_axes
from minpy.ops.registry import operator

__all__ = ["ravel_multi_index", "unravel_index"]


def _lengths(name: str, shape: Any) -> tuple[int, ...]:
    lengths = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape or ())
    if not lengths:
        raise ShapeError(f"{name}: shape is missing; give that of the array in which the positions are.")
    return lengths


def _strides(lengths: tuple[int, ...]) -> np.ndarray:
    """Return by how much a flat position changes from one place along each axis to the next."""
    return np.array([math.prod(lengths[axis + 1 :]) for axis in range(len(lengths))])


@operator(name="_ravel_multi_index", aliases=("ravel_multi_index",), may_alias=False, zero="all")
def ravel_multi_index(data: np.ndarray, *, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Return the flat positions of elements that are given by one number an axis.

    {data_parameter}
        Of shape (axes, elements) and any dtype; fractions are cut off, and nothing is checked against the lengths.
    shape : tuple of int
        Of the array in which the positions are. Its first length does not matter, and may be -1.

    {returns_array}
        Of shape (elements,), and the dtype of `data`. Its gradient is zero.

    {raises_shape_error}
        If `data` does not have one row an axis.

    {examples}
    >>> nd.ravel_multi_index(nd.array([[0, 1, 2], [1, 2, 0]]), shape=(3, 4)).asnumpy()
    array([1., 6., 8.], dtype=float32)
    """
    lengths = _lengths("ravel_multi_index", shape)
    if data.ndim != 2 or len(data) != len(lengths):
        raise ShapeError(
            f"ravel_multi_index: data has shape {data.shape}; expected ({len(lengths)}, elements), a row for each axis "
            f"of shape={lengths}."
        )
    return (_strides(lengths) @ data.astype(np.int64)).astype(data.dtype)


@operator(name="_unravel_index", aliases=("unravel_index",), may_alias=False, zero="all")
def unravel_index(data: np.ndarray, *, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Return, for flat positions, one number an axis.

    {data_parameter}
        Flat positions, of any shape and dtype; fractions are cut off. What is beyond the array is so along the first
        axis.
    shape : tuple of int
        Of the array in which the positions are. Its first length does not matter, and may be -1.

    {returns_array}
        Of shape (axes,) + data.shape, and the dtype of `data`. Its gradient is zero.

    {raises_shape_error}
        Without a shape.

    {examples}
    >>> nd.unravel_index(nd.array([1, 6, 8]), shape=(3, 4)).asnumpy()
    array([[0., 1., 2.],
           [1., 2., 0.]], dtype=float32)
    """
    lengths = _lengths("unravel_index", shape)
    remainder = data.astype(np.int64)
    rows = []
    for stride in _strides(lengths):
        rows.append(remainder // stride)
        remainder = remainder % stride
    return np.stack(rows).astype(data.dtype)


@ravel_multi_index.def_infer_shape
def _raveled_shapes(inputs: Shapes, outputs: Shapes, *, shape: Any) -> tuple[Shapes, Shapes]:
    axes = len(_lengths("ravel_multi_index", shape))
    count = merge_shapes(with_axes(inputs[0], 2)[1:], outputs[0]) or ()
    return [(axes, *count)], [count]


@unravel_index.def_infer_shape
def _unraveled_shapes(inputs: Shapes, outputs: Shapes, *, shape: Any) -> tuple[Shapes, Shapes]:
    axes = len(_lengths("unravel_index", shape))
    data = merge_shapes(inputs[0], None if outputs[0] is None else outputs[0][1:])
    return [data], [None if data is None else (axes, *data)]
