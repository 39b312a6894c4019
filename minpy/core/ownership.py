"""Who refers to a buffer: where nobody else does, it is handed over instead of copied.

Reference counts say so. What `sys.getrefcount` shows for a buffer that only we refer to is measured when the module is
loaded; where an interpreter counts otherwise, values are copied, and nobody can tell the difference.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy

from minpy.core.array import Array

__all__ = ["is_sole_target", "is_unseen", "owned"]


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
