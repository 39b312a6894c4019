"""Operators that repeat an array along axes of length 1. Their gradients are summed by the tape.

What `x + y` says of shapes that do not broadcast is in `minpy.core.errors`: `broadcast_error`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.ops.axes import several_axes
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import dtype_of, forwards, with_axes
from minpy.ops.registry import operator

__all__ = ["broadcast_axis", "broadcast_like", "broadcast_to"]


def _require_repeatable(name: str, shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    if len(target) != len(shape):
        raise ShapeError(f"{name}: data {shape} and the target {target} must have the same number of axes.")
    for axis, (length, new_length) in enumerate(zip(shape, target, strict=True)):
        if length not in (1, new_length, UNKNOWN) and new_length != UNKNOWN:
            raise ShapeError(
                f"{name}: cannot broadcast data {shape} to {target}: axis {axis} has length {length}, not 1."
            )


def _repeated(name: str, data: np.ndarray, target: tuple[int, ...]) -> np.ndarray:
    _require_repeatable(name, data.shape, target)
    return np.broadcast_to(data, target).copy()


@operator(name="broadcast_to", grad=lambda ans, data: lambda g: g)
def broadcast_to(data: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    """Return the data repeated along its axes of length 1 to a shape.

    {data_parameter}
    shape : tuple of int
        One length for each axis; 0 keeps an axis as it is.

    {returns_array}

    {raises_shape_error}
        If an axis that is longer than 1 would change, or the number of axes.

    {examples}
    >>> nd.broadcast_to(nd.array([[1], [2]]), shape=(2, 3)).asnumpy()
    array([[1., 1., 1.],
           [2., 2., 2.]], dtype=float32)
    """
    target = (shape,) if isinstance(shape, int) else tuple(shape)
    if len(target) == data.ndim:
        target = tuple(old if new == 0 else new for old, new in zip(data.shape, target, strict=True))
    return _repeated("broadcast_to", data, target)


@broadcast_to.def_infer_shape
def _broadcast_to_shapes(inputs: Any, outputs: Any, *, shape: Any) -> Any:
    target = (shape,) if isinstance(shape, int) else tuple(shape)
    data = with_axes(inputs[0], len(target))
    target = tuple(old if new == 0 else new for old, new in zip(data, target, strict=True))
    _require_repeatable("broadcast_to", data, target)
    return [data], [target]


def _require_single(name: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    for position in axes:
        if shape[position] not in (1, UNKNOWN):
            raise ShapeError(f"{name}: axis {position} of data {shape} has length {shape[position]}; expected 1.")


@operator(name="broadcast_axis", aliases=("broadcast_axes",), grad=lambda ans, data: lambda g: g)
def broadcast_axis(
    data: np.ndarray, *, axis: int | tuple[int, ...] = (), size: int | tuple[int, ...] = ()
) -> np.ndarray:
    """Return the data repeated along some axes of length 1.

    {data_parameter}
    axis : int or tuple of int
        The axes.
    size : int or tuple of int
        Their lengths in the result.

    {returns_array}

    {raises_shape_error}
        If one of the axes is longer than 1.

    {examples}
    >>> nd.broadcast_axis(nd.array([[7]]), axis=1, size=2).asnumpy()
    array([[7., 7.]], dtype=float32)
    """
    axes = several_axes("broadcast_axis", axis, data.ndim)
    sizes = (size,) if isinstance(size, int) else tuple(size)
    if len(axes) != len(sizes):
        raise ShapeError(
            f"broadcast_axis: {len(axes)} axes {axes} and {len(sizes)} sizes {sizes}; give one size an axis."
        )
    _require_single("broadcast_axis", data.shape, axes)
    new_lengths = dict(zip(axes, sizes, strict=True))
    return _repeated("broadcast_axis", data, tuple(new_lengths.get(a, n) for a, n in enumerate(data.shape)))


@broadcast_axis.def_infer_shape
@forwards
def _broadcast_axis_shape(data: Any, *, axis: Any = (), size: Any = (), **_: Any) -> Any:
    sizes = (size,) if isinstance(size, int) else tuple(size)
    axes = several_axes("broadcast_axis", axis, len(data))
    _require_single("broadcast_axis", data, axes)
    new_lengths = dict(zip(axes, sizes, strict=False))
    return tuple(new_lengths.get(position, length) for position, length in enumerate(data))


@operator(name="broadcast_like", zero=(1,), dtypes=dtype_of(0), grad=lambda ans, lhs, rhs: lambda g: g)
def broadcast_like(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    lhs_axes: tuple[int, ...] | None = None,
    rhs_axes: tuple[int, ...] | None = None,
) -> np.ndarray:
    """Return an array repeated along its axes of length 1 to the shape of another.

    Parameters
    ----------
    lhs : NDArray
    rhs : NDArray
        Only its shape is read.
    lhs_axes, rhs_axes : tuple of int, optional
        Which axes of `lhs` get the lengths of which axes of `rhs`; all if left out.

    {returns_array}

    {raises_shape_error}
        If an axis that is longer than 1 would change.

    {examples}
    >>> nd.broadcast_like(nd.array([[1], [2]]), nd.zeros((2, 2))).asnumpy()
    array([[1., 1.],
           [2., 2.]], dtype=float32)
    """
    if lhs_axes is None and rhs_axes is None:
        return _repeated("broadcast_like", lhs, rhs.shape)
    left = several_axes("broadcast_like", lhs_axes if lhs_axes is not None else (), lhs.ndim)
    right = several_axes("broadcast_like", rhs_axes if rhs_axes is not None else (), rhs.ndim)
    if len(left) != len(right):
        raise ShapeError(f"broadcast_like: lhs_axes {lhs_axes} and rhs_axes {rhs_axes} must be equally many.")
    new_lengths = {a: rhs.shape[b] for a, b in zip(left, right, strict=True)}
    return _repeated("broadcast_like", lhs, tuple(new_lengths.get(a, n) for a, n in enumerate(lhs.shape)))


@broadcast_like.def_infer_shape
def _broadcast_like_shapes(inputs: Any, outputs: Any, *, lhs_axes: Any, rhs_axes: Any) -> Any:
    lhs, rhs = inputs
    if lhs_axes is None and rhs_axes is None:
        rhs = merge_shapes(rhs, outputs[0])
        if lhs is not None and rhs is not None:
            _require_repeatable("broadcast_like", lhs, rhs)
        return [lhs, rhs], [rhs]
    if lhs is None:
        return inputs, outputs
    result = list(lhs)
    left = several_axes("broadcast_like", lhs_axes if lhs_axes is not None else (), len(lhs))
    for position, axis in zip(left, rhs_axes if rhs_axes is not None else (), strict=False):
        result[position] = rhs[axis] if rhs is not None else UNKNOWN
    _require_repeatable("broadcast_like", lhs, tuple(result))
    return inputs, [tuple(result)]
