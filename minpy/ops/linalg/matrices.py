"""What the operators of linear algebra share: arrays of matrices checked, transposed, and reduced to a triangle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.errors import ArgumentValueError, DTypeError, ShapeError
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import PartialShape, merge_shapes
from minpy.ops.inference.rule_parts import forwards, merge_lengths

__all__ = [
    "leading_shape",
    "merge_square",
    "mirrored",
    "require_factorable",
    "require_matrices",
    "require_same_batch",
    "require_square",
    "solved_each",
    "square_shapes",
    "transposed",
    "triangle",
]


def transposed(array: Any) -> Any:
    """Return every matrix of an array transposed."""
    return np.swapaxes(array, -1, -2)


def triangle(array: Any, lower: bool = True) -> Any:
    """Return the lower or the upper triangles of matrices, with zeros in place of all other elements."""
    rows, columns = np.shape(array)[-2:]
    below = np.tri(rows, columns, 0 if lower else -1, dtype=np.bool_)
    return np.where(below if lower else ~below, array, 0)


def mirrored(array: Any) -> Any:
    """Return the symmetric matrices that have the lower triangles of the given ones."""
    size = np.shape(array)[-1]
    return np.where(np.tri(size, dtype=np.bool_), array, transposed(array))


def require_matrices(name: str, argument: str, data: Any) -> None:
    """Raise, unless an array holds matrices of floating-point numbers in its last two axes.

    Raises
    ------
    ShapeError, DTypeError
        With the operator's name and the argument's.
    """
    require_floats(name, data, argument=argument)
    if data.ndim < 2:
        raise ShapeError(
            f"{name}: {argument} has shape {data.shape}; expected matrices in its last two axes, (..., n, m)."
        )


def require_factorable(name: str, argument: str, data: Any, square: bool = True) -> None:
    """Raise, unless an array holds (square) matrices of float32 or float64 numbers, for which LAPACK has routines."""
    require_matrices(name, argument, data)
    if data.dtype.itemsize < 4:
        raise DTypeError(
            f"{name}: {argument} has dtype {data.dtype}; expected float32 or float64, in which matrices can be "
            f"factorized. Use {argument}.astype('float32')."
        )
    if square:
        require_square(name, argument, data)


def require_square(name: str, argument: str, data: Any) -> None:
    """Raise, unless the matrices of an array are square."""
    if data.shape[-2] != data.shape[-1]:
        raise ShapeError(f"{name}: {argument} has shape {data.shape}; expected square matrices, (..., n, n).")


def require_same_batch(name: str, **arrays: Any) -> None:
    """Raise, unless arrays agree in all axes but the last two."""
    (first_name, first_array), *remaining = arrays.items()
    for argument, array in remaining:
        if array.shape[:-2] != first_array.shape[:-2]:
            raise ShapeError(
                f"{name}: {first_name} {first_array.shape} and {argument} {array.shape} differ in the axes before the "
                f"matrices: {first_array.shape[:-2]} and {array.shape[:-2]}. They must be equal; nothing is broadcast."
            )


def solved_each(name: str, argument: str, solve: Callable[[Any], Any], array: Any, trouble: str) -> Any:
    """Return `solve(array)`; where LAPACK refuses, say which of the matrices it is.

    Raises
    ------
    ArgumentValueError
        With the operator's name, the matrix, and the trouble with it.
    """
    try:
        return solve(array)
    except np.linalg.LinAlgError:
        for index in np.ndindex(array.shape[:-2]):
            try:
                solve(array[index])
            except np.linalg.LinAlgError:
                place = f"[{', '.join(map(str, index))}] (of shape {array.shape})" if index else f" {array.shape}"
                raise ArgumentValueError(f"{name}: {argument}{place} {trouble}") from None
        raise


# -- inference ---------------------------------------------------------------------------------------------------------


def merge_square(*shapes: PartialShape) -> PartialShape:
    """Return what several statements about the shape of square matrices say together."""
    merged = merge_shapes(*shapes)
    if merged is None:
        return None
    if len(merged) < 2:
        raise ShapeError("expected matrices in the last two axes, (..., n, n).")
    size = merge_lengths(merged[-2], merged[-1])
    return (*merged[:-2], size, size)


@forwards
def leading_shape(A: Any, **_: Any) -> Any:
    """Infer the shape of one number for each of the square matrices."""
    square: Any = merge_square(A)
    return square[:-2] or (1,)


def square_shapes(inputs: Shapes, outputs: Shapes, **attributes: Any) -> tuple[Shapes, Shapes]:
    """Infer shapes where all inputs and outputs are square matrices of one shape."""
    shape = merge_square(*inputs, *outputs)
    return [shape] * len(inputs), [shape] * len(outputs)
