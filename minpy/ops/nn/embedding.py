"""Embedding: rows of a weight, by their numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.ops.inference.partial_shapes import as_dtype, merge_shapes, same_dtype
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import scatter_rows, truncated

__all__ = ["embedding"]


@operator(name="Embedding", aliases=("_contrib_SparseEmbedding",), zero=(0,), category="product")
def embedding(
    data: np.ndarray,
    weight: np.ndarray,
    *,
    input_dim: int,
    output_dim: int,
    dtype: str = "float32",
    sparse_grad: bool = False,
) -> np.ndarray:
    """Return the rows of `weight` that `data` numbers.

    {data_parameter}
        Row numbers, of any shape and dtype; fractions are cut off, numbers out of range are clipped.
    weight : NDArray
        Of shape (input_dim, output_dim).
    input_dim, output_dim : int
        Number of rows, and their length.
    dtype, sparse_grad
        Accepted and not used: the result has the weight's dtype, and gradients are dense.

    {returns_array}
        Of shape data.shape + (output_dim,).

    {raises_shape_error}
        If `weight` does not have the shape (input_dim, output_dim).

    {examples}
    >>> nd.Embedding(nd.array([2, 0]), nd.array([[1, 2], [3, 4], [5, 6]]), input_dim=3, output_dim=2).asnumpy()
    array([[5., 6.],
           [1., 2.]], dtype=float32)
    """
    if weight.shape != (input_dim, output_dim):
        raise ShapeError(
            f"Embedding: weight has shape {weight.shape}; expected {(input_dim, output_dim)}, (input_dim, output_dim)."
        )
    return weight.take(truncated(data), axis=0, mode="clip")


@embedding.def_grad(argnum=1)
def _embedding_gradient(ans: Any, data: Any, weight: Any, *, input_dim: int, output_dim: int) -> Any:
    count = math.prod(np.shape(data))
    rows = np.reshape(data, (count,))
    return lambda g: scatter_rows(np.reshape(g, (count, output_dim)), rows, count=input_dim)


@embedding.def_infer_shape
def _embedding_shapes(inputs: Any, outputs: Any, *, input_dim: int, output_dim: int) -> Any:
    data, [result] = inputs[0], outputs
    if result is not None:
        data = merge_shapes(data, result[:-1])
    if data is not None:
        result = (*data, output_dim)
    return [data, (input_dim, output_dim)], [result]


@embedding.def_infer_type
def _embedding_dtypes(inputs: Any, outputs: Any, *, dtype: Any) -> Any:
    data, weight = inputs
    [weight], outputs = same_dtype([weight], outputs)
    return ([data, weight], outputs) if weight is not None else ([data, as_dtype(dtype)], [as_dtype(dtype)])


embedding.saved_aliases = frozenset({"_contrib_SparseEmbedding"})
