"""Who refers to a buffer: where nobody else does, it is handed over instead of copied.

Reference counts say so. What `sys.getrefcount` shows for a buffer that only we refer to is measured when the module is
loaded; where an interpreter counts otherwise, values are copied, and nobody can tell the difference. What arrays of
users' operators borrow is in `minpy.ndarray.borrowing` and `minpy.custom.lending`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.nodes import Leaf

__all__ = ["is_sole_target", "is_unseen", "owned", "unseen_gradients"]


def is_sole_target(gradient_count: int, gradient: numpy.ndarray, target: Array) -> bool:
    """Tell whether a gradient, which only one local of the caller refers to, may become the buffer of `target`."""
    return (
        gradient_count == _SOLE_LOCAL
        and sys.getrefcount(target._data) == _SOLE_SLOT
        and gradient.base is None
        and gradient.flags.c_contiguous
        and gradient.flags.writeable
    )


def is_unseen(array: Array) -> bool:
    """Tell whether nobody refers to the buffer of `array`, nor to its memory, but the array itself."""
    return sys.getrefcount(array._data) == _SOLE_SLOT and array._data.base is None


def unseen_gradients(leaves: Sequence[Any], places: Iterable[int]) -> list[numpy.ndarray] | None:
    """Return the buffers of the gradients that a walk writes for leaves, if it may compute in all of them; else None.

    Nobody else may know a buffer, so that two leaves, or one that is there twice, do not have the same. It is of its
    leaf's shape and dtype, in C's order.

    Parameters
    ----------
    leaves : sequence of Leaf, or of other nodes
        None are given for other nodes, nor for leaves whose gradients are added or not asked for.
    places : iterable of int
        Which of them are meant.
    """
    buffers: list[numpy.ndarray] = []
    for place in places:
        leaf = leaves[place]
        if type(leaf) is not Leaf or leaf.request != "write":
            return None
        target = leaf.gradient
        if target is None:
            return None
        buffer = target._data
        if sys.getrefcount(buffer) != _SOLE_HELD or buffer.base is not None or not buffer.flags.carray:
            return None
        if buffer.shape != leaf.shape or buffer.dtype is not leaf.dtype:
            return None
        buffers.append(buffer)
    return buffers


def owned(holder: Any, key: Any) -> numpy.ndarray:
    """Return the raw array `holder[key]`, copied if anybody else refers to it or to its memory."""
    data = holder[key]
    if sys.getrefcount(data) > _SOLE_HELD or data.base is not None or not data.flags.writeable:
        data = data.copy()
    return data


def _sole_references() -> tuple[int, int, int]:
    """Measure what `sys.getrefcount` says of a buffer that only a local, a slot, or a local and a list refer to."""
    held = [numpy.zeros(1)]
    data = held[0]
    found = {0: numpy.zeros(1)}
    gradient = found.pop(0)
    holder = Array()
    holder._data = numpy.zeros(1)
    return sys.getrefcount(gradient), sys.getrefcount(holder._data), sys.getrefcount(data)


_SOLE_LOCAL, _SOLE_SLOT, _SOLE_HELD = _sole_references()
