"""Variables: the arrays that gradients are computed with respect to."""

from __future__ import annotations

from minpy.core.array import Array
from minpy.core.errors import ShapeError, UnknownWordError
from minpy.core.nodes import Leaf

__all__ = ["mark_variable"]


def mark_variable(array: Array, gradient: Array, request: str) -> None:
    """Make `array` a leaf of the tape whose gradient goes to `gradient`."""
    if request not in ("write", "add", "null"):
        raise UnknownWordError(f"unknown grad_req {request!r}: expected 'write', 'add' or 'null'.")
    if gradient._data.shape != array._data.shape:
        raise ShapeError(
            f"the gradient has shape {gradient._data.shape}, its variable {array._data.shape}; they must be equal."
        )
    array._node = Leaf(array._data, gradient, request) if request != "null" else None
