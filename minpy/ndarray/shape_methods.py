"""Methods of `NDArray` about shapes whose arguments are not those of the operators: `inplace=`, `other=`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.ops.tensor import reshape as shaping
from minpy.ops.tensor.broadcasting import broadcast_like as _broadcast_like
from minpy.ops.tensor.broadcasting import broadcast_to as _broadcast_to

__all__ = ["METHODS"]


def _on_the_same_memory(array: Any, result: Any) -> Any:
    """Return a view of the array in the shape of a result that holds the same elements."""
    return array.reshape(result.shape) if array.size else result  # without elements no one can tell


def reshape_like(self: Any, *arguments: Any, **options: Any) -> Any:
    """Return the array in the shape of another; see `nd.reshape_like`."""
    return shaping.reshape_like(self, *arguments, **options)


def broadcast_to(self: Any, shape: int | Sequence[int]) -> Any:
    """Return the array repeated along its axes of length 1, and along new axes in front, to a shape."""
    target = (shape,) if isinstance(shape, int) else tuple(shape)
    new_axes = (1,) * (len(target) - self.ndim)
    data = shaping.reshape_exactly(self, shape=new_axes + self.shape) if new_axes else self
    return _broadcast_to(data, shape=target)


def broadcast_like(self: Any, other: Any, **options: Any) -> Any:
    """Return the array repeated along its axes of length 1 to the shape of another; see `nd.broadcast_like`.

    If the other has more axes, those in front are new: as a method it is `broadcast_to` the other's shape.
    """
    if not options and other.ndim > self.ndim:
        return broadcast_to(self, other.shape)
    return _broadcast_like(self, other, **options)


def flatten(self: Any, inplace: bool = False) -> Any:
    """Return the array as a matrix: the first axis stays, the others become one. `inplace`: on the same memory."""
    result = shaping.flatten(self)
    return _on_the_same_memory(self, result) if inplace else result


def expand_dims(self: Any, axis: int, inplace: bool = False) -> Any:
    """Return the array with a new axis of length 1. `inplace`: on the same memory."""
    result = shaping.expand_dims(self, axis=axis)
    return _on_the_same_memory(self, result) if inplace else result


def squeeze(self: Any, axis: int | Sequence[int] | None = None, inplace: bool = False) -> Any:
    """Return the array without its axes of length 1, or without those given. `inplace`: on the same memory."""
    result = shaping.squeeze(self, axis=axis)
    return _on_the_same_memory(self, result) if inplace else result


METHODS = {
    method.__name__: method for method in (broadcast_like, broadcast_to, expand_dims, flatten, reshape_like, squeeze)
}
