"""Sparse arrays, which there are not: the names that programs ask for.

The classes are there for `isinstance`, which is False. What would make a sparse array says so, and what to do.
"""

from __future__ import annotations

from typing import Any, NoReturn

from minpy.core.errors import ArgumentError
from minpy.ndarray import creation
from minpy.ndarray.ndarray import NDArray
from minpy.ops.shared_docstrings import with_shared_texts

__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "RowSparseNDArray",
    "array",
    "csr_matrix",
    "empty",
    "row_sparse_array",
    "zeros",
]


def _refuse(subject: str, instead: str) -> NoReturn:
    raise ArgumentError(f"{subject}: there are no sparse arrays. {instead}")


class BaseSparseNDArray(NDArray):
    """The base of MXNet's sparse arrays. There are none here: `isinstance(x, BaseSparseNDArray)` is False.

    Raises
    ------
    ArgumentError
        If it, or a class derived from it, is called.

    Examples
    --------
    >>> from minpy import nd
    >>> isinstance(nd.zeros((2, 3)), nd.sparse.BaseSparseNDArray)
    False
    """

    def __new__(cls, *arguments: Any, **options: Any) -> NoReturn:
        _refuse(f"nd.sparse.{cls.__name__}", "Make a dense array, with nd.array or nd.zeros.")


class CSRNDArray(BaseSparseNDArray):
    """The class of MXNet's matrices in compressed sparse rows, for `isinstance`: see `BaseSparseNDArray`."""


class RowSparseNDArray(BaseSparseNDArray):
    """The class of MXNet's arrays of which few rows are not zero, for `isinstance`: see `BaseSparseNDArray`."""


@with_shared_texts
def csr_matrix(arg1: Any, shape: Any = None, ctx: Any = None, dtype: Any = None) -> NoReturn:
    """Refuse to make a sparse matrix.

    Parameters
    ----------
    arg1, shape, ctx, dtype
        As MXNet takes them.

    {raises_argument_error}
        Always: it says how to make a dense array.

    {examples}
    >>> nd.sparse.csr_matrix([[0, 1]])
    Traceback (most recent call last):
        ...
    minpy.core.errors.ArgumentError: nd.sparse.csr_matrix: there are no sparse arrays. Make a dense array: \
nd.array(a), or nd.array(matrix.toarray()) of SciPy's matrices.
    """
    _refuse(
        "nd.sparse.csr_matrix", "Make a dense array: nd.array(a), or nd.array(matrix.toarray()) of SciPy's matrices."
    )


@with_shared_texts
def row_sparse_array(arg1: Any, shape: Any = None, ctx: Any = None, dtype: Any = None) -> NoReturn:
    """Refuse to make an array of which few rows are not zero; see `csr_matrix`.

    Parameters
    ----------
    arg1, shape, ctx, dtype
        As MXNet takes them.

    {raises_argument_error}
        Always: it says how to make a dense array.

    {examples}
    >>> nd.sparse.row_sparse_array(([[1.0, 2.0]], [0]), shape=(2, 2))
    Traceback (most recent call last):
        ...
    minpy.core.errors.ArgumentError: nd.sparse.row_sparse_array: there are no sparse arrays. Make a dense array, of \
zeros, and write the rows: x = nd.zeros(shape); x[indices] = data.
    """
    _refuse(
        "nd.sparse.row_sparse_array",
        "Make a dense array, of zeros, and write the rows: x = nd.zeros(shape); x[indices] = data.",
    )


@with_shared_texts
def zeros(stype: str, shape: Any, ctx: Any = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """Return an array of zeros of a storage type: 'default', dense.

    Parameters
    ----------
    stype : str
        'default'.
    shape : int or tuple of int
    ctx : Context, optional
    dtype : dtype, optional
        By default float32.

    {returns_array}

    {raises_argument_error}
        For another storage type.

    {examples}
    >>> nd.sparse.zeros('default', (2,)).asnumpy()
    array([0., 0.], dtype=float32)
    """
    return creation.zeros(shape, ctx, dtype, stype=stype, **kwargs)


@with_shared_texts
def empty(stype: str, shape: Any, ctx: Any = None, dtype: Any = None) -> NDArray:
    """Return an array of a storage type, with values that are not set; see `zeros`.

    Parameters
    ----------
    stype : str
        'default'.
    shape : int or tuple of int
    ctx : Context, optional
    dtype : dtype, optional

    {returns_array}

    {raises_argument_error}
        For another storage type.

    {examples}
    >>> nd.sparse.empty('default', (2, 3)).shape
    (2, 3)
    """
    return creation.empty(shape, ctx, dtype, stype=stype)


@with_shared_texts
def array(source_array: Any, ctx: Any = None, dtype: Any = None) -> NDArray:
    """Return a dense array of the same values, of which MXNet makes a sparse one.

    Parameters
    ----------
    source_array : array_like
        A matrix of SciPy's is refused: make it dense first, with `toarray()`.
    ctx : Context, optional
    dtype : dtype, optional

    {returns_array}

    {raises_argument_error}
        For a sparse matrix of SciPy's.

    {examples}
    >>> nd.sparse.array([[0, 1]]).stype
    'default'
    """
    if hasattr(source_array, "toarray"):
        _refuse("nd.sparse.array", "Make the matrix dense: nd.array(matrix.toarray()).")
    return creation.array(source_array, ctx, dtype)
