"""Segments: works that follow each other, as one function of native code that Python calls as a builtin.

`PyObject *segment(PyObject *self, PyObject *const *args, Py_ssize_t n)`: `self` is the table of addresses, `args` are
arrays of NumPy's. What differs between processes, or between runners, comes from the table, so that the code can be
kept in a cache. Long segments let go of Python's lock while they run.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence

from minpy.graph.native.arguments import Argument, offsets, write_apart, write_check
from minpy.graph.native.kernels.kernel import Kernel
from minpy.graph.native.language import Array
from minpy.graph.native.machine.blas import NO_TRANS, ROW_MAJOR, TRANS
from minpy.graph.native.memory import Memory, Whereabouts
from minpy.graph.native.table import ARENA, ARRAY, DESK, NONE, RESTORE, SAVE, SHARE, UNFIT, Table
from minpy.graph.native.works import CopyRun, GemmRun, Work, is_shared, scratch_step
from minpy.graph.native.writing import Writer

__all__ = ["Segment", "task_text"]

# Other threads of Python run meanwhile, if a segment takes longer than some switches between them.
_LONG = 20e-6
# Into so many pieces a shared range is cut, so that both threads end at about the same time.
_PIECES = 8


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
    threads : int
        In how many threads a kernel may run: 1 or 2.
    direct : mapping of Array to Array, optional
        Owners that lie in others, which are given.
    prepared : Array, optional
        What stands for the block of what outlives the call, among the arguments.
    apart : sequence of Array
        Those that are given that may share memory with no other one.
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
        threads: int = 1,
        direct: Mapping[Array, Array] | None = None,
        prepared: Array | None = None,
        apart: Sequence[Array] = (),
    ) -> None:
        self.name = name
        self.numbered = numbered
        self.memory = memory
        self.arguments = list(arguments)
        self.given = given
        self.table = table
        self.integer = integer
        self.threads = threads
        self.direct = {**memory.heirs, **(direct or {})}
        self.prepared = prepared
        self.apart = [array for array in apart if array in given]
        self.seconds = sum(work.seconds for _, work in numbered)
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
        shared = [len(kernel.pointers) + 1 for kernel in self.kernels if self.is_shared(kernel)]
        if shared:
            code.do(f"%block = alloca [{max(shared)} x ptr], align 64")
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
        ranges = [(self._bases[array], array.nbytes) for _, array in checked]
        alone = [index for index, (_, array) in enumerate(checked) if array in self.apart]
        write_apart(code, ranges, alone, "unfit")
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
        if owner in self.memory.offsets:
            return self._entry(ARENA), self.memory.offsets[owner] + offset
        if owner in self.memory.prepared:
            assert self.prepared is not None
            return self._bases[self.prepared], self.memory.prepared[owner] + offset
        owner = self.direct.get(owner, owner)
        if owner in self._bases:
            return self._bases[owner], offset
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
        if self.is_shared(kernel):
            self._share(kernel, [*given, f"ptr {scratch}"], names)
            return
        given += [f"ptr {scratch}", "i64 0", f"i64 {kernel.end}"]
        self._code.do(f"call void @{names[kernel]}({', '.join(given)})")

    def is_shared(self, kernel: Kernel) -> bool:
        """Tell whether the helper thread does a part of a kernel."""
        return self.threads > 1 and is_shared(kernel)

    def _share(self, kernel: Kernel, given: Sequence[str], names: Mapping[Kernel, str]) -> None:
        code = self._code
        for index, one in enumerate(given):
            code.do(f"store {one}, ptr {code.at('%block', 'ptr', index)}")
        function, desk = self._entry(SHARE), self._entry(DESK)
        code.do(
            f"call void {function}(ptr {desk}, ptr @{names[kernel]}_task, ptr %block, i64 0, i64 {kernel.splits}, "
            f"i64 {min(kernel.splits, _PIECES)})"
        )
        if kernel.partials is not None:
            code.do(f"call void @{names[kernel]}({', '.join(given)}, i64 {kernel.splits}, i64 {kernel.end})")

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
        if gemm.rows == 1 and not gemm.stack:
            self._gemv(run, first, second, result)
            return
        enumerations = [f"i32 {one}" for one in (ROW_MAJOR, gemm.first.turned, gemm.second.turned)]
        sizes = [f"{integer} {one}" for one in (gemm.rows, gemm.columns, gemm.depth)]
        code.do(
            f"call void {function}({', '.join(enumerations + sizes)}, {kind} 1.0, ptr {first}, "
            f"{integer} {gemm.first.leading}, ptr {second}, {integer} {gemm.second.leading}, "
            f"{kind} {'1.0' if run.adds else '0.0'}, ptr {result}, {integer} {gemm.leading})"
        )
        for loop in reversed(loops):
            code.end(loop)

    def _gemv(self, run: GemmRun, first: str, second: str, result: str) -> None:
        """Write the product of one row by a matrix: BLAS's product of matrices would pack the matrix first."""
        gemm, integer = run.gemm, self.integer
        kind = "double" if gemm.double else "float"
        function = self._entry("dgemv" if gemm.double else "sgemv")
        is_turned = gemm.second.turned != NO_TRANS
        rows, columns = (gemm.columns, gemm.depth) if is_turned else (gemm.depth, gemm.columns)
        step = gemm.first.leading if gemm.first.turned != NO_TRANS else 1
        self._code.do(
            f"call void {function}(i32 {ROW_MAJOR}, i32 {NO_TRANS if is_turned else TRANS}, {integer} {rows}, "
            f"{integer} {columns}, {kind} 1.0, ptr {second}, {integer} {gemm.second.leading}, ptr {first}, "
            f"{integer} {step}, {kind} {'1.0' if run.adds else '0.0'}, ptr {result}, {integer} 1)"
        )


def task_text(kernel: Kernel, name: str) -> str:
    """Return the function that a thread calls for its part of a kernel: `void NAME_task(block, begin, end, who)`.

    The block holds the pointers that the kernel takes, the last of them to the scratch memory of all threads.
    """
    code = Writer()
    count = len(kernel.pointers) + 1
    given = [code.put(f"load ptr, ptr {code.at('%block', 'ptr', index)}") for index in range(count)]
    if kernel.scratch:
        given[-1] = code.at(given[-1], "i8", "%who", scratch_step(kernel))
    code.do(f"call void @{name}({', '.join(f'ptr {one}' for one in given)}, i64 %begin, i64 %end)")
    code.do("ret void")
    return f"define internal void @{name}_task(ptr %block, i64 %begin, i64 %end, i64 %who) {{\n{code.text()}\n}}\n"
