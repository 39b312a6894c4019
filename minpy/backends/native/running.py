"""The memory in which one call at a time of a native program computes, and the functions that know where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy

from minpy.backends.native.machine import blas, builtins, threads
from minpy.backends.native.table import DESK, SHARE
from minpy.backends.planning import ALIGNMENT

if TYPE_CHECKING:
    from minpy.backends.native.machine.llvm import Loaded
    from minpy.backends.native.table import Table

__all__ = ["ContextMemory", "aligned"]


def aligned(size: int) -> numpy.ndarray:
    """Return new memory of at least one byte that begins at a multiple of `ALIGNMENT`.

    >>> aligned(100).shape
    (100,)
    """
    size = max(size, 1)
    whole = numpy.empty(size + ALIGNMENT, numpy.uint8)
    start = -whole.ctypes.data % ALIGNMENT
    return whole[start : start + size]


class ContextMemory:
    """A block of memory, and the functions of native code, by their names, that know where it is."""

    def __init__(self, block: numpy.ndarray, segments: Mapping[str, Callable[..., Any]]) -> None:
        self.block = block
        self.segments = segments

    @classmethod
    def made(cls, nbytes: int, table: Table, loaded: Loaded | None, names: Iterable[str]) -> ContextMemory:
        """Return new memory, and functions that compute in it.

        Parameters
        ----------
        nbytes : int
            The size of the block.
        table : Table
            What the functions refer to.
        loaded : Loaded or None
            Their code.
        names : iterable of str
            How they are called there.
        """
        block = aligned(nbytes)
        if loaded is None:
            return cls(block, {})
        helper = threads.find()
        others = {SHARE: helper.share, DESK: helper.desk} if helper is not None else {}
        addresses = table.filled(block.ctypes.data, blas.find(), others)
        owners = (loaded, block, table)
        return cls(block, {name: builtins.builtin(loaded.address(name), name, addresses, *owners) for name in names})
