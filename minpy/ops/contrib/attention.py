"""Products of multi-head attention, on projections in which the heads' queries, keys and values lie interleaved.

A projection is of shape (time, batch, heads * parts * length): for each head its query, key and value (or its key and
value) side by side. What comes out of `..._qk` and goes into `..._valatt` is (batch * heads, queries, keys).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, ShapeError
from minpy.core.operator import Operator
from minpy.ops.inference.partial_shapes import UNKNOWN
from minpy.ops.inference.rule_parts import derived, merge_lengths, promoted, with_axes
from minpy.ops.kernels.matrix_products import matmul
from minpy.ops.registry import operator

__all__ = [
    "interleaved_matmul_encdec_qk",
    "interleaved_matmul_encdec_valatt",
    "interleaved_matmul_selfatt_qk",
    "interleaved_matmul_selfatt_valatt",
]


def _require(name: str, argument: str, value: Any, heads: int, count: int) -> None:
    if heads < 1:
        raise ArgumentError(f"{name}: heads is {heads}; expected 1 or more.")
    if np.ndim(value) != 3 or np.shape(value)[2] % (heads * count):
        raise ShapeError(
            f"{name}: {argument} has shape {np.shape(value)}; expected (time, batch, {heads} heads * "
            f"{f'{count} * ' if count > 1 else ''}length), so that the last axis can be divided by {heads * count}."
        )


def _require_attention(name: str, attention: Any, value: Any, heads: int) -> None:
    expected = (np.shape(value)[1] * heads, np.shape(value)[0])
    shape = np.shape(attention)
    if len(shape) != 3 or (shape[0], shape[2]) != expected:
        raise ShapeError(
            f"{name}: attention has shape {shape}; expected ({expected[0]}, queries, {expected[1]}), which is (batch * "
            f"heads, queries, keys)."
        )


def _part(projection: Any, heads: int, parts: int, index: int) -> Any:
    """Return one of the parts of a projection as (batch, heads, time, length)."""
    time, batch, width = np.shape(projection)
    split = np.reshape(projection, (time, batch, heads, parts, width // (heads * parts)))
    return np.transpose(split[:, :, :, index], (1, 2, 0, 3))


def _joined(parts: list[Any], like: Any) -> Any:
    """Return parts, (batch, heads, time, length) or None for zeros, as one projection."""
    zeros = np.zeros(np.shape(next(part for part in parts if part is not None)), like.dtype)
    stacked = np.stack([zeros if part is None else part for part in parts], axis=3)
    return np.reshape(np.transpose(stacked, (2, 0, 1, 3, 4)), np.shape(like))


def _transpose(matrices: Any) -> Any:
    return np.swapaxes(matrices, -1, -2)


def _by_heads(matrices: Any, heads: int) -> Any:
    """Return (batch * heads, queries, keys) as (batch, heads, queries, keys)."""
    count, queries, keys = np.shape(matrices)
    return np.reshape(matrices, (count // heads, heads, queries, keys))


def _scores(queries: Any, keys: Any) -> Any:
    """Return the products of queries and keys, divided by the root of their length."""
    batch, heads, time, length = np.shape(queries)
    result = matmul(queries * _scale(length, queries), _transpose(keys))
    return np.reshape(result, (batch * heads, time, np.shape(keys)[2]))


def _scale(length: int, like: Any) -> Any:
    return np.dtype(like.dtype).type(1 / math.sqrt(max(length, 1)))


def _attended(attention: Any, values: Any, heads: int) -> Any:
    """Return the values summed with weights, (queries, batch, heads * length)."""
    attended = np.transpose(matmul(_by_heads(attention, heads), values), (2, 0, 1, 3))
    time, batch, _, length = np.shape(attended)
    return np.reshape(attended, (time, batch, heads * length))


_OPTIONS: dict[str, Any] = {"dtypes": promoted, "category": "product", "may_alias": False}


@operator(name="_contrib_interleaved_matmul_selfatt_qk", **_OPTIONS)
def interleaved_matmul_selfatt_qk(queries_keys_values: np.ndarray, *, heads: int) -> np.ndarray:
    """Return the scaled products of the queries and keys of self-attention.

    Parameters
    ----------
    queries_keys_values : NDArray
        Of shape (time, batch, heads * 3 * length): for each head its query, key and value.
    heads : int

    {returns_array}
        Q Kᵀ / √length for each example and head, of shape (batch * heads, time, time): Vaswani et al., "Attention is
        all you need", 2017, equation 1, before the softmax.

    {raises_shape_error}
        If the last axis cannot be split into heads of three parts.
    ArgumentError
        If `heads` is not positive.

    {examples}
    >>> x = nd.array([[[1, 10, 0]], [[2, 20, 0]]])  # two steps of one example and one head
    >>> nd.contrib.interleaved_matmul_selfatt_qk(x, heads=1).asnumpy()
    array([[[10., 20.],
            [20., 40.]]], dtype=float32)
    """
    _require("interleaved_matmul_selfatt_qk", "queries_keys_values", queries_keys_values, heads, 3)
    return _scores(_part(queries_keys_values, heads, 3, 0), _part(queries_keys_values, heads, 3, 1))


@interleaved_matmul_selfatt_qk.def_grad()
def _selfatt_qk_gradient(ans: Any, queries_keys_values: Any, *, heads: int) -> Any:
    queries, keys = (_part(queries_keys_values, heads, 3, number) for number in range(2))
    scale = _scale(np.shape(queries)[3], queries)

    def gradient(g: Any) -> Any:
        scaled = _by_heads(g, heads) * scale
        return _joined([matmul(scaled, keys), matmul(_transpose(scaled), queries), None], queries_keys_values)

    return gradient


@operator(name="_contrib_interleaved_matmul_selfatt_valatt", **_OPTIONS)
def interleaved_matmul_selfatt_valatt(
    queries_keys_values: np.ndarray, attention: np.ndarray, *, heads: int
) -> np.ndarray:
    """Return the values of self-attention, summed with the weights that each query gives them.

    Parameters
    ----------
    queries_keys_values : NDArray
        Of shape (time, batch, heads * 3 * length): for each head its query, key and value.
    attention : NDArray
        The weights, of shape (batch * heads, queries, time).
    heads : int

    {returns_array}
        Of shape (queries, batch, heads * length).

    {raises_shape_error}
        If the last axis cannot be split into heads of three parts, or the weights do not fit.
    ArgumentError
        If `heads` is not positive.

    {examples}
    >>> x = nd.array([[[0, 0, 1]], [[0, 0, 3]]])
    >>> nd.contrib.interleaved_matmul_selfatt_valatt(x, nd.array([[[0.5, 0.5], [0, 1]]]), heads=1).asnumpy().ravel()
    array([2., 3.], dtype=float32)
    """
    name = "interleaved_matmul_selfatt_valatt"
    _require(name, "queries_keys_values", queries_keys_values, heads, 3)
    _require_attention(name, attention, queries_keys_values, heads)
    return _attended(attention, _part(queries_keys_values, heads, 3, 2), heads)


@operator(name="_contrib_interleaved_matmul_encdec_qk", **_OPTIONS)
def interleaved_matmul_encdec_qk(queries: np.ndarray, keys_values: np.ndarray, *, heads: int) -> np.ndarray:
    """Return the scaled products of the queries of a decoder and the keys of an encoder.

    Parameters
    ----------
    queries : NDArray
        Of shape (queries, batch, heads * length).
    keys_values : NDArray
        Of shape (keys, batch, heads * 2 * length): for each head its key and value.
    heads : int

    {returns_array}
        Q Kᵀ / √length for each example and head, of shape (batch * heads, queries, keys): Vaswani et al., "Attention is
        all you need", 2017, equation 1, before the softmax.

    {raises_shape_error}
        If the last axes cannot be split into heads, or the arrays do not fit each other.
    ArgumentError
        If `heads` is not positive.

    {examples}
    >>> q, kv = nd.array([[[3]]]), nd.array([[[1, 0]], [[2, 0]]])
    >>> nd.contrib.interleaved_matmul_encdec_qk(q, kv, heads=1).asnumpy()
    array([[[3., 6.]]], dtype=float32)
    """
    name = "interleaved_matmul_encdec_qk"
    _require(name, "queries", queries, heads, 1)
    _require(name, "keys_values", keys_values, heads, 2)
    if queries.shape[1] != keys_values.shape[1] or 2 * queries.shape[2] != keys_values.shape[2]:
        raise ShapeError(
            f"{name}: queries {queries.shape} and keys_values {keys_values.shape}; expected (queries, batch, width) "
            "and (keys, batch, 2 * width)."
        )
    return _scores(_part(queries, heads, 1, 0), _part(keys_values, heads, 2, 0))


@interleaved_matmul_encdec_qk.def_grad(argnum=0)
def _encdec_queries_gradient(ans: Any, queries: Any, keys_values: Any, *, heads: int) -> Any:
    keys = _part(keys_values, heads, 2, 0)
    scale = _scale(np.shape(keys)[3], keys)
    return lambda g: _joined([matmul(_by_heads(g, heads) * scale, keys)], queries)


@interleaved_matmul_encdec_qk.def_grad(argnum=1)
def _encdec_keys_gradient(ans: Any, queries: Any, keys_values: Any, *, heads: int) -> Any:
    query_heads = _part(queries, heads, 1, 0)
    scale = _scale(np.shape(query_heads)[3], query_heads)
    return lambda g: _joined([matmul(_transpose(_by_heads(g, heads) * scale), query_heads), None], keys_values)


@operator(name="_contrib_interleaved_matmul_encdec_valatt", **_OPTIONS)
def interleaved_matmul_encdec_valatt(keys_values: np.ndarray, attention: np.ndarray, *, heads: int) -> np.ndarray:
    """Return the values of an encoder, summed with the weights that each query of a decoder gives them.

    Parameters
    ----------
    keys_values : NDArray
        Of shape (keys, batch, heads * 2 * length): for each head its key and value.
    attention : NDArray
        The weights, of shape (batch * heads, queries, keys).
    heads : int

    {returns_array}
        Of shape (queries, batch, heads * length).

    {raises_shape_error}
        If the last axis cannot be split into heads of two parts, or the weights do not fit.
    ArgumentError
        If `heads` is not positive.

    {examples}
    >>> kv = nd.array([[[0, 1]], [[0, 3]]])
    >>> nd.contrib.interleaved_matmul_encdec_valatt(kv, nd.array([[[0.5, 0.5]]]), heads=1).asnumpy()
    array([[[2.]]], dtype=float32)
    """
    name = "interleaved_matmul_encdec_valatt"
    _require(name, "keys_values", keys_values, heads, 2)
    _require_attention(name, attention, keys_values, heads)
    return _attended(attention, _part(keys_values, heads, 2, 1), heads)


# -- shapes ------------------------------------------------------------------------------------------------------------


def _multiplied(length: int, factor: int) -> int:
    return derived(lambda n: n * factor, length)


def _divided(length: int, divisor: int) -> int:
    if length != UNKNOWN and length % divisor:
        raise ShapeError(f"an axis of length {length} cannot be divided by {divisor}.")
    return derived(lambda n: n // divisor, length)


@interleaved_matmul_selfatt_qk.def_infer_shape
def _selfatt_qk_shapes(inputs: Any, outputs: Any, *, heads: int) -> Any:
    projection, scores = with_axes(inputs[0], 3), with_axes(outputs[0], 3)
    time = merge_lengths(projection[0], *scores[1:])
    batch = merge_lengths(projection[1], _divided(scores[0], heads))
    _divided(projection[2], 3 * heads)
    return [(time, batch, projection[2])], [(_multiplied(batch, heads), time, time)]


@interleaved_matmul_encdec_qk.def_infer_shape
def _encdec_qk_shapes(inputs: Any, outputs: Any, *, heads: int) -> Any:
    query_shape, keys_values, scores = (with_axes(shape, 3) for shape in (*inputs, *outputs))
    batch = merge_lengths(query_shape[1], keys_values[1], _divided(scores[0], heads))
    width = merge_lengths(query_shape[2], _divided(keys_values[2], 2))
    _divided(width, heads)
    queries, keys = merge_lengths(query_shape[0], scores[1]), merge_lengths(keys_values[0], scores[2])
    return [(queries, batch, width), (keys, batch, _multiplied(width, 2))], [(_multiplied(batch, heads), queries, keys)]


def _valatt_shapes(inputs: Any, outputs: Any, heads: int, count: int) -> Any:
    projection, weights, result = (with_axes(shape, 3) for shape in (*inputs, *outputs))
    batch = merge_lengths(projection[1], result[1], _divided(weights[0], heads))
    width = merge_lengths(result[2], _divided(projection[2], count))
    _divided(width, heads)
    queries, keys = merge_lengths(weights[1], result[0]), merge_lengths(projection[0], weights[2])
    return [(keys, batch, _multiplied(width, count)), (_multiplied(batch, heads), queries, keys)], [
        (queries, batch, width)
    ]


def _define_valatt_rules(op: Operator, count: int) -> None:
    """Define the rules of a projection of `count` parts, the last of which holds the values."""

    def projection_rule(ans: Any, projection: Any, attention: Any, *, heads: int) -> Any:
        weights = _transpose(_by_heads(attention, heads))
        return lambda g: _joined([*[None] * (count - 1), matmul(weights, _part(g, heads, 1, 0))], projection)

    def attention_rule(ans: Any, projection: Any, attention: Any, *, heads: int) -> Any:
        values = _transpose(_part(projection, heads, count, count - 1))
        return lambda g: np.reshape(matmul(_part(g, heads, 1, 0), values), np.shape(attention))

    op.def_grad(projection_rule, 0)
    op.def_grad(attention_rule, 1)
    op.def_infer_shape(lambda inputs, outputs, *, heads: _valatt_shapes(inputs, outputs, heads, count))


_define_valatt_rules(interleaved_matmul_selfatt_valatt, 3)
_define_valatt_rules(interleaved_matmul_encdec_valatt, 2)
