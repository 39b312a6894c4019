"""Buffers lent instead of copied, where it can be proved that nobody will notice.

A custom operator written with NumPy copies at every border: `x.asnumpy()` and `nd.array(y)` must, as the caller may
write to what it gets. Most operators do not, and where a method's source proves it (`purity`), the two conversions
share the buffers while that method runs, in its own code only.
"""

from __future__ import annotations

import sys
import threading
import types
from typing import TYPE_CHECKING, Any

import numpy

from minpy.core.array import Array

if TYPE_CHECKING:
    from minpy.ndarray.buffers import Buffer

__all__ = ["Lending", "lends", "lent_view", "take_buffer"]


class _Local(threading.local):
    lending: Lending | None = None


local = _Local()


class Lending:
    """A scope in which `asnumpy` and `nd.array` share buffers if `code` itself calls them; for None they copy.

    On exit, what is still shared is copied.
    """

    __slots__ = ("_previous", "_taken", "code")

    def __init__(self, code: types.CodeType | None) -> None:
        self.code = code
        self._taken: Any = ()

    def __enter__(self) -> Lending:
        self._previous = local.lending
        local.lending = self
        return self

    def __exit__(self, *exception: object) -> None:
        local.lending = self._previous
        for array in self._taken:
            if sys.getrefcount(array._data) > _SOLE:
                array._data = array._data.copy()

    def take(self, array: Array) -> None:
        """Remember that `array` has a buffer which the method may still refer to."""
        self._taken = (*self._taken, array)


def lent_view(array: Array) -> numpy.ndarray:
    """Return the buffer of `array` for reading, if the caller's caller is lent it; else a copy."""
    lending = local.lending
    if lending is None or sys._getframe(2).f_code is not lending.code:
        return array._data.copy()
    return array._data.view()


def lends(source: Any, dtype: Any) -> bool:
    """Tell whether `nd.array(source, dtype=dtype)` may share the memory of `source`."""
    lending = local.lending
    return (
        lending is not None
        and type(source) is numpy.ndarray
        and source.dtype == dtype
        and source.base is None
        and source.flags.c_contiguous
        and sys._getframe(2).f_code is lending.code
    )


def take_buffer(target: Buffer, source: Array) -> bool:
    """Give the memory of `source`, a temporary, to `target`, an output; tell whether it was done."""
    lending = local.lending
    if lending is None or sys._getframe(2).f_code is not lending.code:
        return False
    data = source._data
    if data.base is not None or not data.flags.c_contiguous or not target.give(data):
        return False
    lending.take(target)
    return True


def _count_sole() -> int:
    holder = Array()
    holder._data = numpy.zeros(1)
    return sys.getrefcount(holder._data)


_SOLE = _count_sole()
