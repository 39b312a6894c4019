"""Tables: what native code finds by number, as it differs between processes, or between the calls of one program."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy

from minpy.backends.native.arguments import usual
from minpy.backends.native.language import Array
from minpy.backends.native.machine import gil
from minpy.core.errors import BuildError

if TYPE_CHECKING:
    from minpy.backends.native.machine.blas import Blas

__all__ = ["ARENA", "ARGUMENT_MISMATCH", "ARRAY", "DESK", "MISMATCH", "NONE", "RESTORE", "SAVE", "SHARE", "Table"]

# The block of memory; None and what stands for arrays that do not fit; NumPy's class; Python's lock let go and taken.
ARENA, NONE, MISMATCH, ARRAY, SAVE, RESTORE = "arena", "none", "mismatch", "array", "save", "restore"
# What native code returns, before it has done anything, where arrays do not fit.
ARGUMENT_MISMATCH = NotImplemented
# The function that shares a range with the helper thread, and its first argument.
SHARE, DESK = "share", "desk"


class Table:
    """The numbers of what a program's native code refers to.

    Examples
    --------
    >>> table = Table()
    >>> table.slot(ARENA), table.slot(numpy.dtype('float32')), table.slot(numpy.dtype('float32'))
    (0, 1, 1)
    """

    def __init__(self) -> None:
        self._slots: dict[Hashable, int] = {}

    def slot(self, key: Hashable) -> int:
        """Return the number of an entry: one of this module's names, a dtype, a constant, a function of BLAS."""
        return self._slots.setdefault(key, len(self._slots))

    @property
    def slots(self) -> list[Any]:
        """The entries, in the order of their numbers."""
        return list(self._slots)

    def filled(self, arena: int, blas: Blas | None, others: Mapping[str, int]) -> numpy.ndarray:
        """Return the table for one block of memory.

        Parameters
        ----------
        arena : int
            Where the block begins.
        blas : Blas or None
        others : mapping of str to int
            Addresses of further functions.
        """
        found = numpy.zeros(len(self._slots), numpy.intp)
        for key, number in self._slots.items():
            found[number] = self._address(key, arena, blas, others)
        return found

    def _address(self, key: Any, arena: int, blas: Blas | None, others: Mapping[str, int]) -> int:
        if key == ARENA:
            return arena
        if isinstance(key, Array):
            assert key.value is not None
            return key.value.ctypes.data
        if isinstance(key, numpy.dtype):
            return id(usual(key))
        if key in _OBJECTS:
            return id(_OBJECTS[key])
        if key in (SAVE, RESTORE):
            return gil.addresses()[key == RESTORE]
        address = others.get(key) or (blas.addresses.get(key) if blas is not None else None)
        if not address:
            raise BuildError(f"native code needs {key!r}, which is not there.")
        return address


_OBJECTS: dict[Any, Any] = {NONE: None, MISMATCH: ARGUMENT_MISMATCH, ARRAY: numpy.ndarray}
