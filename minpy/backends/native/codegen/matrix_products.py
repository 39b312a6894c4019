"""Products of matrices as calls of a BLAS, and which are so small that a generated kernel is faster.

A call of BLAS costs some tenths of a microsecond before it multiplies anything; up to about 16 by 16 by 16 a kernel is
done by then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from minpy.backends.native.codegen.memory_layout import Allocation
from minpy.backends.native.language import Product
from minpy.backends.native.machine.numpy_blas import NO_TRANS, TRANS

__all__ = ["Gemm", "Matrix", "blas_matrix", "collapsed", "gemm_of", "is_row_major", "is_small"]

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
    """Return loops, each a length and strides, with adjacent ones merged, and without those that run once.

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
    """Tell whether a generated kernel takes less time than a call of a BLAS, on any processor."""
    *_, rows, depth = product.operands[0].shape
    columns = product.output.shape[-1]
    return rows * depth * columns <= _SMALL and max(columns, depth) <= _SMALL_SIDE
