"""Operators that rearrange elements: reshape, transpose, broadcast, cast and copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.registry import operator
from minpy.ops.reshaping import resolve_shape

__all__ = ["broadcast_to", "cast", "identity", "reshape", "reshape_exactly", "reshape_like", "transpose"]


@operator(name="_copy", aliases=("identity",))
def identity(data: np.ndarray) -> np.ndarray:
    """Return a copy of `data`."""
    return data.copy()


identity.def_grad(lambda ans, data: lambda g: g)


@operator(name="cast", aliases=("Cast",))
def cast(data: np.ndarray, *, dtype: Any) -> np.ndarray:
    """Return `data` with elements converted to `dtype`; the gradient is converted back."""
    return data.astype(dtype)


cast.def_grad(lambda ans, data, *, dtype: lambda g: g)


@operator(name="_reshape_exactly", public=False)
def reshape_exactly(data: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    """Return `data` in a shape given without codes; a view."""
    return data.reshape(shape)


reshape_exactly.def_grad(lambda ans, data, *, shape: lambda g: np.reshape(g, np.shape(data)))
reshape_exactly.may_alias = False  # `x.reshape` shares memory, also while recording


@operator(name="reshape", aliases=("Reshape",))
def reshape(data: np.ndarray, *, shape: tuple[int, ...], reverse: bool = False) -> np.ndarray:
    """Return `data` in another shape: 0 copies an axis, -1 is inferred, -2 copies the rest, -3 merges, -4 splits."""
    return data.reshape(resolve_shape(data.shape, tuple(shape), reverse))


reshape.def_grad(lambda ans, data, *, shape, reverse=False: lambda g: np.reshape(g, np.shape(data)))


@operator(name="reshape_like")
def reshape_like(data: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return `data` in the shape of `like`."""
    return data.reshape(like.shape)


reshape_like.def_grad(lambda ans, data, like: lambda g: np.reshape(g, np.shape(data)))
reshape_like.def_grad_zero(1)


@operator(name="transpose")
def transpose(data: np.ndarray, *, axes: tuple[int, ...] = ()) -> np.ndarray:
    """Return `data` with its axes permuted; in reverse order if `axes` is empty."""
    return np.transpose(data, axes or None)


@transpose.def_grad()
def _transpose_gradient(ans: Any, data: Any, *, axes: tuple[int, ...] = ()) -> Any:
    back = tuple(int(axis) for axis in np.argsort([axis % len(axes) for axis in axes])) if axes else None
    return lambda g: np.transpose(g, back)


@operator(name="broadcast_to")
def broadcast_to(data: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    """Return `data` repeated along its axes of length 1 to `shape`, where 0 keeps an axis."""
    target = tuple(data.shape[axis] if length == 0 else length for axis, length in enumerate(shape))
    return np.broadcast_to(data, target)


broadcast_to.def_grad(lambda ans, data, *, shape: lambda g: g)
