"""The binary interface of generated functions, which Python calls as builtins.

`PyObject *f(PyObject *self, PyObject *const *args, Py_ssize_t n)`: `self` is the table of what differs between
processes, or between contexts (`address_table`), so that the code can be kept in a cache; `args` are arrays of NumPy's.

Code for one shape and dtype would read out of bounds in an array of another. So a function first checks its arguments:
are they NumPy arrays, of this dtype and shape, C-contiguous, aligned, and writeable where they are written to? That
takes some nanoseconds each. If one is not, it does nothing, and returns `MISMATCH`.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

import numpy

from minpy.backends.native.codegen.function_writer import FunctionWriter
from minpy.backends.native.machine.python_builtins import offsets
from minpy.backends.native.runtime.address_table import ARRAY, DESK, MISMATCH, NONE, RESTORE, SAVE, SHARE, Table

__all__ = ["PIECES", "BuiltinWriter", "write_check"]

_C_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400  # of NumPy's ndarraytypes.h
# Into so many pieces a shared range is cut, so that both threads end at about the same time.
PIECES = 8


def _field(code: FunctionWriter, instance: str, offset: int, kind: str = "ptr") -> str:
    """Read a field of an object."""
    return code.put(f"load {kind}, ptr {code.address(instance, 'i8', offset)}, align {4 if kind == 'i32' else 8}")


def write_check(
    code: FunctionWriter,
    instance: str,
    kind: str,
    dtype: str,
    otherwise: str,
    written: bool,
    shape: Sequence[int] | None = None,
) -> None:
    """Write the code that checks an object, and branches to the block `otherwise` if it is not such an array.

    `kind` and `dtype` are pointers to NumPy's class of arrays and to the dtype's object. Without `shape` it may be any.
    """
    at = offsets()
    # What is no array may have no further fields, and an array of other axes no such lengths.
    code.go_on_if(code.put(f"icmp eq ptr {_field(code, instance, at.kind)}, {kind}"), otherwise)
    required = _C_CONTIGUOUS | _ALIGNED | (_WRITEABLE if written else 0)
    flags = code.put(f"and i32 {_field(code, instance, at.flags, 'i32')}, {required}")
    tests = [] if shape is None else [code.put(f"icmp eq i32 {_field(code, instance, at.axes, 'i32')}, {len(shape)}")]
    tests.append(code.put(f"icmp eq ptr {_field(code, instance, at.dtype)}, {dtype}"))
    tests.append(code.put(f"icmp eq i32 {flags}, {required}"))
    code.go_on_if_all(tests, otherwise)
    if shape:
        lengths = _field(code, instance, at.shape)
        addresses = [code.address(lengths, "i64", axis) for axis in range(len(shape))]
        loaded = [code.put(f"load i64, ptr {address}") for address in addresses]
        tests = [code.put(f"icmp eq i64 {value}, {length}") for value, length in zip(loaded, shape, strict=True)]
        code.go_on_if_all(tests, otherwise)


class BuiltinWriter(FunctionWriter):
    """The body of a function that Python calls as a builtin; it ends in the block 'mismatch' where arrays do not fit.

    Parameters
    ----------
    table : Table
        Takes what the function refers to.
    """

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table
        self._entries: dict[Hashable, str] = {}
        self._entries_begin = self.data("%self")

    def data(self, instance: str) -> str:
        """Return where the elements of an array begin."""
        return _field(self, instance, offsets().data)

    def shape(self, instance: str) -> tuple[str, str]:
        """Return how many axes an array has, and where their lengths are."""
        axes = _field(self, instance, offsets().axes, "i32")
        return self.put(f"zext i32 {axes} to i64"), _field(self, instance, offsets().shape)

    def argument(self, index: int | str) -> str:
        """Return an argument: an array of NumPy's."""
        return self.put(f"load ptr, ptr {self.address('%args', 'ptr', index)}")

    def entry(self, key: Hashable) -> str:
        """Return an entry of the table, which is read once."""
        if key not in self._entries:
            self._entries[key] = self.entry_here(key)
        return self._entries[key]

    def entry_here(self, key: Hashable) -> str:
        """Return an entry of the table, read here."""
        return self.put(f"load ptr, ptr {self.address(self._entries_begin, 'ptr', self._table.slot(key))}")

    def check(self, instance: str, dtype: numpy.dtype, written: bool, shape: Sequence[int] | None = None) -> None:
        """Write the code that checks an argument."""
        write_check(self, instance, self.entry(ARRAY), self.entry(dtype), "mismatch", written, shape)

    def check_no_alias(self, ranges: Sequence[tuple[str, int | str]], exclusive: Sequence[int]) -> None:
        """Write the code that checks whether some ranges share a byte with another one.

        Ranges are pointers to where they begin, and their lengths in bytes; `exclusive` the positions of those that
        may share none.
        """
        pairs = {(min(pair), max(pair)) for first in exclusive for pair in ((first, n) for n in range(len(ranges)))}
        pairs = {pair for pair in pairs if pair[0] != pair[1] and all(ranges[position][1] != 0 for position in pair)}
        used = sorted({position for pair in pairs for position in pair})
        begins = {position: self.put(f"ptrtoint ptr {ranges[position][0]} to i64") for position in used}
        ends = {position: self.put(f"add i64 {begins[position]}, {ranges[position][1]}") for position in used}
        tests = []
        for first, second in sorted(pairs):
            before = self.put(f"icmp ule i64 {ends[first]}, {begins[second]}")
            after = self.put(f"icmp ule i64 {ends[second]}, {begins[first]}")
            tests.append(self.put(f"or i1 {before}, {after}"))
        self.go_on_if_all(tests, "mismatch")

    @contextmanager
    def unlocked(self, releases: bool = True) -> Iterator[None]:
        """Let other threads of Python run while what is written inside does, if it takes long."""
        state = self.put(f"call ptr {self.entry(SAVE)}()") if releases else ""
        yield
        if releases:
            self.do(f"call void {self.entry(RESTORE)}(ptr {state})")

    def share(self, task: str, block: str, count: int | str, pieces: int = PIECES) -> None:
        """Write the call of a task for a range that the helper thread shares."""
        function, desk = self.entry(SHARE), self.entry(DESK)
        self.do(f"call void {function}(ptr {desk}, ptr @{task}, ptr {block}, i64 0, i64 {count}, i64 {pieces})")

    def function(self, name: str, can_mismatch: bool = True) -> str:
        """Return the whole function, which returns None, or the mismatch marker where arrays do not fit."""
        self._return(self.entry(NONE))
        if can_mismatch:
            self.begin("mismatch")
            self._return(self.entry_here(MISMATCH))
        return f"define ptr @{name}(ptr %self, ptr %args, i64 %n) {{\n{self.text()}\n}}\n"

    def _return(self, instance: str) -> None:
        if sys.version_info < (3, 12):  # later, None and its kind are not counted
            count = self.put(f"load i64, ptr {instance}")
            self.do(f"store i64 {self.put(f'add i64 {count}, 1')}, ptr {instance}")
        self.do(f"ret ptr {instance}")
