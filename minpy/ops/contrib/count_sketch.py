"""Count sketches: vectors made shorter by adding up elements, with signs, where a hash function sends them."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.array import raw_of
from minpy.core.errors import OutOfRangeError, ShapeError
from minpy.core.sums import sum_over
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.rule_parts import known_ndim, merge_lengths, promoted, with_axes
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import index

__all__ = ["count_sketch"]


@operator(name="_contrib_count_sketch", zero=(1,))
def count_sketch(
    data: np.ndarray, h: np.ndarray, s: np.ndarray, *, out_dim: int, processing_batch_size: int = 32
) -> np.ndarray:
    """Return sums of elements along the last axis: element i, times s[i], is added at position h[i].

    {data_parameter}
        Floating point, (..., n).
    h : NDArray
        Of shape (1, n) or (n,): positions, 0 <= h < out_dim.
    s : NDArray
        Of shape (1, n) or (n,): signs, 1 or -1.
    out_dim : int
        The length of the result.
    processing_batch_size : int
        Accepted and not used: how many rows MXNet computes at a time.

    {returns_array}
        Of shape (..., out_dim).

    {raises_unless_shapes_fit}
    DTypeError
        If `data` does not hold floating-point numbers.
    OutOfRangeError
        If a position is not in the result.

    Notes
    -----
    Charikar, Chen and Farach-Colton, "Finding frequent items in data streams" (2002); as a layer in Gao et al.,
    "Compact bilinear pooling" (2016).

    {examples}
    >>> x, h, s = nd.array([[1.5, 2.5, 3.5]]), nd.array([[0, 3, 0]]), nd.array([[1, -1, 1]])
    >>> nd.contrib.count_sketch(x, h, s, out_dim=5).asnumpy()
    array([[ 5. ,  0. ,  0. , -2.5,  0. ]], dtype=float32)
    """
    places = _target_positions(data, h, s, out_dim)
    result = np.zeros((*data.shape[:-1], out_dim), np.result_type(data, s))
    if places.size:
        # In order of their positions, elements that go to one place stand side by side.
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        signed = (data * s.reshape(-1))[..., order]
        result[..., ordered[starts]] = np.add.reduceat(signed, starts, axis=-1)
    return result


def _target_positions(data: Any, h: Any, s: Any, out_dim: int) -> np.ndarray:
    """Return the positions as indices."""
    require_floats("contrib.count_sketch", data)
    length = data.shape[-1:]
    for name, value in (("h", h), ("s", s)):
        if not length or value.shape not in (length, (1, *length)):
            raise ShapeError(
                f"contrib.count_sketch: {name} has shape {value.shape}; expected (1, n) or (n,) for data (..., n), "
                f"which has shape {data.shape}."
            )
    places = raw_of(h).reshape(-1).astype(np.int64)
    wrong = (places < 0) | (places >= out_dim)
    if wrong.any():
        raise OutOfRangeError(
            f"contrib.count_sketch: h holds {places[wrong][0]}; expected 0 <= h < {out_dim}, which is out_dim."
        )
    return places


@count_sketch.def_grad(argnum=0)
def _sketched_gradient(ans: Any, data: Any, h: Any, s: Any) -> Any:
    places = raw_of(h).reshape(-1).astype(np.int64)
    return lambda g: index(g, key=(..., places)) * np.reshape(s, (-1,))


@count_sketch.def_grad(argnum=2)
def _sign_gradient(ans: Any, data: Any, h: Any, s: Any) -> Any:
    places = raw_of(h).reshape(-1).astype(np.int64)

    def gradient(g: Any) -> Any:
        part = index(g, key=(..., places)) * data
        return np.reshape(sum_over(part, axis=tuple(range(np.ndim(data) - 1))), np.shape(s))

    return gradient


@count_sketch.def_infer_shape
def _count_sketch_shapes(inputs: Any, outputs: Any, *, out_dim: int) -> Any:
    data, h, s = inputs
    ndim = known_ndim(data, *outputs)
    if ndim is None:
        return inputs, outputs
    if not ndim:
        raise ShapeError("expected at least one axis.")
    data, result = with_axes(data, ndim), with_axes(outputs[0], ndim)
    lead = tuple(map(merge_lengths, data[:-1], result[:-1]))
    length = data[-1]
    for shape in (h, s):
        length = length if shape is None else merge_lengths(length, shape[-1])
    vectors = [(1, length) if shape is None else (*shape[:-1], length) for shape in (h, s)]
    return [(*lead, length), *vectors], [(*lead, out_dim)]


@count_sketch.def_infer_type
def _count_sketch_dtypes(inputs: Any, outputs: Any, **_: Any) -> Any:
    data, h, s = inputs
    [data, s], outputs = promoted([data, s], outputs)
    return [data, data if h is None else h, s], outputs
