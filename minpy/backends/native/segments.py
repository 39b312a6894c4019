"""Segments: works that follow each other, as one function of native code that Python calls as a builtin.

`PyObject *segment(PyObject *self, PyObject *const *args, Py_ssize_t n)`: `self` is the table of addresses, `args` are
arrays of NumPy's. What differs between processes, or between contexts, comes from the table, so that the code can be
kept in a cache. Long segments let go of Python's lock while they run.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from minpy.backends.native.arguments import Argument, offsets, write_apart, write_check
from minpy.backends.native.kernels.kernel import Kernel
from minpy.backends.native.language import Array
from minpy.backends.native.llvm_ir import FunctionWriter
from minpy.backends.native.machine.blas import NO_TRANS, ROW_MAJOR, TRANS
from minpy.backends.native.memory import Allocation, Memory
from minpy.backends.native.table import ARENA, ARRAY, DESK, MISMATCH, NONE, RESTORE, SAVE, SHARE, Table
from minpy.backends.native.works import CopyRun, GemmRun, Work, is_shared, scratch_step

__all__ = ["Segment", "task_text"]

# Other threads of Python run meanwhile, if a segment takes longer than some switches between them.
_LONG = 20e-6
# Into so many pieces a shared range is cut, so that both threads end at about the same time.
_PIECES = 8
# So many arguments are looked at where they are taken, which is fastest; more than these, by functions.
_CHECKED_INLINE = 32


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

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels that it calls."""
        runs = [run.kernel if isinstance(run, CopyRun) else run for _, work in self.numbered for run in work.runs]
        return [run for run in runs if isinstance(run, Kernel)]

    def text(self, names: Mapping[Kernel, str]) -> str:
        """Return the function, given the names of the kernels' functions."""
        self._code = code = FunctionWriter()
        self._entries = {}
        shared = [len(kernel.pointers) + 1 for kernel in self.kernels if self.is_shared(kernel)]
        if shared:
            code.do(f"%block = alloca [{max(shared)} x ptr], align 64")
        self._table = code.put(f"load ptr, ptr {code.address('%self', 'i8', offsets().data)}")
        checked = [(index, array) for index, array in enumerate(self.arguments) if array in self.given]
        for _, array in checked:
            self._entry(array.dtype)
        mismatch = self._entry(MISMATCH) if checked else ""
        checks = self._checks(checked)
        self._places: dict[Hashable, int] = {array: index for index, array in enumerate(self.arguments)}
        if self.apart:
            ranges = [(self._base(array), array.nbytes) for _, array in checked]
            alone = [index for index, (_, array) in enumerate(checked) if array in self.apart]
            write_apart(code, ranges, alone, "mismatch")
        lets_go = self.seconds >= _LONG
        state = code.put(f"call ptr {self._entry(SAVE)}()") if lets_go else ""
        for number, work in self.numbered:
            for run in work.runs:
                if isinstance(run, GemmRun):
                    self._gemm(run)
                elif isinstance(run, Kernel):
                    self._kernel(run, names, number)
                elif self._place(run.source) != self._place(run.target):
                    self._kernel(run.kernel, names, number)
        if lets_go:
            code.do(f"call void {self._entry(RESTORE)}(ptr {state})")
        self._return(self._entry(NONE))
        if checked:
            code.begin("mismatch")
            self._return(mismatch)
        return f"{checks}define ptr @{self.name}(ptr %self, ptr %args, i64 %n) {{\n{code.text()}\n}}\n"

    def _checks(self, checked: Sequence[tuple[int, Array]]) -> str:
        """Write the code that looks at arguments, and return functions that it calls.

        Where there are many, most are alike, as layers are: those are looked at by one function. What is written for
        each of hundreds takes LLVM time that grows with the square of their number.
        """
        code, functions = self._code, dict[Argument, str]()
        if len(checked) <= _CHECKED_INLINE:
            for index, array in checked:
                thing = self._thing(index)
                write_check(code, thing, self.given[array], self._entry(ARRAY), self._entry(array.dtype), "mismatch")
            return ""
        found = "true"
        for number, (index, array) in enumerate(checked, 1):
            name = functions.setdefault(replace(self.given[array], name=""), f"{self.name}_fits{len(functions)}")
            given = ", ".join(
                f"ptr {one}" for one in (self._thing(index), self._entry(ARRAY), self._entry(array.dtype))
            )
            found = code.put(f"and i1 {found}, {code.put(f'call i1 @{name}({given})')}")
            if number % _CHECKED_INLINE == 0 or number == len(checked):
                code.go_on_if(found, "mismatch")
                found = "true"
        return "".join(_check_text(name, argument) for argument, name in functions.items())

    def _return(self, thing: str) -> None:
        if sys.version_info < (3, 12):  # later, None and its kind are not counted
            count = self._code.put(f"load i64, ptr {thing}")
            self._code.do(f"store i64 {self._code.put(f'add i64 {count}, 1')}, ptr {thing}")
        self._code.do(f"ret ptr {thing}")

    # -- memory ------------------------------------------------------------------------------------------------------

    def _entry(self, key: Hashable) -> str:
        """Return an entry of the table, which is read once."""
        if key not in self._entries:
            self._entries[key] = self._loaded(key)
        return self._entries[key]

    def _loaded(self, key: Hashable) -> str:
        """Return an entry of the table, read here."""
        return self._code.put(f"load ptr, ptr {self._code.address(self._table, 'ptr', self.table.slot(key))}")

    def _place(self, where: Allocation) -> tuple[Hashable, int]:
        """Return what memory lies in, the block or an argument or a constant, and an offset in bytes."""
        owner, offset = where.owner, where.layout.offset * where.owner.dtype.itemsize
        if owner in self.memory.offsets:
            return ARENA, self.memory.offsets[owner] + offset
        if owner in self.memory.prepared:
            assert self.prepared is not None
            return self.prepared, self.memory.prepared[owner] + offset
        owner = self.direct.get(owner, owner)
        assert owner in self._places or owner.is_constant, f"{owner} has no memory"
        return owner, offset

    def _thing(self, index: int) -> str:
        """Return an argument: an array of NumPy's."""
        return self._code.put(f"load ptr, ptr {self._code.address('%args', 'ptr', index)}")

    def _base(self, owner: Hashable) -> str:
        """Return where the block, the memory of an argument, or a constant begins.

        What hundreds of arguments give is read again for each use, rather than kept on the stack all along.
        """
        if owner == ARENA:
            return self._entry(ARENA)
        if owner not in self._places:
            return self._loaded(owner)
        thing = self._thing(self._places[owner])
        return self._code.put(f"load ptr, ptr {self._code.address(thing, 'i8', offsets().data)}")

    def _pointer(self, where: Allocation) -> str:
        owner, offset = self._place(where)
        return self._moved(self._base(owner), offset)

    def _moved(self, base: str, offset: int) -> str:
        return self._code.address(base, "i8", offset)

    # -- runs --------------------------------------------------------------------------------------------------------

    def _kernel(self, kernel: Kernel, names: Mapping[Kernel, str], number: int) -> None:
        given = []
        for pointer in kernel.pointers:
            owner, layout = self.memory.allocation(pointer.array)
            place = layout._replace(offset=layout.offset + pointer.offset)
            given.append(f"ptr {self._pointer(Allocation(owner, place))}")
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
            code.do(f"store {one}, ptr {code.address('%block', 'ptr', index)}")
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
        if gemm.rows == 1 and not gemm.stack:
            self._gemv(run, *pointers)
            return
        enumerations = [f"i32 {one}" for one in (ROW_MAJOR, gemm.first.turned, gemm.second.turned)]
        sizes = [f"{integer} {one}" for one in (gemm.rows, gemm.columns, gemm.depth)]
        with ExitStack() as loops:
            for length, *strides in gemm.stack:
                index = loops.enter_context(code.counted(0, length, runs=True)).counter
                pointers = [
                    code.address(pointer, kind, index, stride)
                    for pointer, stride in zip(pointers, strides, strict=True)
                ]
            first, second, result = pointers
            code.do(
                f"call void {function}({', '.join(enumerations + sizes)}, {kind} 1.0, ptr {first}, "
                f"{integer} {gemm.first.leading}, ptr {second}, {integer} {gemm.second.leading}, "
                f"{kind} {'1.0' if run.adds else '0.0'}, ptr {result}, {integer} {gemm.leading})"
            )

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


def _check_text(name: str, argument: Argument) -> str:
    """Return the function that tells whether an object is the array that an argument has to be."""
    code = FunctionWriter()
    write_check(code, "%thing", argument, "%kind", "%dtype", "mismatch")
    code.do("ret i1 true")
    code.begin("mismatch")
    code.do("ret i1 false")
    return f"define internal i1 @{name}(ptr %thing, ptr %kind, ptr %dtype) noinline {{\n{code.text()}\n}}\n"


def task_text(kernel: Kernel, name: str) -> str:
    """Return the function that a thread calls for its part of a kernel: `void NAME_task(block, begin, end, who)`.

    The block holds the pointers that the kernel takes, the last of them to the scratch memory of all threads.
    """
    code = FunctionWriter()
    count = len(kernel.pointers) + 1
    given = [code.put(f"load ptr, ptr {code.address('%block', 'ptr', index)}") for index in range(count)]
    if kernel.scratch:
        given[-1] = code.address(given[-1], "i8", "%who", scratch_step(kernel))
    code.do(f"call void @{name}({', '.join(f'ptr {one}' for one in given)}, i64 %begin, i64 %end)")
    code.do("ret void")
    return f"define internal void @{name}_task(ptr %block, i64 %begin, i64 %end, i64 %who) {{\n{code.text()}\n}}\n"
