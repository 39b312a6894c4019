"""Buffers lent instead of copied, where it can be proved that nobody will notice.

A custom operator written with NumPy copies at every border: `x.asnumpy()` and `nd.array(y)` must, as the caller may
write to what it gets. Most operators do not, and where a method's source proves it (`purity`), the two conversions
share the buffers while that method runs, in its own code only.
"""

from __future__ import annotations

import sys
import threading
import types
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.custom.buffers import Buffer
from minpy.ndarray import borrowing

__all__ = ["Lending", "take_buffer"]


class _Local(threading.local):
    lending: Lending | None = None


_local = _Local()


class Lending:
    """A scope in which `asnumpy` and `nd.array` share buffers if `code` itself calls them; for None they copy.

    On exit, what is still shared is copied.
    """

    __slots__ = ("_previous", "_taken", "code")

    def __init__(self, code: types.CodeType | None) -> None:
        self.code = code
        self._taken: Any = ()

    def __enter__(self) -> Lending:
        self._previous = _local.lending
        _local.lending = self
        borrowing.local.code = self.code
        return self

    def __exit__(self, *exception: object) -> None:
        previous = _local.lending = self._previous
        borrowing.local.code = None if previous is None else previous.code
        for array in self._taken:
            if sys.getrefcount(array._data) > _SOLE:
                array._data = array._data.copy()

    def take(self, array: Array) -> None:
        """Remember that `array` has a buffer which the method may still refer to."""
        self._taken = (*self._taken, array)


def take_buffer(target: Buffer, source: Array) -> bool:
    """Give the memory of `source`, a temporary, to `target`, an output; tell whether it was done."""
    lending = _local.lending
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
