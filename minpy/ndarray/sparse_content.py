"""MXNet's sparse arrays as its files hold them, and the dense ones that they stand for.

Of a sparse array only some values are stored, and arrays of indices beside them say where they belong:

    row_sparse   the rows that are not zero; their numbers
    csr          the elements of a matrix that are not zero, row after row; where each row begins among them, and their
                 columns

In a file the shape of what is stored stands before that of the array (MXNet leaves it as it was before the array got
its values, and does not look at it); dtype and shape of each array of indices follow the array's dtype; the values come
before the indices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

__all__ = ["KINDS", "SparseHead", "SparseProblem", "dense", "read_sparse_head"]

KINDS = {1: "row_sparse", 2: "csr"}

_IndexHead = tuple[tuple[int, ...], numpy.dtype[Any]]


class SparseProblem(Exception):
    """What is wrong with a sparse array."""


class SparseHead(NamedTuple):
    """What stands before the values of a sparse array."""

    kind: str
    stored: tuple[int, ...]  # the shape of its values
    indices: list[_IndexHead]


def read_sparse_head(kind: str, shape: tuple[int, ...], read: Callable[[], _IndexHead]) -> SparseHead:
    """Read shapes and dtypes of the arrays of indices, by `read`: they say how many values there are.

    Raises
    ------
    SparseProblem
        If they cannot be of an array of that shape.
    """
    heads = [read() for _ in range(2 if kind == "csr" else 1)]
    lengths = [length for length, _ in heads]
    fits = len(lengths[-1]) == 1
    if kind == "csr":  # a matrix without values may say nothing of where its rows begin
        fits = fits and len(shape) == 2 and (lengths[0] == (shape[0] + 1,) or lengths == [(0,), (0,)])
    if not fits or not shape:
        raise SparseProblem(f"its indices have shapes {', '.join(map(str, lengths))}, which do not fit")
    for _, dtype in heads:
        if dtype.kind not in "iu":
            raise SparseProblem(f"its indices are {dtype.name}, and no integers")
    return SparseHead(kind, lengths[-1] if kind == "csr" else lengths[-1] + shape[1:], heads)


def dense(kind: str, shape: tuple[int, ...], values: numpy.ndarray, indices: Sequence[numpy.ndarray]) -> numpy.ndarray:
    """Return the dense array that values and indices stand for.

    Raises
    ------
    SparseProblem
        If an index lies outside.
    """
    last = shape[1] if kind == "csr" else shape[0]
    places = indices[-1]
    if places.size and not 0 <= int(places.min()) <= int(places.max()) < last:
        raise SparseProblem(f"an index is {_outside(places, last)}, expected 0 to {last - 1}")
    array = numpy.zeros(shape, values.dtype)
    if kind == "row_sparse":
        array[places] = values
    elif values.size:
        begins = indices[0]
        rows = begins.astype(numpy.int64)
        counts = rows[1:] - rows[:-1]
        if begins[0] != 0 or begins[-1] != len(values) or (counts < 0).any():
            raise SparseProblem(f"its rows do not begin one after another, from 0 to {len(values)}")
        array[numpy.repeat(numpy.arange(shape[0]), counts), places] = values
    return array


def _outside(places: numpy.ndarray, last: int) -> int:
    """Return an index that lies outside."""
    return int(places[(places < 0) | (places >= last)][0])
