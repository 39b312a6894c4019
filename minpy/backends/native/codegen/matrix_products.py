"""Products of matrices as native code: calls of a BLAS for large ones, generated loops for small ones.

A call of BLAS costs some tenths of a microsecond before it multiplies anything; up to about 16 by 16 by 16 a loop over
vectors of a row's elements has long been done by then. Stacks are loops around either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from minpy.backends.native.codegen.function_writer import FunctionWriter
from minpy.backends.native.codegen.memory_layout import Allocation
from minpy.backends.native.kernels.kernel import Kernel, Pointer
from minpy.backends.native.language import Product
from minpy.backends.native.machine.numpy_blas import NO_TRANS, TRANS

__all__ = ["Gemm", "Matrix", "blas_matrix", "collapsed", "gemm_of", "is_row_major", "is_small", "small_kernel"]

_SMALL = 16 * 16 * 16
_SMALL_SIDE = 64


@dataclass(frozen=True, slots=True)
class Matrix:
    """How BLAS reads a matrix of a row-major call: turned or not, and its leading dimension."""

    turned: int
    leading: int


def blas_matrix(rows: int, columns: int, strides: Sequence[int]) -> Matrix | None:
    """Return how BLAS reads a matrix; None, if it does not.

    >>> blas_matrix(2, 3, (3, 1)), blas_matrix(2, 3, (1, 4)), blas_matrix(2, 3, (6, 2))
    (Matrix(turned=111, leading=3), Matrix(turned=112, leading=4), None)
    """
    down, right = strides[-2:]
    if rows == 1:
        down = max(columns, 1)
    if columns == 1:
        right = 1 if down >= 1 else max(rows, 1)
    if right == 1 and down >= max(columns, 1):
        return Matrix(NO_TRANS, down)
    if columns == 1:
        right = max(rows, 1)
    if (down == 1 or rows == 1) and right >= max(rows, 1):
        return Matrix(TRANS, right)
    return None


@dataclass(frozen=True, slots=True)
class Gemm:
    """A call of `cblas_sgemm` or `cblas_dgemm`, or a loop of them, and where operands and result lie.

    `leading` is the result's leading dimension; the loops around the call are in `stack`: their lengths, and the
    strides of both operands and the result, in elements. With `adds` the product is added to what the result holds.
    """

    double: bool
    rows: int
    columns: int
    depth: int
    first: Matrix
    second: Matrix
    leading: int
    stack: tuple[tuple[int, ...], ...]
    places: tuple[Allocation, Allocation, Allocation]
    adds: bool

    @property
    def count(self) -> int:
        """How many calls it is."""
        return math.prod(axis[0] for axis in self.stack)

    @property
    def flops(self) -> int:
        """The operations on numbers that it takes."""
        return 2 * self.count * self.rows * self.columns * self.depth

    @property
    def bytes_moved(self) -> int:
        """The bytes that it reads and writes at least."""
        sizes = self.rows * self.depth + self.depth * self.columns + self.rows * self.columns
        return self.count * sizes * (8 if self.double else 4)


def is_row_major(rows: int, columns: int, strides: Sequence[int]) -> bool:
    """Tell whether BLAS can write a matrix as it lies."""
    matrix = blas_matrix(rows, columns, strides)
    return matrix is not None and matrix.turned == NO_TRANS


def gemm_of(product: Product, first: Allocation, second: Allocation, result: Allocation, adds: bool) -> Gemm:
    """Return the call of BLAS that a product is, whose operands and result lie so that BLAS takes them."""
    (*lead, rows, depth), columns = product.operands[0].shape, product.output.shape[-1]
    left = blas_matrix(rows, depth, first.layout.strides)
    right = blas_matrix(depth, columns, second.layout.strides)
    out = blas_matrix(rows, columns, result.layout.strides)
    assert left is not None
    assert right is not None
    assert out is not None
    strides = [where.layout.strides[: len(lead)] for where in (first, second, result)]
    stack = collapsed(list(zip(lead, *strides, strict=True)))
    places = (first, second, result)
    return Gemm(product.output.dtype.itemsize == 8, rows, columns, depth, left, right, out.leading, stack, places, adds)


def collapsed(axes: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Return loops, each a length and strides, with those joined that are one, and without those that run once.

    >>> collapsed([(2, 60, 0, 20), (5, 12, 0, 4)])
    ((10, 12, 0, 4),)
    """
    loops: list[tuple[int, ...]] = []
    for length, *steps in axes:
        if length == 1:
            continue
        if loops and all(outer == length * inner for outer, inner in zip(loops[-1][1:], steps, strict=True)):
            loops[-1] = (loops[-1][0] * length, *steps)
        else:
            loops.append((length, *steps))
    return tuple(loops)


def is_small(product: Product) -> bool:
    """Tell whether a generated loop is faster than BLAS."""
    *_, rows, depth = product.operands[0].shape
    columns = product.output.shape[-1]
    return rows * depth * columns <= _SMALL and max(columns, depth) <= _SMALL_SIDE


def small_kernel(product: Product, places: Sequence[Allocation], result: Allocation) -> Kernel:
    """Return a kernel for a product of small matrices, or a stack of them, whose operands and result lie there.

    Each row of the result is a vector, or several; it grows by a row of the second matrix, times an element of the
    first, for each column of that. A second matrix whose rows are not contiguous is copied to the scratch memory.
    """
    return _Small(product, places, result).kernel()


class _Small:
    """Writes the kernel of a small product."""

    def __init__(self, product: Product, places: Sequence[Allocation], result: Allocation) -> None:
        *self.lead, self.rows, self.depth = product.operands[0].shape
        self.columns = product.output.shape[-1]
        self.dtype = product.output.dtype
        self.type = "double" if self.dtype.itemsize == 8 else "float"
        self.width = 64 // self.dtype.itemsize
        self.adds = len(places) == 3
        self.places = [*places, result]
        self.packs = places[1].layout.strides[-1] != 1 and self.columns > 1 and self.rows > 1
        self.code = FunctionWriter()

    def kernel(self) -> Kernel:
        stack = math.prod(self.lead)
        pointers = [Pointer(where.owner, where.layout.offset) for where in self.places[:-1]]
        pointers.append(Pointer(self.places[-1].owner, self.places[-1].layout.offset, True))
        # What is added, and the result, may lie in the same memory: each vector is read before it is written to.
        aliasing = ["" if self.adds and number >= 2 else " noalias" for number in range(len(pointers))]
        parameters = ", ".join(f"ptr{attribute} %p{number}" for number, attribute in enumerate(aliasing))
        if stack and self.rows and self.columns:
            self._stack()
        self.code.do("ret void")
        flops = 2 * stack * self.rows * self.columns * self.depth
        sizes = stack * (self.rows * self.depth + self.depth * self.columns + self.rows * self.columns)
        return Kernel(
            f"({parameters}, ptr noalias %scratch, i64 %begin, i64 %end) {{\n{self.code.text()}\n}}",
            tuple(pointers),
            in_place=frozenset([(3, 2)] if self.adds else ()),
            scratch=self.depth * self.columns * self.dtype.itemsize if self.packs else 0,
            flops=flops,
            bytes_moved=sizes * self.dtype.itemsize,
            name="product",
        )

    def _stack(self) -> None:
        pointers = [f"%p{number}" for number in range(len(self.places))]
        with ExitStack() as loops:
            for axis, length in enumerate(self.lead):
                if length > 1:
                    index = loops.enter_context(self.code.counted(0, length, runs=True)).counter
                    pointers = [
                        self._at(pointer, index, where.layout.strides[axis])
                        for pointer, where in zip(pointers, self.places, strict=True)
                    ]
            self._matrices(pointers)

    def _matrices(self, pointers: list[str]) -> None:
        strides = [where.layout.strides[-2:] for where in self.places]
        second, down, right = pointers[1], *strides[1]
        if self.packs and self.depth:
            self._pack(second, down, right)
            second, down, right = "%scratch", self.columns, 1
        with self.code.counted(0, self.rows, runs=True) as rows:
            self._row(rows.counter, pointers, second, down, right)

    def _row(self, row: str, pointers: list[str], second: str, down: int, right: int) -> None:
        """Write a row of the result, given the pointers to a row's matrices, and where the second one is read."""
        strides = [where.layout.strides[-2:] for where in self.places]
        first = self._at(pointers[0], row, strides[0][0])
        result = self._at(pointers[-1], row, strides[-1][0])
        # What is added: a matrix of its own, or what the result holds.
        added, along = (self._at(pointers[2], row, strides[2][0]), strides[2][1]) if self.adds else ("", 0)
        wide = right == 1 and strides[-1][1] == 1 and (not self.adds or along == 1)
        begin = 0
        while begin < self.columns:
            width = min(self.width, self.columns - begin) if wide else 1
            start = self._load(width, self._at(added, begin, along)) if self.adds else None
            total = self._total(width, first, strides[0][1], self._at(second, begin, right), down)
            if start is not None:
                total = self.code.put(f"fadd {self._kind(width)} {start}, {total}")
            place = self._at(result, begin, strides[-1][1])
            self.code.do(f"store {self._kind(width)} {total}, ptr {place}, align {self.dtype.itemsize}")
            begin += width

    def _pack(self, source: str, down: int, right: int) -> None:
        """Copy the second matrix into the scratch memory, row by row."""
        code = self.code
        with code.counted(0, self.depth, runs=True) as outer, code.counted(0, self.columns, runs=True) as inner:
            element = self._at(self._at(source, outer.counter, down), inner.counter, right)
            place = self._at(self._at("%scratch", outer.counter, self.columns), inner.counter, 1)
            code.do(f"store {self.type} {self._load(1, element)}, ptr {place}, align {self.dtype.itemsize}")

    def _total(self, width: int, first: str, step: int, second: str, down: int) -> str:
        """Return some columns of a row of the product."""
        kind = self._kind(width)
        zero = "0.0" if width == 1 else "zeroinitializer"
        if not self.depth:
            return zero
        code = self.code
        before, after = code.fresh(), code.fresh()
        with code.counted(0, self.depth, runs=True) as loop:
            code.do(f"{before} = phi {kind} [ {zero}, %{loop.before} ], [ {after}, %{loop.latch} ]")
            factor = self._load(1, self._at(first, loop.counter, step))
            if width > 1:
                alone = code.put(f"insertelement {kind} poison, {self.type} {factor}, i64 0")
                factor = code.put(f"shufflevector {kind} {alone}, {kind} poison, <{width} x i32> zeroinitializer")
            row = self._load(width, self._at(second, loop.counter, down))
            code.do(f"{after} = fadd {kind} {before}, {code.put(f'fmul {kind} {factor}, {row}')}")
        return after

    def _kind(self, width: int) -> str:
        return self.type if width == 1 else f"<{width} x {self.type}>"

    def _at(self, pointer: str, index: str | int, stride: int) -> str:
        return self.code.address(pointer, self.type, index, stride)

    def _load(self, width: int, pointer: str) -> str:
        return self.code.put(f"load {self._kind(width)}, ptr {pointer}, align {self.dtype.itemsize}")
