"""Operators that choose at random: `shuffle` puts rows in another order, `multinomial` draws classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.array import raw_of
from minpy.core.errors import ArgumentError, ShapeError
from minpy.ops.inference.partial_shapes import as_dtype, same_dtype, same_shape
from minpy.ops.inference.rule_parts import forwards, numbered
from minpy.ops.random.distributions import as_shape
from minpy.ops.random.generator import generator
from minpy.ops.registry import operator

__all__ = ["multinomial", "shuffle"]


@operator(name="_shuffle", aliases=("shuffle",), random=True, visible_outputs=1, shape_only=(0,))
def shuffle(data: np.ndarray) -> Any:
    """Return the data with its elements along the first axis in random order.

    {data_parameter}
        With one axis or more.

    {returns_array}

    {examples}
    >>> sorted(nd.shuffle(nd.array([3, 1, 2])).asnumpy().tolist())
    [1.0, 2.0, 3.0]
    """
    order = generator().permutation(len(data))
    return data[order], order.astype(np.int64)


@operator(
    name="sample_multinomial",
    aliases=("_sample_multinomial",),
    outputs=lambda attributes: numbered(2) if attributes.get("get_prob") else ("output",),
    random=True,
    saved_name="_sample_multinomial",
)
def multinomial(
    data: np.ndarray, *, shape: int | tuple[int, ...] = (), get_prob: bool = False, dtype: str = "int32"
) -> Any:
    """Return category numbers drawn with given probabilities.

    {data_parameter}
        Probabilities, which sum to 1 along the last axis; with one axis, or a batch of them.
    shape : int or tuple of int
        How many to draw for each; one if left out.
    get_prob : bool
        Whether to return the logarithms of the drawn categories' probabilities too.
    dtype : str
        Of the result.

    Returns
    -------
    NDArray, or two of them
        Of shape data.shape[:-1] + shape; (1,) if that has no axis.

    {raises_argument_error}
        If a probability is negative, or all are 0.

    {examples}
    >>> nd.sample_multinomial(nd.array([[0, 1], [1, 0]]), shape=2).asnumpy()
    array([[1, 1],
           [0, 0]], dtype=int32)
    """
    if not data.ndim:
        raise ShapeError("sample_multinomial: data has shape (); expected probabilities along the last axis.")
    inner = as_shape(shape)
    rows = data.reshape(-1, data.shape[-1]).astype(np.float64)
    totals = np.cumsum(rows, axis=1)
    if (rows < 0).any() or not (totals[:, -1:] > 0).all():
        raise ArgumentError("sample_multinomial: each row of data must hold probabilities: none negative, not all 0.")
    count = int(np.prod(inner, dtype=np.int64))
    uniform = generator().random((len(rows), count)) * totals[:, -1:]
    drawn = np.array([np.searchsorted(t, u, side="right") for t, u in zip(totals, uniform, strict=True)], np.intp)
    drawn = drawn.reshape(len(rows), count)
    result = drawn.astype(dtype).reshape((data.shape[:-1] + inner) or (1,))
    if not get_prob:
        return result
    logarithms = np.log(np.take_along_axis(rows, drawn, 1)).astype(data.dtype)
    return result, logarithms.reshape(result.shape)


@multinomial.def_grad()
def _multinomial_gradient(ans: Any, data: Any, *, get_prob: bool) -> Any:
    size = np.shape(data)
    if not get_prob:
        return lambda g: np.zeros(size)
    drawn, logarithms = map(raw_of, ans)
    rows = (-1, size[-1])

    def gradient(g: Any) -> Any:
        positions = drawn.astype(np.intp).reshape(-1, max(logarithms.size // max(np.prod(size[:-1], dtype=int), 1), 1))
        hot = positions[..., None] == np.arange(size[-1])
        weights = np.reshape(g[1], positions.shape)[..., None] / np.reshape(data, rows)[:, None, :]
        return np.reshape(np.sum(np.where(hot, weights, 0), axis=1), size)

    return gradient


@shuffle.def_grad()
def _shuffle_gradient(ans: Any, data: Any) -> Any:
    inverse = np.argsort(raw_of(ans[1]))
    return lambda g: g[0][inverse]


@shuffle.def_infer_shape
def _shuffle_shapes(inputs: Any, outputs: Any) -> Any:
    inputs, results = same_shape(inputs, outputs[:1])
    return inputs, [*results, None if inputs[0] is None else inputs[0][:1]][: len(outputs)]


@shuffle.def_infer_type
def _shuffle_dtypes(inputs: Any, outputs: Any) -> Any:
    inputs, results = same_dtype(inputs, outputs[:1])
    return inputs, [*results, np.dtype(np.int64)][: len(outputs)]


@multinomial.def_infer_shape
@forwards
def _multinomial_shape(data: Any, *, shape: Any = (), **_: Any) -> Any:
    if not data:
        raise ShapeError("data has shape (); expected probabilities along the last axis.")
    return data[:-1] + as_shape(shape) or (1,)


@multinomial.def_infer_type
def _multinomial_dtypes(inputs: Any, outputs: Any, *, dtype: Any) -> Any:
    data, logarithms = same_dtype(inputs, outputs[1:])
    return data, [as_dtype(dtype), *logarithms]
