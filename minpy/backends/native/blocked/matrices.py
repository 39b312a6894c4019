"""`Matrices`: a product of matrices, or a stack of them, and how they lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from minpy.backends.native.language import Product
from minpy.backends.native.memory import Allocation
from minpy.backends.native.products import collapsed

__all__ = ["Matrices", "matrices_of"]


@dataclass(frozen=True)
class Matrices:
    """A stack of products of matrices of one shape. The rows of the result are contiguous, and of what is added.

    Attributes
    ----------
    itemsize, rows, columns, depth : int
    first, second : (int, int)
        Strides from row to row, and from column to column, in elements.
    result : int
        Stride from row to row.
    added : int or None
        That of what is added, if anything is.
    stack : tuple of tuple of int
        The loops around it: the length, and the stride of each matrix, in the order of the kernel's pointers.
    is_turned : bool
        Whether it is the product of the transposed matrices: `first` belongs to the second pointer.
    """

    itemsize: int
    rows: int
    columns: int
    depth: int
    first: tuple[int, int]
    second: tuple[int, int]
    result: int
    added: int | None = None
    stack: tuple[tuple[int, ...], ...] = ()
    is_turned: bool = False

    @property
    def count(self) -> int:
        """How many products it is."""
        return math.prod(axis[0] for axis in self.stack)

    @property
    def size(self) -> int:
        """How many products of numbers one of them is."""
        return self.rows * self.columns * self.depth

    @property
    def flops(self) -> int:
        """Operations on numbers."""
        return 2 * self.count * self.size

    @property
    def nbytes(self) -> int:
        """Bytes that are read and written at least."""
        sizes = self.rows * self.depth + self.depth * self.columns + self.rows * self.columns
        return self.count * sizes * self.itemsize


def matrices_of(product: Product, places: Sequence[Allocation], result: Allocation) -> Matrices | None:
    """Return a product as `Matrices`; None where neither rows nor columns of the result lie contiguously.

    Parameters
    ----------
    product : Product
    places : sequence of Allocation
        Of its operands.
    result : Allocation
        Of its output.
    """
    (*lead, rows, depth), columns = product.operands[0].shape, product.output.shape[-1]
    every = [where.layout.strides for where in (*places, result)]
    stack = collapsed(list(zip(lead, *(one[: len(lead)] for one in every), strict=True)))
    pairs = [(one[-2], one[-1]) for one in every]
    itemsize = product.output.dtype.itemsize
    for is_turned in (False, True):
        if is_turned:  # the transposed result is the product of the transposed matrices, the other way round
            rows, columns = columns, rows
            one, two, *rest = (pair[::-1] for pair in pairs)
            pairs = [two, one, *rest]
        first, second, *rest = pairs
        if all(right == 1 for _, right in rest):
            added = rest[0][0] if len(rest) == 2 else None
            return Matrices(itemsize, rows, columns, depth, first, second, rest[-1][0], added, stack, is_turned)
    return None
