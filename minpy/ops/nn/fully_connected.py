"""`FullyConnected`: data · weightᵀ + bias."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, ShapeError
from minpy.core.sums import sum_over
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import merge_lengths, product, replace_length, with_axes
from minpy.ops.kernels.matrix_products import dot, is_half, linear, matrix_product, rows_gradient, widened
from minpy.ops.kernels.row_reductions import ones
from minpy.ops.registry import operator

__all__ = ["fully_connected"]


def _flat_rows(shape: tuple[int, ...], flatten: bool) -> tuple[int, int]:
    """Return the shape of the matrix whose rows a fully connected layer maps."""
    if flatten:
        return shape[0], math.prod(shape[1:])
    return math.prod(shape[:-1]), shape[-1]


def _affine(rows: Any, weight: Any, bias: Any) -> Any:
    """Return what `linear` does: the definition."""
    if is_half(rows, weight):
        wide = _affine(widened(rows), widened(weight), None if bias is None else widened(bias))
        return wide if bias is not None and bias.dtype != rows.dtype else wide.astype("float16")
    product = np.dot(rows, np.transpose(weight))
    return product if bias is None else product + bias


@operator(
    name="FullyConnected",
    optional_inputs={"bias": lambda attributes: not attributes.get("no_bias", False)},
    kernel={"_product": linear},
    category="product",
    caption=lambda attributes: str(attributes["num_hidden"]),
)
def fully_connected(
    data: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    num_hidden: int,
    no_bias: bool = False,
    flatten: bool = True,
    _product: Callable[..., Any] = _affine,
) -> np.ndarray:
    """Return data · weightᵀ + bias.

    {data_parameter}
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

    {returns_array}
        Of shape (batch, num_hidden), or data.shape[:-1] + (num_hidden,) without `flatten`.

    {raises_shape_error}
        If weight or bias do not fit the data or `num_hidden`.
    ArgumentError
        If the bias is missing, or given with `no_bias`.

    {examples}
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
    result = _product(rows, weight, bias)
    return result if len(shape) == 2 or flatten else result.reshape((*shape[:-1], num_hidden))


@fully_connected.def_into
def _fully_connected_into(out: Any, data: Any, weight: Any, bias: Any, *, num_hidden: int, flatten: bool) -> None:
    rows = _flat_rows(data.shape, flatten)
    result = out if out.ndim == 2 else out.reshape(rows[0], num_hidden)
    linear(data if data.ndim == 2 else data.reshape(rows), weight, bias, result)


@fully_connected.def_grad(argnum=0)
def _data_gradient(ans: Any, data: Any, weight: Any, bias: Any, *, num_hidden: int) -> Any:
    shape = data.shape
    if len(shape) == 2:
        return lambda g: dot(g, weight)
    return lambda g: np.reshape(dot(np.reshape(g, (-1, num_hidden)), weight), shape)


@fully_connected.def_grad_kernel(argnum=0)
def _raw_data_gradient(ans: Any, data: Any, weight: Any, bias: Any, *, num_hidden: int) -> Any:
    shape = data.shape
    if len(shape) == 2:
        return lambda g: rows_gradient(g, weight, data)
    return lambda g: np.reshape(matrix_product(np.reshape(g, (-1, num_hidden)), weight), shape)


@fully_connected.def_grad_into(argnum=0)
def _data_gradient_into(ans: Any, data: Any, weight: Any, bias: Any, *, num_hidden: int, flatten: bool) -> Any:
    if data.ndim == 2:
        return lambda g, out: rows_gradient(g, weight, data, out)
    rows = _flat_rows(data.shape, flatten)
    return lambda g, out: matrix_product(g.reshape(rows[0], num_hidden), weight, out.reshape(rows))


@fully_connected.def_grad(argnum=1)
def _weight_gradient(ans: Any, data: Any, weight: Any, bias: Any, *, num_hidden: int, flatten: bool) -> Any:
    shape = data.shape
    if len(shape) == 2:
        return lambda g: dot(g.T, data)
    rows = _flat_rows(shape, flatten)
    return lambda g: dot(np.transpose(np.reshape(g, (rows[0], num_hidden))), np.reshape(data, rows))


@fully_connected.def_grad_into(argnum=1)
def _weight_gradient_into(ans: Any, data: Any, weight: Any, bias: Any, *, num_hidden: int, flatten: bool) -> Any:
    if data.ndim == 2:
        return lambda g, out: matrix_product(g.T, data, out)
    rows = _flat_rows(data.shape, flatten)
    return lambda g, out: matrix_product(g.reshape(rows[0], num_hidden).T, data.reshape(rows), out)


# Rows that a product adds up without losing digits.
_EXACT = 1024


@fully_connected.def_grad(argnum=2)
def _bias_gradient(ans: Any, data: Any, weight: Any, bias: Any) -> Any:
    return lambda g: sum_over(g, axis=tuple(range(np.ndim(g) - 1)))


@fully_connected.def_grad_kernel(argnum=2)
def _raw_bias_gradient(ans: Any, data: Any, weight: Any, bias: Any) -> Any:
    if len(data.shape) == 2 and data.shape[0] <= _EXACT:  # a product with ones: half the time of a sum over rows
        return lambda g: dot(ones(len(g), g.dtype), g)
    return lambda g: sum_over(g, axis=tuple(range(np.ndim(g) - 1)))


@fully_connected.def_grad_into(argnum=2)
def _bias_gradient_into(ans: Any, data: Any, weight: Any, bias: Any, *, num_hidden: int) -> Any:
    def gradient(g: Any, out: Any) -> None:
        rows = g if g.ndim == 2 else g.reshape(-1, num_hidden)
        if len(rows) <= _EXACT:
            matrix_product(ones(len(rows), g.dtype), rows, out)
        else:
            np.copyto(out, sum_over(rows, 0))

    return gradient


@fully_connected.def_infer_shape
def _fully_connected_shapes(inputs: Any, outputs: Any, *, num_hidden: int, flatten: bool) -> Any:
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
