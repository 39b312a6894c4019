"""Normalizations without moving statistics: of instances, of groups of channels, to length 1, and by neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.errors import ArgumentError, ShapeError
from minpy.core.sums import sum_over
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import merge_shapes, same_shape
from minpy.ops.kernels.matrix_products import widened
from minpy.ops.nn.pooling import window_spread, window_sum
from minpy.ops.registry import operator

__all__ = ["group_norm", "instance_norm", "l2_normalization", "lrn"]


# -- to mean 0 and variance 1, in groups of channels -------------------------------------------------------------------


def _standardized(data: Any, groups: int, eps: float) -> tuple[Any, Any, Any]:
    """Return (n, mean, deviation): n = (data - mean) / deviation has shape (batch, groups, everything else)."""
    batch, *lengths = np.shape(data)
    rows = np.reshape(widened(data), (batch, groups, math.prod(lengths) // max(groups, 1)))
    count = max(np.shape(rows)[2], 1)
    mean = sum_over(rows, axis=2, keepdims=True) / count
    centred = rows - mean
    deviation = np.sqrt(sum_over(centred * centred, axis=2, keepdims=True) / count + eps)
    return centred / deviation, mean, deviation


def _scaled(data: Any, normal: Any, gamma: Any, beta: Any) -> Any:
    rows = normal * gamma.reshape(len(gamma), 1) + beta.reshape(len(beta), 1)
    return rows.reshape(data.shape).astype(data.dtype, copy=False)


def _standardizing_gradients(data: Any, gamma: Any, groups: int, eps: float) -> Callable[..., tuple[Any, Any, Any]]:
    """Return the function from upstream gradients, of the result and of the statistics, to those of the inputs."""

    def gradients(g: Any, mean_gradient: Any = None, deviation_gradient: Any = None) -> tuple[Any, Any, Any]:
        normal, _, deviation = _standardized(data, groups, eps)
        g = np.reshape(widened(g), np.shape(normal))
        count = max(np.shape(normal)[2], 1)
        scaled = g * np.reshape(widened(gamma), (*np.shape(gamma), 1))
        shift = sum_over(scaled, axis=2, keepdims=True) / count
        slope = sum_over(scaled * normal, axis=2, keepdims=True) / count
        part = (scaled - shift - normal * slope) / deviation
        if mean_gradient is not None:
            part = part + (mean_gradient[:, :, None] + deviation_gradient[:, :, None] * normal) / count
        return np.reshape(part, np.shape(data)), sum_over(g * normal, axis=(0, 2)), sum_over(g, axis=(0, 2))

    return gradients


def _require_vectors(name: str, data: Any, gamma: Any, beta: Any, length: int, meaning: str) -> None:
    require_floats(name, data)
    if data.ndim < 3:
        raise ShapeError(f"{name}: data has shape {data.shape}; expected (batch, channels, ...) with 3 axes or more.")
    for argument, vector in (("gamma", gamma), ("beta", beta)):
        if vector.shape != (length,):
            raise ShapeError(
                f"{name}: {argument} has shape {vector.shape}; expected {(length,)}, {meaning} of data {data.shape}."
            )


_OPTIONS: dict[str, Any] = {"may_alias": False, "category": "normalization"}


@operator(name="InstanceNorm", saved_outputs=lambda attributes: 3, **_OPTIONS)
def instance_norm(data: np.ndarray, gamma: np.ndarray, beta: np.ndarray, *, eps: float = 1e-3) -> np.ndarray:
    """Return the data shifted and scaled to mean 0 and variance 1 in each channel of each example.

    {data_parameter}
        Floating point, of shape (batch, channels, ...), with three axes or more.
    gamma, beta : NDArray
        What each channel is multiplied by, and what is added to it then, of shape (channels,).
    eps : float
        Added to the variance.

    {returns_like_data}

    {raises_shape_error}
        If gamma or beta do not fit, or the data has fewer axes.
    {or_integers}

    {examples}
    >>> x = nd.array([[[1, 3], [10, 30]]])
    >>> nd.InstanceNorm(x, nd.array([1, 2]), nd.array([0, 5]), eps=0).asnumpy()
    array([[[-1.,  1.],
            [ 3.,  7.]]], dtype=float32)
    """
    channels = data.shape[1] if data.ndim > 1 else 0
    _require_vectors("InstanceNorm", data, gamma, beta, channels, "the number of channels")
    return _scaled(data, _standardized(data, channels, eps)[0], gamma, beta)


@instance_norm.def_multiple_grad()
def _instance_norm_gradients(ans: Any, data: Any, gamma: Any, beta: Any, *, eps: float) -> Any:
    return _standardizing_gradients(data, gamma, np.shape(data)[1], eps)


@operator(
    name="GroupNorm",
    outputs=lambda attributes: ("output", "mean", "std") if attributes.get("output_mean_var") else ("output",),
    saved_outputs=lambda attributes: 3,
    **_OPTIONS,
)
def group_norm(
    data: np.ndarray,
    gamma: np.ndarray,
    beta: np.ndarray,
    *,
    num_groups: int = 1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
) -> Any:
    """Return the data shifted and scaled to mean 0 and variance 1 in groups of channels of each example.

    {data_parameter}
        Floating point, of shape (batch, channels, ...), with three axes or more.
    gamma, beta : NDArray
        What each group is multiplied by, and what is added to it then, of shape (num_groups,).
    num_groups : int
        Into how many groups of equal size the channels are split.
    eps : float
        Added to the variance.
    output_mean_var : bool
        Whether to return the mean and the standard deviation too.

    Returns
    -------
    NDArray, or three of them
        Of the data's shape; mean and deviation of shape (batch, num_groups).

    {raises_shape_error}
        If gamma or beta do not fit, the channels cannot be split, or the data has fewer axes.
    {or_integers}

    Notes
    -----
    Wu and He, "Group normalization", 2018; but with a scale and a shift for each group, not for each channel.

    {examples}
    >>> x = nd.array([[[1], [3], [10], [30]]])
    >>> nd.GroupNorm(x, nd.array([1, 2]), nd.array([0, 5]), num_groups=2, eps=0).asnumpy().ravel()
    array([-1.,  1.,  3.,  7.], dtype=float32)
    """
    _require_vectors("GroupNorm", data, gamma, beta, num_groups, "num_groups")
    if num_groups < 1 or data.shape[1] % num_groups:
        raise ShapeError(
            f"GroupNorm: the {data.shape[1]} channels of data {data.shape} cannot be split into "
            f"num_groups={num_groups} groups of equal size."
        )
    normal, mean, deviation = _standardized(data, num_groups, eps)
    result = _scaled(data, normal, gamma, beta)
    if not output_mean_var:
        return result
    return result, *(value[:, :, 0].astype(data.dtype, copy=False) for value in (mean, deviation))


@group_norm.def_multiple_grad()
def _group_norm_gradients(
    ans: Any, data: Any, gamma: Any, beta: Any, *, num_groups: int, eps: float, output_mean_var: bool
) -> Any:
    gradients = _standardizing_gradients(data, gamma, num_groups, eps)
    return (lambda g: gradients(*g)) if output_mean_var else gradients


@instance_norm.def_infer_shape
def _instance_norm_shapes(inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    data = merge_shapes(inputs[0], outputs[0])
    vector = merge_shapes(merge_shapes(inputs[1], inputs[2]), None if data is None else data[1:2])
    return [data, vector, vector], [data]


@group_norm.def_infer_shape
def _group_norm_shapes(inputs: Shapes, outputs: Shapes, *, num_groups: int) -> tuple[Shapes, Shapes]:
    data = merge_shapes(inputs[0], outputs[0])
    statistics = None if data is None else (data[0], num_groups)
    return [data, (num_groups,), (num_groups,)], [data, *[statistics] * (len(outputs) - 1)]


# -- to length 1 -------------------------------------------------------------------------------------------------------


def _normed_axes(mode: str, ndim: int) -> tuple[int, ...]:
    """Return the axes along which Euclidean lengths are computed."""
    if mode not in ("instance", "channel", "spatial"):
        raise ArgumentError(f"L2Normalization: unknown mode {mode!r}; expected 'instance', 'channel' or 'spatial'.")
    if mode != "instance" and ndim < 3:
        raise ShapeError(f"L2Normalization: mode={mode!r} takes data with 3 axes or more, got {ndim}.")
    return {"instance": tuple(range(1, ndim)), "channel": (1,), "spatial": tuple(range(2, ndim))}[mode]


def _length(data: Any, eps: float, mode: str) -> Any:
    axes = _normed_axes(mode, np.ndim(data))
    squares = widened(data) * widened(data)
    return np.sqrt((sum_over(squares, axis=axes, keepdims=True) if axes else squares) + eps)


@operator(name="L2Normalization", shapes=same_shape, saved_outputs=lambda attributes: 2, **_OPTIONS)
def l2_normalization(
    data: np.ndarray, *, eps: float = 1e-10, mode: Literal["instance", "channel", "spatial"] = "instance"
) -> np.ndarray:
    """Return the data divided by its Euclidean length, sqrt(sum(data ** 2) + eps).

    {data_parameter}
        Floating point, of shape (batch, channels, ...).
    eps : float
        Keeps lengths from being 0.
    mode : {'instance', 'channel', 'spatial'}
        What has a length: everything that belongs to one example; the channels at one position; the positions of one
        channel.

    {returns_like_data}

    {raises_argument_error}
        For another mode.
    ShapeError
        If the data has less than three axes, in the modes 'channel' and 'spatial'.
    {or_integers}

    {examples}
    >>> nd.L2Normalization(nd.array([[3, 4], [0, 2]])).asnumpy()
    array([[0.6, 0.8],
           [0. , 1. ]], dtype=float32)
    """
    require_floats("L2Normalization", data)
    return (data / _length(data, eps, mode)).astype(data.dtype, copy=False)


@l2_normalization.def_grad()
def _l2_normalization_gradient(ans: Any, data: Any, *, eps: float, mode: str) -> Any:
    axes = _normed_axes(mode, np.ndim(data))

    def gradient(g: Any) -> Any:
        length = _length(data, eps, mode)
        products = g * data / (length * length)
        return (g - data * (sum_over(products, axis=axes, keepdims=True) if axes else products)) / length

    return gradient


# -- by the channels beside --------------------------------------------------------------------------------------------


def _window(nsize: int) -> dict[str, Any]:
    reach = (nsize - 1) // 2
    return {"kernel": (2 * reach + 1, 1), "stride": (1, 1), "pad": (reach, 0)}


def _as_rows(data: Any) -> Any:
    """Return the data with its channels as the first of two axes of windows."""
    shape = np.shape(data)
    return np.reshape(data, (shape[0], 1, shape[1], math.prod(shape[2:])))


def _divisor_base(data: Any, alpha: float, knorm: float, nsize: int) -> Any:
    """Return knorm + alpha / nsize * (the sum of the squares of nsize channels), as rows."""
    rows = _as_rows(widened(data))
    sums = window_sum(rows * rows, **_window(nsize), counts=np.shape(rows)[2:])
    return sums * (alpha / nsize) + knorm


@operator(name="LRN", shapes=same_shape, saved_outputs=lambda attributes: 2, **_OPTIONS)
def lrn(data: np.ndarray, *, alpha: float = 1e-4, beta: float = 0.75, knorm: float = 2.0, nsize: int) -> np.ndarray:
    """Return the data divided by a power of the squares of the channels beside: local response normalization.

    It is data / (knorm + alpha / nsize * s) ** beta, with s the sum of squares of the `nsize` channels around each
    (Krizhevsky, Sutskever and Hinton, "ImageNet classification", 2012, section 3.3; there without the division by n).

    {data_parameter}
        Floating point, of shape (batch, channels, ...), with three axes or more.
    alpha, beta, knorm : float
    nsize : int
        How many channels: an odd number. An even one takes the squares of one channel less.

    {returns_like_data}

    {raises_argument_error}
        If `nsize` is not positive.
    ShapeError
        If the data has fewer axes.
    {or_integers}

    {examples}
    >>> x = nd.array([[[1], [2], [3]]])
    >>> nd.LRN(x, nsize=3, alpha=3, beta=1, knorm=1).asnumpy().ravel().round(4)
    array([0.1667, 0.1333, 0.2143], dtype=float32)
    """
    require_floats("LRN", data)
    if nsize < 1:
        raise ArgumentError(f"LRN: nsize is {nsize}; expected an odd number of channels, 1 or more.")
    if data.ndim < 3:
        raise ShapeError(f"LRN: data has shape {data.shape}; expected (batch, channels, ...) with 3 axes or more.")
    factor = (_divisor_base(data, alpha, knorm, nsize) ** -beta).reshape(data.shape)
    return (data * factor).astype(data.dtype, copy=False)


@lrn.def_grad()
def _lrn_gradient(ans: Any, data: Any, *, alpha: float, beta: float, knorm: float, nsize: int) -> Any:
    def gradient(g: Any) -> Any:
        base = _divisor_base(data, alpha, knorm, nsize)
        rows, upstream = _as_rows(widened(data)), _as_rows(widened(g))
        products = upstream * rows * base ** (-beta - 1)
        spread = window_spread(products, **_window(nsize), lengths=np.shape(rows)[2:])
        part = upstream * base**-beta - rows * spread * (2 * alpha * beta / nsize)
        return np.reshape(part, np.shape(data))

    return gradient
