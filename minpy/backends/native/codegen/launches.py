"""`Launch`: an item of a schedule as kernels and products of matrices that run one after the other, or as a call.

Kernels and products take pointers to arrays, which the memory plan places. What they cannot read in its layout is
copied before: rows in the wrong order for BLAS, pieces of an assembly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from minpy.backends.memory_planner import ALIGNMENT
from minpy.backends.native.blocked.blocked_kernels import blocked_kernel, is_faster
from minpy.backends.native.blocked.blocking import matrices_of
from minpy.backends.native.codegen.matrix_products import (
    Gemm,
    blas_matrix,
    gemm_of,
    is_row_major,
    is_small,
)
from minpy.backends.native.codegen.memory_layout import Allocation, Uses, allocation, owner_of
from minpy.backends.native.codegen.row_products import covers_row, row_kernel
from minpy.backends.native.fusing.loop_nest import Item, Level, Nest, Place
from minpy.backends.native.kernels.kernel import Kernel, is_long
from minpy.backends.native.kernels.kernel import seconds as seconds_of
from minpy.backends.native.language import Array, Assembly, Call, Elementwise, Layout, Product, constant, contiguous

__all__ = [
    "Copy",
    "Launch",
    "Operation",
    "copied",
    "is_long",
    "is_shared",
    "launch_of",
    "scratch_step",
    "seconds",
]


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy from one allocation to another; where the memory plan makes them the same, nothing is done."""

    kernel: Kernel
    source: Allocation
    target: Allocation
    flops = 0

    @property
    def bytes_moved(self) -> int:
        """The bytes that it reads and writes."""
        return self.kernel.bytes_moved


Operation = Kernel | Gemm | Copy


def seconds(run: Operation) -> float:
    """Return about how long an operation takes in one thread."""
    return seconds_of(run.flops, run.bytes_moved)


def is_shared(kernel: Kernel) -> bool:
    """Tell whether a kernel takes long enough to be cut in two for the helper thread, and can be."""
    return kernel.splits > 1 and is_long(seconds(kernel))


def scratch_step(kernel: Kernel) -> int:
    """Return how far apart the scratch memories of two threads lie, in bytes."""
    return -(-kernel.scratch // ALIGNMENT) * ALIGNMENT


def _scratch(runs: Iterable[Operation]) -> int:
    """Return the bytes of scratch memory that runs need, one after the other."""
    kernels = [run.kernel if isinstance(run, Copy) else run for run in runs if not isinstance(run, Gemm)]
    return max((scratch_step(kernel) * (2 if is_shared(kernel) else 1) for kernel in kernels), default=0)


@dataclass(eq=False, slots=True)
class Launch:
    """An item of a schedule, and the kernels and calls that do it, one after the other; without `is_native` Python."""

    item: Item
    runs: tuple[Operation, ...]
    uses: Uses
    is_native: bool = True

    @property
    def seconds(self) -> float:
        """About how long it takes in one thread."""
        return sum(map(seconds, self.runs))


_KernelOf = Callable[[Nest], Kernel]


def launch_of(item: Item, places: Mapping[Array, Place], kernel_of: _KernelOf, has_blas: bool) -> Launch:
    """Return the launch of an item of a schedule.

    `places` has arrays that lie in the memory of others, `kernel_of` gives the kernel of a nest. Without a BLAS Python
    does products that are not small.
    """
    if isinstance(item, Nest):
        kernel = kernel_of(item)
        uses = _uses([kernel])
        pairs = [
            (kernel.pointers[written].array, kernel.pointers[read].array)
            for written, read in sorted(kernel.in_place)
            if kernel.pointers[written].offset == kernel.pointers[read].offset == 0
        ]
        return Launch(item, (kernel,), uses._replace(in_place=pairs))
    if isinstance(item, Assembly):
        kernels = tuple(map(kernel_of, _assembled(item)))
        return Launch(item, kernels, _uses(kernels))
    if isinstance(item, Call):
        if item.form is None:
            return Launch(item, (), Uses(item.operands, item.outputs), is_native=False)
        kernels = tuple(item.form.kernels(item))
        outside = {owner_of(array, places) for array in (*item.operands, *item.outputs)}
        used = dict.fromkeys(pointer.array for kernel in kernels for pointer in kernel.pointers)
        temporaries = [array for array in used if owner_of(array, places) not in outside and not array.is_constant]
        scratch = _scratch(kernels)
        return Launch(item, kernels, Uses(item.operands, item.outputs, temporaries, scratch))
    return _product(item, places, kernel_of, has_blas)


def _uses(kernels: Sequence[Kernel]) -> Uses:
    pointers = [pointer for kernel in kernels for pointer in kernel.pointers]
    partials = [kernel.partials for kernel in kernels if kernel.partials is not None]
    reads = [pointer.array for pointer in pointers if not pointer.written]
    writes = [pointer.array for pointer in pointers if pointer.written and pointer.array not in partials]
    return Uses(reads, writes, partials, _scratch(kernels))


# -- copies ----------------------------------------------------------------------------------------------------------


def copied(source: Array, target: Array | None = None, layout: Layout | None = None) -> tuple[Nest, Array]:
    """Return the nest that copies an array into new memory, or into that of another, and its output."""
    output = Elementwise.of("copy", source)
    place = None if target is None else Place(target, layout or Layout(0, contiguous(output.shape)))
    step = output.step
    assert isinstance(step, Elementwise)
    return Nest(output.shape, frozenset(), [step], {output: Level.FULL}, {output: 0}, {output: place}), output


def _assembled(assembly: Assembly) -> list[Nest]:
    """Return the nests that fill the memory of an assembly and copy its pieces there, one after the other."""
    nests = []
    output = assembly.output
    if assembly.fill is not None:
        filling = Elementwise.of("copy", constant(assembly.fill, output.dtype))
        filling.shape = output.shape
        step = filling.step
        assert isinstance(step, Elementwise)
        stored: dict[Array, Place | None] = {filling: Place(output, Layout(0, contiguous(output.shape)))}
        nests.append(Nest(output.shape, frozenset(), [step], {filling: Level.FULL}, {filling: 0}, stored))
    for operand, piece in zip(assembly.operands, assembly.pieces, strict=True):
        nests.append(copied(operand, output, piece.layout)[0])
    return nests


# -- products --------------------------------------------------------------------------------------------------------


def _product(item: Product, places: Mapping[Array, Place], kernel_of: _KernelOf, has_blas: bool) -> Launch:
    where = [allocation(operand, places) for operand in item.operands]
    result = allocation(item.output, places)
    # In place only if both have the same layout: a transposed array would be read where the result is already.
    same_layout = len(where) == 3 and where[2].layout == result.layout and not item.operands[2].is_view
    same_layout = same_layout and all(operand.owner is not where[2].owner for operand in where[:2])
    in_place = [(item.output, item.operands[2])] if same_layout else []
    if not item.output.size:
        return Launch(item, (), Uses(item.operands, item.outputs))
    kernel, matrices = None, matrices_of(item, where, result)
    if not is_small(item) and covers_row(item, where, result):
        kernel, in_place = row_kernel(item, where, result), []
    elif matrices is not None and (is_small(item) or is_faster(matrices)):
        kernel = blocked_kernel(matrices, [*where, result])
    if kernel is not None:
        return Launch(item, (kernel,), Uses(item.operands, item.outputs, (), _scratch([kernel]), in_place))
    if not has_blas:
        return Launch(item, (), Uses(item.operands, item.outputs), is_native=False)
    runs: list[Operation] = []
    temporaries: list[Array] = []
    for position, operand in enumerate(item.operands[:2]):
        rows, columns = operand.shape[-2:]
        if blas_matrix(rows, columns, where[position].layout.strides) is None:
            nest, copy = copied(operand)
            runs.append(kernel_of(nest))
            temporaries.append(copy)
            where[position] = allocation(copy, {})
    target = result
    rows, columns = item.output.shape[-2:]
    if not is_row_major(rows, columns, result.layout.strides):
        row_major = Product.of(*item.operands[:2])
        temporaries.append(row_major)
        target = allocation(row_major, {})
        in_place = []
    adds = len(where) == 3
    if adds:
        runs.append(Copy(kernel_of(copied(item.operands[2], target.owner, target.layout)[0]), where[2], target))
    runs.append(gemm_of(item, where[0], where[1], target, adds))
    if target != result:
        runs.append(kernel_of(copied(target.owner, result.owner, result.layout)[0]))
    return Launch(item, tuple(runs), Uses(item.operands, item.outputs, temporaries, _scratch(runs), in_place))
