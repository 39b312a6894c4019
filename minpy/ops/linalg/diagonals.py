"""Diagonals and triangles of matrices, taken out and put in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.core.sums import sum_over
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes, same_dtype
from minpy.ops.inference.rule_parts import derived, known_ndim, merge_lengths
from minpy.ops.linalg.matrices import leading_shape, merge_square, require_matrices, require_square
from minpy.ops.registry import operator

__all__ = ["extractdiag", "extracttrian", "makediag", "maketrian", "sumlogdiag"]


@operator(name="_linalg_sumlogdiag", aliases=("linalg_sumlogdiag",), dtypes=same_dtype, shapes=leading_shape)
def sumlogdiag(A: np.ndarray) -> np.ndarray:
    """Return the sum of the logarithms of the diagonal of each of many matrices.

    {matrix_parameter}
        Square matrices, (..., n, n), floating point, with positive diagonals.

    {returns_array}
        Of the leading shape; (1,) for a single matrix.

    {raises_shape_error}
        If the matrices are not square.
    DTypeError
        If `A` does not hold floating-point numbers.

    {examples}
    >>> nd.linalg.sumlogdiag(nd.array([[1, 1], [1, 7]])).asnumpy().round(4)
    array([1.9459], dtype=float32)
    """
    require_matrices("linalg.sumlogdiag", "A", A)
    require_square("linalg.sumlogdiag", "A", A)
    total = sum_over(np.log(np.diagonal(A, 0, -2, -1)), axis=-1)
    return np.reshape(total, A.shape[:-2] or (1,))


@sumlogdiag.def_grad()
def _sumlogdiag_gradient(ans: Any, A: Any) -> Any:
    shape = np.shape(A)
    on_diagonal = np.eye(shape[-1], dtype=np.bool_)
    return lambda g: np.where(on_diagonal, np.reshape(g, (*shape[:-2], 1, 1)) / np.where(on_diagonal, A, 1), 0)


# -- what is taken out, and put in -------------------------------------------------------------------------------------


def _diagonal_indices(count: int, offset: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns of so many elements of a diagonal, which may lie beside the main one."""
    along = np.arange(count)
    return along + max(-offset, 0), along + max(offset, 0)


def _triangle_indices(count: int, offset: int, lower: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns of a triangle with so many elements on its longest diagonal, in MXNet's order.

    That is row by row for lower triangles, and column by column for upper ones.
    """
    rows, columns = np.tril_indices(count)
    if offset > 0 or (offset == 0 and not lower):
        return columns, rows + max(offset, 0)
    return rows + max(-offset, 0), columns


def _diagonal_length(name: str, A: Any, offset: int) -> int:
    """Return the length of a diagonal of square matrices, or raise if they have none there."""
    if A.ndim < 2:
        raise ShapeError(f"{name}: A has shape {A.shape}; expected matrices in its last two axes, (..., n, n).")
    require_square(name, "A", A)
    size: int = A.shape[-1]
    if abs(offset) >= max(size, 1):
        raise ShapeError(
            f"{name}: offset {offset} is out of range for A {A.shape}; expected {1 - size} <= offset <= {size - 1}."
        )
    return size - abs(offset)


def _placed(data: Any, places: tuple[np.ndarray, np.ndarray], size: int) -> Any:
    """Return square matrices of zeros with the data's last axis at some places."""
    # One product with zeros and ones would be differentiable as well, but costs n⁴; these places are each taken once.
    return _put_at(data, rows=places[0], columns=places[1], size=size)


@operator(name="_take_places", public=False, shape_only=(0,))
def _take_at(A: np.ndarray, *, rows: Any, columns: Any) -> np.ndarray:
    """Return the elements of matrices at some places, along one axis."""
    return A[..., rows, columns]


@operator(name="_put_places", public=False)
def _put_at(data: np.ndarray, *, rows: Any, columns: Any, size: int) -> np.ndarray:
    """Return square matrices of zeros with elements put at some places: the transpose of taking them."""
    result = np.zeros((*data.shape[:-1], size, size), data.dtype)
    result[..., rows, columns] = data
    return result


_take_at.def_grad(
    lambda ans, A, *, rows, columns: lambda g: _put_at(g, rows=rows, columns=columns, size=np.shape(A)[-1])
)
_put_at.def_grad(lambda ans, data, *, rows, columns, size: lambda g: _take_at(g, rows=rows, columns=columns))


@operator(name="_linalg_extractdiag", aliases=("linalg_extractdiag",), dtypes=same_dtype, shape_only=(0,))
def extractdiag(A: np.ndarray, *, offset: int = 0) -> np.ndarray:
    """Return a diagonal of each of many square matrices.

    {matrix_parameter}
        Square matrices, (..., n, n), of any dtype.
    offset : int
        Which diagonal: 0 is the main one, positive ones lie above it and negative ones below.

    {returns_array}
        Of shape (..., n - |offset|).

    {raises_shape_error}
        If the matrices are not square, or have no such diagonal.

    {examples}
    >>> nd.linalg.extractdiag(nd.array([[1, 2], [3, 4]])).asnumpy()
    array([1., 4.], dtype=float32)
    """
    count = _diagonal_length("linalg.extractdiag", A, offset)
    rows, columns = _diagonal_indices(count, offset)
    return A[..., rows, columns]


@extractdiag.def_grad()
def _extractdiag_gradient(ans: Any, A: Any, *, offset: int) -> Any:
    size = np.shape(A)[-1]
    return lambda g: _placed(g, _diagonal_indices(size - abs(offset), offset), size)


@operator(name="_linalg_makediag", aliases=("linalg_makediag",), dtypes=same_dtype, shape_only=(0,))
def makediag(A: np.ndarray, *, offset: int = 0) -> np.ndarray:
    """Return square matrices with the given diagonals, and zeros elsewhere.

    {matrix_parameter}
        Diagonals, (..., n), of any dtype.
    offset : int
        Which diagonal: 0 is the main one, positive ones lie above it and negative ones below.

    {returns_array}
        Of shape (..., m, m) with m = n + |offset|.

    {raises_shape_error}
        If `A` has no axis.

    {examples}
    >>> nd.linalg.makediag(nd.array([1, 2])).asnumpy()
    array([[1., 0.],
           [0., 2.]], dtype=float32)
    """
    if not A.ndim:
        raise ShapeError("linalg.makediag: A has shape (); expected at least one axis, (..., n).")
    count = A.shape[-1]
    return _placed(A, _diagonal_indices(count, offset), count + abs(offset))


@makediag.def_grad()
def _makediag_gradient(ans: Any, A: Any, *, offset: int) -> Any:
    rows, columns = _diagonal_indices(np.shape(A)[-1], offset)
    return lambda g: _take_at(g, rows=rows, columns=columns)


@operator(name="_linalg_extracttrian", aliases=("linalg_extracttrian",), dtypes=same_dtype, shape_only=(0,))
def extracttrian(A: np.ndarray, *, offset: int = 0, lower: bool = True) -> np.ndarray:
    """Return a triangle of each of many square matrices, along one axis.

    {matrix_parameter}
        Square matrices, (..., n, n), of any dtype.
    offset : int
        The diagonal with which the triangle begins. A positive one means the upper triangle, a negative one the lower.
    lower : bool
        Which triangle, if `offset` is 0.

    {returns_array}
        Of shape (..., k (k + 1) / 2) with k = n - |offset|: lower triangles row by row, upper ones column by column.

    {raises_shape_error}
        If the matrices are not square, or have no such diagonal.

    {examples}
    >>> nd.linalg.extracttrian(nd.array([[1, 2], [3, 4]])).asnumpy()
    array([1., 3., 4.], dtype=float32)
    """
    count = _diagonal_length("linalg.extracttrian", A, offset)
    rows, columns = _triangle_indices(count, offset, lower)
    return A[..., rows, columns]


@extracttrian.def_grad()
def _extracttrian_gradient(ans: Any, A: Any, *, offset: int, lower: bool) -> Any:
    size = np.shape(A)[-1]
    return lambda g: _placed(g, _triangle_indices(size - abs(offset), offset, lower), size)


def _triangle_size(length: int) -> int:
    """Return the number of rows of a triangle with so many elements."""
    size = (math.isqrt(8 * length + 1) - 1) // 2
    if size * (size + 1) != 2 * length:
        raise ShapeError(
            f"linalg.maketrian: the last axis of A has length {length}; expected n (n + 1) / 2, such as "
            f"{size * (size + 1) // 2} or {(size + 1) * (size + 2) // 2}."
        )
    return size


@operator(name="_linalg_maketrian", aliases=("linalg_maketrian",), dtypes=same_dtype, shape_only=(0,))
def maketrian(A: np.ndarray, *, offset: int = 0, lower: bool = True) -> np.ndarray:
    """Return square matrices with the given triangles, and zeros elsewhere: the inverse of `extracttrian`.

    {matrix_parameter}
        Triangles, (..., k (k + 1) / 2), of any dtype: lower ones row by row, upper ones column by column.
    offset : int
        The diagonal with which the triangle begins. A positive one means the upper triangle, a negative one the lower.
    lower : bool
        Which triangle, if `offset` is 0.

    {returns_array}
        Of shape (..., n, n) with n = k + |offset|.

    {raises_shape_error}
        If no triangle has so many elements.

    {examples}
    >>> nd.linalg.maketrian(nd.array([1, 2, 3])).asnumpy()
    array([[1., 0.],
           [2., 3.]], dtype=float32)
    """
    if not A.ndim:
        raise ShapeError("linalg.maketrian: A has shape (); expected at least one axis, (..., n (n + 1) / 2).")
    count = _triangle_size(A.shape[-1])
    return _placed(A, _triangle_indices(count, offset, lower), count + abs(offset))


@maketrian.def_grad()
def _maketrian_gradient(ans: Any, A: Any, *, offset: int, lower: bool) -> Any:
    rows, columns = _triangle_indices(_triangle_size(np.shape(A)[-1]), offset, lower)
    return lambda g: _take_at(g, rows=rows, columns=columns)


def _element_shapes(inputs: Any, outputs: Any, offset: int, count_of: Any, size_of: Any) -> Any:
    """Infer shapes of matrices and of diagonals or triangles; `count_of` and `size_of` map size to count, and back."""
    [matrices], [elements] = inputs, outputs
    if known_ndim(matrices, elements) is None:
        return inputs, outputs
    square = merge_square(matrices)
    if elements is not None:
        if not elements:
            raise ShapeError("expected at least one axis.")
        whole = derived(lambda count: size_of(count) + abs(offset), elements[-1])
        square = merge_square(square, (*elements[:-1], whole, whole))
    lead, length = (square or ())[:-2], (square or ())[-1]
    if length != UNKNOWN and length < abs(offset):
        raise ShapeError(f"offset {offset} is out of range for matrices of {length} rows and columns.")
    count = derived(lambda length: count_of(length - abs(offset)), length)
    elements = merge_shapes(elements, (*lead, count)) or ()
    return [square], [(*lead, merge_lengths(elements[-1], count))]


_ON_DIAGONAL = (lambda length: length,) * 2
_IN_TRIANGLES = (lambda length: length * (length + 1) // 2, _triangle_size)
extractdiag.def_infer_shape(lambda inputs, outputs, *, offset: _element_shapes(inputs, outputs, offset, *_ON_DIAGONAL))
makediag.def_infer_shape(
    lambda inputs, outputs, *, offset: _element_shapes(outputs, inputs, offset, *_ON_DIAGONAL)[::-1]
)
extracttrian.def_infer_shape(
    lambda inputs, outputs, *, offset: _element_shapes(inputs, outputs, offset, *_IN_TRIANGLES)
)
maketrian.def_infer_shape(
    lambda inputs, outputs, *, offset: _element_shapes(outputs, inputs, offset, *_IN_TRIANGLES)[::-1]
)
