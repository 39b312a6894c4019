"""Tables of addresses that native code reads by slot, as they differ between processes, or contexts of one program."""

from __future__ import annotations

import ctypes
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy

from minpy.backends.native.language import Array
from minpy.backends.native.machine import helper_thread
from minpy.backends.native.runtime.argument_coercion import usual
from minpy.core.errors import BuildError

if TYPE_CHECKING:
    from minpy.backends.native.machine.numpy_blas import Blas

__all__ = ["ARENA", "ARGUMENT_MISMATCH", "ARRAY", "DESK", "MISMATCH", "NONE", "RESTORE", "SAVE", "SHARE", "Table"]

# The block of memory; None and the mismatch marker; NumPy's class of arrays; Python's lock released and acquired.
ARENA, NONE, MISMATCH, ARRAY, SAVE, RESTORE = "arena", "none", "mismatch", "array", "save", "restore"
# What native code returns, before it has done anything, where arrays do not fit.
ARGUMENT_MISMATCH = NotImplemented
# The function that shares a range with the helper thread, and its first argument.
SHARE, DESK = "share", "desk"


class Table:
    """The slots of all that a program's native code refers to.

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

    def filled(self, arena: int = 0, blas: Blas | None = None) -> numpy.ndarray:
        """Return the table for one block of memory, which begins at `arena`."""
        helper = helper_thread.find() if SHARE in self._slots else None
        addresses = {ARENA: arena, **({} if blas is None else blas.addresses)}
        if helper is not None:
            addresses |= {SHARE: helper.share, DESK: helper.desk}
        return numpy.array([self._address(key, addresses) for key in self._slots], numpy.intp)

    def _address(self, key: Any, addresses: Mapping[Any, int]) -> int:
        if isinstance(key, Array):
            assert key.value is not None
            return key.value.ctypes.data
        if isinstance(key, numpy.dtype):
            return id(usual(key))
        if key in _OBJECTS:
            return id(_OBJECTS[key])
        if key in _FUNCTIONS:
            return ctypes.cast(_FUNCTIONS[key], ctypes.c_void_p).value or 0
        if not addresses.get(key):
            raise BuildError(f"native code needs {key!r}, which is not there.")
        return addresses[key]


# Between the two no object of Python may be touched; memory of arrays may, which callers hold. In free-threaded builds
# they let the interpreter pause all threads, to collect garbage, without waiting for this one.
_FUNCTIONS: dict[Any, Any] = {
    SAVE: ctypes.pythonapi.PyEval_SaveThread,
    RESTORE: ctypes.pythonapi.PyEval_RestoreThread,
}
_OBJECTS: dict[Any, Any] = {NONE: None, MISMATCH: ARGUMENT_MISMATCH, ARRAY: numpy.ndarray}
