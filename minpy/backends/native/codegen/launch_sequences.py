"""Launch sequences: launches that follow each other, as one builtin of native code (see `builtin_writer`)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from minpy.backends.native.codegen.builtin_writer import PIECES, BuiltinWriter, write_check
from minpy.backends.native.codegen.caller_interface import Interface
from minpy.backends.native.codegen.function_writer import FunctionWriter
from minpy.backends.native.codegen.launches import Copy, Launch, is_shared, scratch_step
from minpy.backends.native.codegen.matrix_products import Gemm
from minpy.backends.native.codegen.memory_layout import Allocation, Memory
from minpy.backends.native.kernels.kernel import Kernel
from minpy.backends.native.language import Array
from minpy.backends.native.machine.numpy_blas import NO_TRANS, ROW_MAJOR, TRANS
from minpy.backends.native.runtime.address_table import ARENA, ARRAY, Table
from minpy.backends.native.runtime.argument_coercion import Argument

__all__ = ["LaunchSequence", "task_text"]

# Other threads of Python run meanwhile, if a sequence takes longer than some switches between them.
_LONG = 20e-6
# Up to so many arguments are checked inline, which is fastest; more, by functions.
_CHECKED_INLINE = 32


@dataclass(eq=False)
class LaunchSequence:
    """Launches, with their numbers in the plan of the memory, as one function of a name.

    It is given the memory of `arguments`, owners that have no place in the block, in this order; those of callers are
    checked first (`checked`). `integer` is the type of BLAS's integers; a kernel may run in 1 or 2
    `threads`. `prepared` stands for the block of what outlives the call.
    """

    name: str
    numbered: Sequence[tuple[int, Launch]]
    arguments: Sequence[Array]
    checked: Mapping[Array, Argument]
    interface: Interface
    memory: Memory
    table: Table
    integer: str
    threads: int
    prepared: Array | None

    def __post_init__(self) -> None:
        self.seconds = sum(launch.seconds for _, launch in self.numbered)
        self._positions: dict[Hashable, int] = {array: index for index, array in enumerate(self.arguments)}

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels that it calls."""
        runs = [run.kernel if isinstance(run, Copy) else run for _, launch in self.numbered for run in launch.runs]
        return [run for run in runs if isinstance(run, Kernel)]

    def text(self, names: Mapping[Kernel, str]) -> str:
        """Return the function, given the names of the kernels' functions."""
        self._code = code = BuiltinWriter(self.table)
        shared = [len(kernel.pointers) + 1 for kernel in self.kernels if self.is_shared(kernel)]
        if shared:
            code.do(f"%block = alloca [{max(shared)} x ptr], align 64")
        checks = self._write_checks()
        if exclusive := [index for index, array in enumerate(self.checked) if array in self.interface.no_alias]:
            code.check_no_alias([(self._base_address(array), array.nbytes) for array in self.checked], exclusive)
        with code.unlocked(self.seconds >= _LONG):
            for number, launch in self.numbered:
                for run in launch.runs:
                    if isinstance(run, Gemm):
                        self._gemm(run)
                    elif isinstance(run, Kernel):
                        self._kernel(run, names, number)
                    elif self._location(run.source) != self._location(run.target):
                        self._kernel(run.kernel, names, number)
        return checks + code.function(self.name, bool(self.checked))

    def _write_checks(self) -> str:
        """Write the code that checks arguments, and return functions that it calls.

        Where there are many, most are alike, as layers are: those are checked by one function. What is written for
        each of hundreds takes LLVM time that grows with the square of their number.
        """
        code, functions = self._code, dict[Argument, str]()
        checked = [(self._positions[array], argument) for array, argument in self.checked.items()]
        if len(checked) <= _CHECKED_INLINE:
            for index, argument in checked:
                code.check(code.argument(index), argument.dtype, argument.written, argument.shape)
            return ""
        for start in range(0, len(checked), _CHECKED_INLINE):
            tests = []
            for index, argument in checked[start : start + _CHECKED_INLINE]:
                name = functions.setdefault(replace(argument, name=""), f"{self.name}_fits{len(functions)}")
                pointers = (code.argument(index), code.entry(ARRAY), code.entry(argument.dtype))
                tests.append(code.put(f"call i1 @{name}({', '.join(f'ptr {pointer}' for pointer in pointers)})"))
            code.go_on_if_all(tests, "mismatch")
        return "".join(_check_text(name, argument) for argument, name in functions.items())

    # -- memory ------------------------------------------------------------------------------------------------------

    def _location(self, where: Allocation) -> tuple[Hashable, int]:
        """Return what memory lies in, the block or an argument or a constant, and an offset in bytes."""
        owner, offset = where.owner, where.layout.offset * where.owner.dtype.itemsize
        if owner in self.memory.offsets:
            return ARENA, self.memory.offsets[owner] + offset
        if owner in self.memory.prepared:
            assert self.prepared is not None
            return self.prepared, self.memory.prepared[owner] + offset
        owner = self.interface.direct.get(owner, self.memory.heirs.get(owner, owner))
        assert owner in self._positions or owner.is_constant, f"{owner} has no memory"
        return owner, offset

    def _base_address(self, owner: Hashable) -> str:
        """Return where the block, the memory of an argument, or a constant begins.

        What hundreds of arguments give is read again for each use, rather than kept on the stack all along.
        """
        if owner == ARENA:
            return self._code.entry(ARENA)
        if owner not in self._positions:
            return self._code.entry_here(owner)
        return self._code.data(self._code.argument(self._positions[owner]))

    def _pointer(self, where: Allocation) -> str:
        owner, offset = self._location(where)
        return self._code.address(self._base_address(owner), "i8", offset)

    # -- what runs -----------------------------------------------------------------------------------------------------

    def _kernel(self, kernel: Kernel, names: Mapping[Kernel, str], number: int) -> None:
        code = self._code
        arguments = []
        for pointer in kernel.pointers:
            owner, layout = self.memory.allocation(pointer.array)
            place = layout._replace(offset=layout.offset + pointer.offset)
            arguments.append(f"ptr {self._pointer(Allocation(owner, place))}")
        scratch = code.address(code.entry(ARENA), "i8", self.memory.scratch[number]) if kernel.scratch else "null"
        arguments.append(f"ptr {scratch}")
        name, begin = names[kernel], 0
        if self.is_shared(kernel):
            for index, argument in enumerate(arguments):
                code.do(f"store {argument}, ptr {code.address('%block', 'ptr', index)}")
            code.share(f"{name}_task", "%block", kernel.splits, min(kernel.splits, PIECES))
            if kernel.partials is None:
                return
            begin = kernel.splits
        code.do(f"call void @{name}({', '.join(arguments)}, i64 {begin}, i64 {kernel.end})")

    def is_shared(self, kernel: Kernel) -> bool:
        """Tell whether the helper thread does a part of a kernel."""
        return self.threads > 1 and is_shared(kernel)

    def _gemm(self, gemm: Gemm) -> None:
        code, integer = self._code, self.integer
        kind = "double" if gemm.double else "float"
        pointers = [self._pointer(where) for where in gemm.places]
        factor = "1.0" if gemm.adds else "0.0"
        if gemm.rows == 1 and not gemm.stack:
            # The product of one row by a matrix: BLAS's product of matrices would pack the matrix first.
            is_turned = gemm.second.turned != NO_TRANS
            rows, columns = (gemm.columns, gemm.depth) if is_turned else (gemm.depth, gemm.columns)
            step = gemm.first.leading if gemm.first.turned != NO_TRANS else 1
            first, second, result = pointers
            code.do(
                f"call void {code.entry('dgemv' if gemm.double else 'sgemv')}(i32 {ROW_MAJOR}, "
                f"i32 {NO_TRANS if is_turned else TRANS}, {integer} {rows}, {integer} {columns}, {kind} 1.0, "
                f"ptr {second}, {integer} {gemm.second.leading}, ptr {first}, {integer} {step}, {kind} {factor}, "
                f"ptr {result}, {integer} 1)"
            )
            return
        function = code.entry("dgemm" if gemm.double else "sgemm")
        with ExitStack() as loops:
            for length, *strides in gemm.stack:
                index = loops.enter_context(code.counted(0, length, runs=True)).counter
                pointers = [
                    code.address(pointer, kind, index, stride)
                    for pointer, stride in zip(pointers, strides, strict=True)
                ]
            first, second, result = pointers
            code.do(
                f"call void {function}(i32 {ROW_MAJOR}, i32 {gemm.first.turned}, i32 {gemm.second.turned}, "
                f"{integer} {gemm.rows}, {integer} {gemm.columns}, {integer} {gemm.depth}, {kind} 1.0, "
                f"ptr {first}, {integer} {gemm.first.leading}, ptr {second}, {integer} {gemm.second.leading}, "
                f"{kind} {factor}, ptr {result}, {integer} {gemm.leading})"
            )


def _check_text(name: str, argument: Argument) -> str:
    """Return the function that tells whether an object is the array that an argument has to be."""
    code = FunctionWriter()
    write_check(code, "%thing", "%kind", "%dtype", "mismatch", argument.written, argument.shape)
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
    pointers = [code.put(f"load ptr, ptr {code.address('%block', 'ptr', index)}") for index in range(count)]
    if kernel.scratch:
        pointers[-1] = code.address(pointers[-1], "i8", "%who", scratch_step(kernel))
    code.do(f"call void @{name}({', '.join(f'ptr {pointer}' for pointer in pointers)}, i64 %begin, i64 %end)")
    code.do("ret void")
    return f"define internal void @{name}_task(ptr %block, i64 %begin, i64 %end, i64 %who) {{\n{code.text()}\n}}\n"
