"""`Pooling_v1`: the first form of pooling, which old files hold. Means and ties are counted in another way."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from minpy.core.errors import ArgumentError, ShapeError
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.nn.pooling import overlaps, pooling, window_spread, windows
from minpy.ops.registry import operator

__all__ = ["hold_padding", "pooling_v1"]


@operator(name="Pooling_v1")
def pooling_v1(
    data: np.ndarray,
    *,
    kernel: tuple[int, ...] = (),
    pool_type: Literal["max", "avg", "sum"] = "max",
    global_pool: bool = False,
    pooling_convention: Literal["valid", "full"] = "valid",
    stride: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
) -> np.ndarray:
    """Return the maximum, mean or sum of windows, as old files mean it.

    It differs from `Pooling` in three ways: a mean is always over as many elements as the kernel has, also where the
    last window reaches beyond the padding; the zeros of the padding count where maxima are taken, so that none beside
    them is negative; and equal maxima of a window all get its gradient.

    {data_parameter}
        Floating point, of shape (batch, channels, height, width) or (batch, channels, depth, height, width).
    kernel : tuple of int
        Lengths of a window.
    pool_type : {'max', 'avg', 'sum'}
    global_pool : bool
        Whether there is one window, all of the data; kernel, stride and pad are then not used.
    pooling_convention : {'valid', 'full'}
        'valid': windows end inside the padded data. 'full': the last one may reach beyond.
    stride, pad : tuple of int
        As for `Pooling`.

    {returns_array}
        Of shape (batch, channels, ...).

    {raises_shape_error}
        If the window does not fit the data, or the data has other axes.
    ArgumentError
        For unknown names, or without a kernel.
    {or_integers}

    {examples}
    >>> x = nd.ones((1, 1, 3, 3))
    >>> nd.Pooling_v1(x, kernel=(2, 2), pool_type='avg', stride=(2, 2), pooling_convention='full').asnumpy()
    array([[[[1.  , 0.5 ],
             [0.5 , 0.25]]]], dtype=float32)
    """
    require_floats("Pooling_v1", data)
    if pool_type not in ("max", "avg", "sum") or pooling_convention not in ("valid", "full"):
        raise ArgumentError(
            f"Pooling_v1: pool_type is {pool_type!r}, pooling_convention {pooling_convention!r}; expected 'max', 'avg' "
            "or 'sum', and 'valid' or 'full'."
        )
    if data.ndim not in (4, 5):
        raise ShapeError(f"Pooling_v1: data has shape {data.shape}; expected 4 or 5 axes: (batch, channels, ...).")
    window = {"global_pool": global_pool, "pooling_convention": pooling_convention, "stride": stride, "pad": pad}
    kind = "max" if pool_type == "max" else "sum"
    result = pooling.definition(data, kernel=kernel, pool_type=kind, **window)
    if pool_type == "sum":
        return result
    kernel, stride, pad, counts = windows(data.shape, kernel, global_pool, pooling_convention, stride, pad)
    if pool_type == "avg":
        return result / result.dtype.type(math.prod(kernel))
    if any(pad):
        padded = hold_padding(data.shape[2:], kernel, stride, pad, counts)
        result = np.where(padded, np.maximum(result, result.dtype.type(0)), result)
    return result


def hold_padding(lengths: Any, kernel: Any, stride: Any, pad: Any, counts: Any) -> np.ndarray:
    """Return which windows hold elements of the padding; those that reach beyond data without any do not."""
    padded = np.zeros((), bool)
    for x, k, s, p, count in zip(lengths, kernel, stride, pad, counts, strict=True):
        starts = np.arange(count) * s - p
        padded = np.logical_or.outer(padded, (starts < 0) | ((starts + k > x) & (p > 0)))
    return padded


@operator(name="_tied_place", public=False, zero=(1, 2))
def tied_place(gradient: Any, data: Any, largest: Any, *, kernel: Any, stride: Any, pad: Any) -> Any:
    """Return zeros, with each number of `gradient` added at all of the largest elements of its window."""
    result = np.zeros(data.shape, gradient.dtype)
    for positions, elements in overlaps(data.shape[2:], kernel, stride, pad, largest.shape[2:]):
        result[elements] += gradient[positions] * (data[elements] == largest[positions])
    return result


@operator(name="_tied_pick", public=False, zero=(1, 2))
def tied_pick(values: Any, data: Any, largest: Any, *, kernel: Any, stride: Any, pad: Any) -> Any:
    """Return the transpose of `tied_place`: the sums of values at the largest elements of each window."""
    result = np.zeros(largest.shape, values.dtype)
    for positions, elements in overlaps(data.shape[2:], kernel, stride, pad, largest.shape[2:]):
        result[positions] += values[elements] * (data[elements] == largest[positions])
    return result


tied_place.def_grad(lambda ans, gradient, data, largest, **window: lambda h: tied_pick(h, data, largest, **window))
tied_pick.def_grad(lambda ans, values, data, largest, **window: lambda h: tied_place(h, data, largest, **window))


@pooling_v1.def_grad()
def _pooling_v1_gradient(ans: Any, data: Any, *, pool_type: str, **attributes: Any) -> Any:
    shape = np.shape(data)
    kernel, stride, pad, _ = windows(shape, **attributes)
    window: dict[str, Any] = {"kernel": kernel, "stride": stride, "pad": pad}
    if pool_type == "max":
        return lambda g: tied_place(g, data, ans, **window)
    count = math.prod(kernel) if pool_type == "avg" else 1
    return lambda g: window_spread(g / np.dtype(g.dtype).type(count), lengths=shape[2:], **window)


pooling_v1.shape_inference = pooling.shape_inference
pooling_v1.type_inference = pooling.type_inference
pooling_v1.category, pooling_v1.caption = pooling.category, pooling.caption
