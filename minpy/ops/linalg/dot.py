"""Products of matrices: fully connected layers, `dot`, `batch_dot`, and NumPy's `dot` and `matmul`.

Everything comes down to products of two matrices, which NumPy hands to BLAS. A gradient of a product is a product:
for C = A B with upstream gradient G it is G Bᵀ for A, and Aᵀ G for B.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, ShapeError
from minpy.core.sums import sum_over, sum_to
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rules import forwards, merge_lengths, product, promoted, replace_length, with_axes
from minpy.ops.kernels.products import linear, matrix_product
from minpy.ops.kernels.rows import ones
from minpy.ops.registry import operator

__all__ = ["batch_dot", "dot", "fully_connected", "matmul", "numpy_dot"]


def _flat_rows(shape: tuple[int, ...], flatten: bool) -> tuple[int, int]:
    """Return the shape of the matrix whose rows a fully connected layer maps."""
    if flatten:
        return shape[0], math.prod(shape[1:])
    return math.prod(shape[:-1]), shape[-1]


@operator(name="FullyConnected", optional_inputs={"bias": lambda attributes: not attributes.get("no_bias", False)})
def fully_connected(
    data: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    num_hidden: int,
    no_bias: bool = False,
    flatten: bool = True,
) -> np.ndarray:
    """Return data · weightᵀ + bias.

    Parameters
    ----------
    data : NDArray
        Of shape (batch, ...).
    weight : NDArray
        Of shape (num_hidden, input width).
    bias : NDArray, optional
        Of shape (num_hidden,); left out if `no_bias`.
    num_hidden : int
        Number of outputs.
    no_bias : bool
        Whether there is no bias.
    flatten : bool
        Whether all axes but the first make up the input; otherwise the last alone does, and the others stay.

    Returns
    -------
    NDArray
        Of shape (batch, num_hidden), or data.shape[:-1] + (num_hidden,) without `flatten`.

    Raises
    ------
    ShapeError
        If weight or bias do not fit the data or `num_hidden`.
    ArgumentError
        If the bias is missing, or given with `no_bias`.

    Examples
    --------
    >>> from minpy import nd
    >>> x, w, b = nd.array([[1, 2]]), nd.array([[3, 4], [5, 6], [0, 1]]), nd.array([0, 0, 10])
    >>> nd.FullyConnected(x, w, b, num_hidden=3).asnumpy()
    array([[11., 17., 12.]], dtype=float32)
    """
    shape = data.shape
    if not shape:
        raise ShapeError("FullyConnected: data has shape (); expected at least one axis, the batch.")
    rows = data if len(shape) == 2 else data.reshape(_flat_rows(shape, flatten))
    if weight.shape != (num_hidden, rows.shape[1]):
        raise ShapeError(
            f"FullyConnected: weight has shape {weight.shape}; expected {(num_hidden, rows.shape[1])}, which is "
            f"(num_hidden, input width), for data of shape {shape} with flatten={flatten}."
        )
    if bias is not None and no_bias:
        raise ArgumentError("FullyConnected: bias is given together with no_bias=True; leave out one of them.")
    if bias is None and not no_bias:
        raise ArgumentError("FullyConnected: bias is missing; give it, or pass no_bias=True.")
    if bias is not None and bias.shape != (num_hidden,):
        raise ShapeError(f"FullyConnected: bias has shape {bias.shape}; expected {(num_hidden,)}, (num_hidden,).")
    result = linear(rows, weight, bias)
    return result if len(shape) == 2 or flatten else result.reshape((*shape[:-1], num_hidden))


@fully_connected.def_into
def _fully_connected_into(
    out: Any, data: Any, weight: Any, bias: Any = None, *, num_hidden: int, no_bias: bool = False, flatten: bool = True
) -> None:
    rows = _flat_rows(data.shape, flatten)
    result = out if out.ndim == 2 else out.reshape(rows[0], num_hidden)
    linear(data if data.ndim == 2 else data.reshape(rows), weight, bias, result)


@fully_connected.def_grad(argnum=0)
def _data_gradient(
    ans: Any, data: Any, weight: Any, bias: Any = None, *, num_hidden: int, no_bias: bool = False, flatten: bool = True
) -> Any:
    shape = data.shape
    if len(shape) == 2:
        return lambda g: matrix_product(g, weight)
    return lambda g: np.reshape(matrix_product(np.reshape(g, (-1, num_hidden)), weight), shape)


@fully_connected.def_grad_into(argnum=0)
def _data_gradient_into(
    ans: Any, data: Any, weight: Any, bias: Any = None, *, num_hidden: int, no_bias: bool = False, flatten: bool = True
) -> Any:
    if data.ndim == 2:
        return lambda g, out: matrix_product(g, weight, out)
    rows = _flat_rows(data.shape, flatten)
    return lambda g, out: matrix_product(g.reshape(rows[0], num_hidden), weight, out.reshape(rows))


@fully_connected.def_grad(argnum=1)
def _weight_gradient(
    ans: Any, data: Any, weight: Any, bias: Any = None, *, num_hidden: int, no_bias: bool = False, flatten: bool = True
) -> Any:
    shape = data.shape
    if len(shape) == 2:
        return lambda g: matrix_product(g.T, data)
    rows = _flat_rows(shape, flatten)
    return lambda g: matrix_product(np.transpose(np.reshape(g, (rows[0], num_hidden))), np.reshape(data, rows))


@fully_connected.def_grad_into(argnum=1)
def _weight_gradient_into(
    ans: Any, data: Any, weight: Any, bias: Any = None, *, num_hidden: int, no_bias: bool = False, flatten: bool = True
) -> Any:
    if data.ndim == 2:
        return lambda g, out: matrix_product(g.T, data, out)
    rows = _flat_rows(data.shape, flatten)
    return lambda g, out: matrix_product(g.reshape(rows[0], num_hidden).T, data.reshape(rows), out)


# Rows that a product adds up without losing digits.
_EXACT = 1024


@fully_connected.def_grad(argnum=2)
def _bias_gradient(
    ans: Any, data: Any, weight: Any, bias: Any = None, *, num_hidden: int, no_bias: bool = False, flatten: bool = True
) -> Any:
    if len(data.shape) == 2 and data.shape[0] <= _EXACT:  # a product with ones: half the time of a sum over rows
        return lambda g: np.dot(ones(len(g), g.dtype), g)
    return lambda g: sum_over(g, axis=tuple(range(np.ndim(g) - 1)))


@fully_connected.def_grad_into(argnum=2)
def _bias_gradient_into(
    ans: Any, data: Any, weight: Any, bias: Any = None, *, num_hidden: int, no_bias: bool = False, flatten: bool = True
) -> Any:
    def gradient(g: Any, out: Any) -> None:
        rows = g if g.ndim == 2 else g.reshape(-1, num_hidden)
        if len(rows) <= _EXACT:
            matrix_product(ones(len(rows), g.dtype), rows, out)
        else:
            np.copyto(out, sum_over(rows, 0))

    return gradient


@fully_connected.def_infer_shape
def _fully_connected_shapes(inputs: Any, outputs: Any, *, num_hidden: int, flatten: bool = True, **_: Any) -> Any:
    data, weight, *bias = inputs
    [result] = outputs
    weight = merge_shapes(weight, (num_hidden, UNKNOWN)) or ()
    if not flatten:
        if data is None and result is not None:
            data = (*result[:-1], UNKNOWN)
        if data is not None:
            result = with_axes(result, len(data))
            data = merge_shapes(data, (*result[:-1], weight[1])) or ()
            result = (*data[:-1], num_hidden)
    else:
        result = with_axes(result, 2)
        if data == ():
            raise ShapeError("data has shape (); expected at least one axis, the batch.")
        if data is not None:
            data = replace_length(data, 0, merge_lengths(data[0], result[0]))
            data = merge_shapes(data, (UNKNOWN, weight[1])) if len(data) == 2 else data
        result = (result[0] if data is None else data[0], num_hidden)
    if data is not None:
        width = product(data[1:]) if flatten else data[-1]
        weight = (num_hidden, merge_lengths(weight[1], width))
    return [data, weight, *[(num_hidden,)] * len(bias)], [result]


def _matrix(array: Any, inner_first: bool) -> Any:
    """Return an array as a matrix, (all other axes, the inner one)."""
    shape = np.shape(array)
    if inner_first:
        return np.transpose(np.reshape(array, (shape[0], math.prod(shape[1:]))))
    return np.reshape(array, (math.prod(shape[:-1]), shape[-1]))


@operator(name="dot")
def dot(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
) -> np.ndarray:
    """Return the product of two matrices, or the sum over the last axis of one array and the first of another.

    Parameters
    ----------
    lhs, rhs : NDArray
        With one axis or more.
    transpose_a : bool
        Sum over the first axis of `lhs` instead of the last.
    transpose_b : bool
        Sum over the last axis of `rhs` instead of the first.
    forward_stype : str, optional
        Accepted and not used: arrays are dense.

    Returns
    -------
    NDArray
        Its axes are those of `lhs` and then of `rhs` that are not summed over; of shape (1,) if there are none.

    Raises
    ------
    ShapeError
        If the summed axes differ in length.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.dot(nd.array([[1, 2]]), nd.array([[3, 4]]), transpose_b=True).asnumpy()
    array([[11.]], dtype=float32)
    """
    if not lhs.ndim or not rhs.ndim:
        raise ShapeError(
            f"dot: lhs {lhs.shape} and rhs {rhs.shape} need at least one axis each; multiply numbers with *."
        )
    left, right = (0 if transpose_a else -1), (-1 if transpose_b else 0)
    if lhs.shape[left] != rhs.shape[right]:
        raise ShapeError(
            f"dot: lhs {lhs.shape} and rhs {rhs.shape} differ in the axes to sum over: axis {left} of lhs has length "
            f"{lhs.shape[left]}, axis {right} of rhs has {rhs.shape[right]} "
            f"(transpose_a={transpose_a}, transpose_b={transpose_b})."
        )
    outer = (lhs.shape[1:] if transpose_a else lhs.shape[:-1]) + (rhs.shape[:-1] if transpose_b else rhs.shape[1:])
    result = matrix_product(_matrix(lhs, transpose_a), _matrix(rhs, not transpose_b).T)
    return result.reshape(outer or (1,))


@dot.def_grad(argnum=0)
def _dot_lhs_gradient(
    ans: Any, lhs: Any, rhs: Any, *, transpose_a: bool = False, transpose_b: bool = False, forward_stype: Any = None
) -> Any:
    shape, matrix = np.shape(lhs), _matrix(rhs, not transpose_b)
    rows = math.prod(shape[1:] if transpose_a else shape[:-1])

    def gradient(g: Any) -> Any:
        g = np.reshape(g, (rows, matrix.shape[0]))
        found = matrix_product(np.transpose(matrix), np.transpose(g)) if transpose_a else matrix_product(g, matrix)
        return np.reshape(found, shape)

    return gradient


@dot.def_grad(argnum=1)
def _dot_rhs_gradient(
    ans: Any, lhs: Any, rhs: Any, *, transpose_a: bool = False, transpose_b: bool = False, forward_stype: Any = None
) -> Any:
    shape, matrix = np.shape(rhs), _matrix(lhs, transpose_a)
    columns = math.prod(shape[:-1] if transpose_b else shape[1:])

    def gradient(g: Any) -> Any:
        g = np.reshape(g, (matrix.shape[0], columns))
        found = matrix_product(np.transpose(g), matrix) if transpose_b else matrix_product(np.transpose(matrix), g)
        return np.reshape(found, shape)

    return gradient


@dot.def_infer_shape
@forwards
def _dot_shape(lhs: Any, rhs: Any, *, transpose_a: bool = False, transpose_b: bool = False, **_: Any) -> Any:
    if not lhs or not rhs:
        raise ShapeError("both arrays need at least one axis; multiply numbers with *.")
    merge_lengths(lhs[0 if transpose_a else -1], rhs[-1 if transpose_b else 0])
    return (lhs[1:] if transpose_a else lhs[:-1]) + (rhs[:-1] if transpose_b else rhs[1:]) or (1,)


dot.def_infer_type(promoted)


def _flip(array: Any) -> Any:
    """Return an array with its last two axes swapped."""
    return np.swapaxes(array, -1, -2)


@operator(name="batch_dot")
def batch_dot(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
) -> np.ndarray:
    """Return the products of pairs of matrices.

    Parameters
    ----------
    lhs, rhs : NDArray
        Of shapes (..., n, k) and (..., k, m), with three axes or more; the leading ones are equal.
    transpose_a, transpose_b : bool
        Whether each matrix of `lhs` (of `rhs`) is stored transposed.
    forward_stype : str, optional
        Accepted and not used: arrays are dense.

    Returns
    -------
    NDArray
        Of shape (..., n, m).

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.batch_dot(nd.array([[[1, 2]], [[3, 4]]]), nd.array([[[1], [1]], [[2], [2]]])).asnumpy()
    array([[[ 3.]],
    <BLANKLINE>
           [[14.]]], dtype=float32)
    """
    if lhs.ndim < 3 or lhs.shape[:-2] != rhs.shape[:-2]:
        raise ShapeError(
            f"batch_dot: lhs {lhs.shape} and rhs {rhs.shape}; expected (..., n, k) and (..., k, m) with the same "
            "leading axes, at least one."
        )
    left, right = (_flip(lhs) if transpose_a else lhs), (_flip(rhs) if transpose_b else rhs)
    if left.shape[-1] != right.shape[-2]:
        raise ShapeError(
            f"batch_dot: lhs {lhs.shape} and rhs {rhs.shape} with transpose_a={transpose_a}, transpose_b={transpose_b} "
            f"sum over axes of lengths {left.shape[-1]} and {right.shape[-2]}; they must be equal."
        )
    return np.matmul(left, right)


@batch_dot.def_grad(argnum=0)
def _batch_dot_lhs_gradient(
    ans: Any, lhs: Any, rhs: Any, *, transpose_a: bool = False, transpose_b: bool = False, forward_stype: Any = None
) -> Any:
    right = _flip(rhs) if transpose_b else rhs
    return lambda g: np.matmul(right, _flip(g)) if transpose_a else np.matmul(g, _flip(right))


@batch_dot.def_grad(argnum=1)
def _batch_dot_rhs_gradient(
    ans: Any, lhs: Any, rhs: Any, *, transpose_a: bool = False, transpose_b: bool = False, forward_stype: Any = None
) -> Any:
    left = _flip(lhs) if transpose_a else lhs
    return lambda g: np.matmul(_flip(g), left) if transpose_b else np.matmul(_flip(left), g)


@batch_dot.def_infer_shape
def _batch_dot_shapes(
    inputs: Any, outputs: Any, *, transpose_a: bool = False, transpose_b: bool = False, **_: Any
) -> Any:
    ndim = next((len(known) for known in (*inputs, *outputs) if known is not None), None)
    if ndim is None:
        return inputs, outputs
    if ndim < 3:
        raise ShapeError("expected (..., n, k) and (..., k, m), with at least one leading axis.")
    lhs, rhs, result = (with_axes(known, ndim) for known in (*inputs, *outputs))
    lead = merge_shapes(merge_shapes(lhs[:-2], rhs[:-2]), result[:-2]) or ()
    rows, inner = lhs[:-3:-1] if transpose_a else lhs[-2:]
    other, columns = rhs[:-3:-1] if transpose_b else rhs[-2:]
    rows, inner, columns = (
        merge_lengths(rows, result[-2]),
        merge_lengths(inner, other),
        merge_lengths(columns, result[-1]),
    )
    left, right = (inner, rows) if transpose_a else (rows, inner), (columns, inner) if transpose_b else (inner, columns)
    return [lead + left, lead + right], [(*lead, rows, columns)]


batch_dot.def_infer_type(promoted)

# -- NumPy's products --------------------------------------------------------------------------------------------------

matmul = operator(
    np.matmul,
    name="_matmul",
    public=False,
    doc="Return lhs @ rhs: the product of matrices, stacks of them, or vectors.",
)


def _summed_to(array: Any, shape: tuple[int, ...]) -> Any:
    """Return a gradient summed over the axes along which its argument was broadcast."""
    given = np.shape(array)
    if given == shape:
        return array
    return sum_to(array, shape)


@matmul.def_grad(argnum=0)
def _matmul_lhs_gradient(ans: Any, lhs: Any, rhs: Any) -> Any:
    shape, other = np.shape(lhs), np.shape(rhs)
    if len(shape) == len(other) == 2:
        return lambda g: np.dot(g, np.transpose(rhs))
    if len(other) == 1:
        return lambda g: np.expand_dims(g, -1) * rhs
    if len(shape) == 1:
        return lambda g: _summed_to(np.reshape(np.matmul(rhs, np.expand_dims(g, -1)), other[:-1]), shape)
    return lambda g: _summed_to(np.matmul(g, _flip(rhs)), shape)


@matmul.def_grad(argnum=1)
def _matmul_rhs_gradient(ans: Any, lhs: Any, rhs: Any) -> Any:
    shape, other = np.shape(rhs), np.shape(lhs)
    if len(shape) == len(other) == 2:
        return lambda g: np.dot(np.transpose(lhs), g)
    if len(other) == 1:
        if len(shape) == 1:
            return lambda g: g * lhs
        return lambda g: _summed_to(np.expand_dims(lhs, -1) * np.expand_dims(g, -2), shape)
    if len(shape) == 1:
        return lambda g: _summed_to(np.expand_dims(g, -1) * lhs, shape)
    return lambda g: _summed_to(np.matmul(_flip(lhs), g), shape)


@operator(name="_numpy_dot", implements=np.dot, public=False)
def numpy_dot(a: Any, b: Any) -> Any:
    """Return `numpy.dot`: the sum over the last axis of `a` and the last but one of `b`."""
    return np.dot(a, b)


def _numpy_dot_matrices(a: Any, b: Any) -> tuple[Any, Any]:
    """Return (a, b) as matrices with the summed axis last in both."""
    return _matrix(a, False), _matrix(b if np.ndim(b) == 1 else np.moveaxis(b, -2, -1), False)


@numpy_dot.def_grad(argnum=0)
def _numpy_dot_a_gradient(ans: Any, a: Any, b: Any) -> Any:
    shape, other = np.shape(a), np.shape(b)
    if not shape or not other:
        return lambda g: np.reshape(np.sum(g * b), ()) if not shape else g * b
    if len(shape) == len(other) == 2:
        return lambda g: np.dot(g, np.transpose(b))
    matrix = _numpy_dot_matrices(a, b)[1]
    return lambda g: np.reshape(np.dot(np.reshape(g, (math.prod(shape[:-1]), matrix.shape[0])), matrix), shape)


@numpy_dot.def_grad(argnum=1)
def _numpy_dot_b_gradient(ans: Any, a: Any, b: Any) -> Any:
    shape, other = np.shape(b), np.shape(a)
    if not shape or not other:
        return lambda g: np.reshape(np.sum(g * a), ()) if not shape else g * a
    if len(shape) == len(other) == 2:
        return lambda g: np.dot(np.transpose(a), g)
    matrix = _numpy_dot_matrices(a, b)[0]
    moved = shape if len(shape) == 1 else (*shape[:-2], shape[-1], shape[-2])

    def gradient(g: Any) -> Any:
        product = np.reshape(np.dot(np.transpose(np.reshape(g, (matrix.shape[0], -1))), matrix), moved)
        return product if len(shape) == 1 else np.moveaxis(product, -1, -2)

    return gradient
