"""Segments: works that follow each other, as one function of native code that Python calls as a builtin.

`PyObject *segment(PyObject *self, PyObject *const *args, Py_ssize_t n)`: `self` is the table of addresses, `args` are
arrays of NumPy's. What differs between processes, or between runners, comes from the table, so that the code can be
kept in a cache. Long segments let go of Python's lock while they run.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence

from minpy.graph.native.arguments import Argument, offsets, write_check
from minpy.graph.native.kernels.kernel import Kernel
from minpy.graph.native.language import Array
from minpy.graph.native.machine.blas import ROW_MAJOR
from minpy.graph.native.memory import Memory, Whereabouts
from minpy.graph.native.table import ARENA, ARRAY, NONE, RESTORE, SAVE, UNFIT, Table
from minpy.graph.native.works import CopyRun, GemmRun, Work
from minpy.graph.native.writing import Writer

__all__ = ["Segment", "seconds"]

# What this kind of processor does in a second on one core, roughly: to tell what takes long enough for a step aside.
_FLOPS, _BYTES = 2e9, 1e10
# Other threads of Python run meanwhile, if it takes longer than some switches between them.
_LONG = 20e-6


def seconds(works: Sequence[Work]) -> float:
    """Return about how long works take."""
    return sum(max(work.flops / _FLOPS, work.bytes_moved / _BYTES) for work in works)


class Segment:
    """Works as one function.

    Parameters
    ----------
    name : str
        Of the function.
    numbered : sequence of (int, Work)
        The works with their numbers in the plan of the memory.
    memory : Memory
    arguments : sequence of Array
        Whose memory the function is given, in this order: owners that have no place in the block.
    given : mapping of Array to Argument
        Those among them that have to be looked at first, as they come from callers.
    table : Table
    integer : str
        The type of BLAS's integers.
    """

    def __init__(
        self,
        name: str,
        numbered: Sequence[tuple[int, Work]],
        memory: Memory,
        arguments: Sequence[Array],
        given: Mapping[Array, Argument],
        table: Table,
        integer: str = "i64",
    ) -> None:
        self.name = name
        self.numbered = numbered
        self.memory = memory
        self.arguments = list(arguments)
        self.given = given
        self.table = table
        self.integer = integer
        self.seconds = seconds([work for _, work in numbered])
        self._entries: dict[Hashable, str] = {}
        self._pointers: dict[tuple[Array, int], str] = {}

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels that it calls."""
        runs = [run.kernel if isinstance(run, CopyRun) else run for _, work in self.numbered for run in work.runs]
        return [run for run in runs if isinstance(run, Kernel)]

    def text(self, names: Mapping[Kernel, str]) -> str:
        """Return the function, given the names of the kernels' functions."""
        self._code = code = Writer()
        self._entries, self._pointers = {}, {}
        self._table = code.put(f"load ptr, ptr {code.at('%self', 'i8', offsets().data)}")
        things = [code.put(f"load ptr, ptr {code.at('%args', 'ptr', index)}") for index in range(len(self.arguments))]
        checked = [(thing, array) for thing, array in zip(things, self.arguments, strict=True) if array in self.given]
        for _, array in checked:
            self._entry(array.dtype)
        unfit = self._entry(UNFIT) if checked else ""
        for thing, array in checked:
            write_check(code, thing, self.given[array], self._entry(ARRAY), self._entry(array.dtype), "unfit")
        self._bases = {
            array: code.put(f"load ptr, ptr {code.at(thing, 'i8', offsets().data)}")
            for thing, array in zip(things, self.arguments, strict=True)
        }
        lets_go = self.seconds >= _LONG
        state = code.put(f"call ptr {self._entry(SAVE)}()") if lets_go else ""
        for number, work in self.numbered:
            for run in work.runs:
                if isinstance(run, GemmRun):
                    self._gemm(run)
                elif isinstance(run, Kernel):
                    self._kernel(run, names, number)
                elif self._address(run.source) != self._address(run.target):
                    self._kernel(run.kernel, names, number)
        if lets_go:
            code.do(f"call void {self._entry(RESTORE)}(ptr {state})")
        self._return(self._entry(NONE))
        if checked:
            code.label("unfit")
            self._return(unfit)
        return f"define ptr @{self.name}(ptr %self, ptr %args, i64 %n) {{\n{code.text()}\n}}\n"

    def _return(self, thing: str) -> None:
        if sys.version_info < (3, 12):  # later, None and its kind are not counted
            count = self._code.put(f"load i64, ptr {thing}")
            self._code.do(f"store i64 {self._code.put(f'add i64 {count}, 1')}, ptr {thing}")
        self._code.do(f"ret ptr {thing}")

    # -- memory ------------------------------------------------------------------------------------------------------

    def _entry(self, key: Hashable) -> str:
        """Return an entry of the table, which is read once."""
        if key not in self._entries:
            place = self._code.at(self._table, "ptr", self.table.slot(key))
            self._entries[key] = self._code.put(f"load ptr, ptr {place}")
        return self._entries[key]

    def _address(self, where: Whereabouts) -> tuple[str, int]:
        """Return a base and an offset in bytes."""
        owner, offset = where.owner, where.layout.offset * where.owner.dtype.itemsize
        if owner in self._bases:
            return self._bases[owner], offset
        if owner in self.memory.offsets:
            return self._entry(ARENA), self.memory.offsets[owner] + offset
        assert owner.is_constant, f"{owner} has no memory"
        return self._entry(owner), offset

    def _pointer(self, where: Whereabouts) -> str:
        base, offset = self._address(where)
        return self._moved(base, offset)

    def _moved(self, base: str, offset: int) -> str:
        return self._code.at(base, "i8", offset)

    # -- runs --------------------------------------------------------------------------------------------------------

    def _kernel(self, kernel: Kernel, names: Mapping[Kernel, str], number: int) -> None:
        given = []
        for pointer in kernel.pointers:
            owner, layout = self.memory.whereabouts(pointer.array)
            place = layout._replace(offset=layout.offset + pointer.offset)
            given.append(f"ptr {self._pointer(Whereabouts(owner, place))}")
        scratch = "null"
        if kernel.scratch:
            scratch = self._moved(self._entry(ARENA), self.memory.scratch[number])
        given += [f"ptr {scratch}", "i64 0", f"i64 {max(kernel.splits, 1)}"]
        self._code.do(f"call void @{names[kernel]}({', '.join(given)})")

    def _gemm(self, run: GemmRun) -> None:
        code, gemm, integer = self._code, run.gemm, self.integer
        kind = "double" if gemm.double else "float"
        function = self._entry("dgemm" if gemm.double else "sgemm")
        pointers = [self._pointer(where) for where in (run.first, run.second, run.result)]
        loops = []
        for length, *strides in gemm.stack:
            loop = code.begin(length)
            loops.append(loop)
            pointers = [
                code.at(pointer, kind, loop.counter, stride) for pointer, stride in zip(pointers, strides, strict=True)
            ]
        first, second, result = pointers
        enumerations = [f"i32 {one}" for one in (ROW_MAJOR, gemm.first.turned, gemm.second.turned)]
        sizes = [f"{integer} {one}" for one in (gemm.rows, gemm.columns, gemm.depth)]
        code.do(
            f"call void {function}({', '.join(enumerations + sizes)}, {kind} 1.0, ptr {first}, "
            f"{integer} {gemm.first.leading}, ptr {second}, {integer} {gemm.second.leading}, "
            f"{kind} {'1.0' if run.adds else '0.0'}, ptr {result}, {integer} {gemm.leading})"
        )
        for loop in reversed(loops):
            code.end(loop)
