"""Layer normalization: over one axis, for each of the others."""

from __future__ import annotations

import operator as python_operators
from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.core.sums import sum_over
from minpy.ops.axes import one_axis
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.rule_parts import replace_length, vectors_along, with_followers
from minpy.ops.kernels.matrix_products import widened
from minpy.ops.registry import operator

__all__ = ["layer_norm"]


@operator(
    name="LayerNorm",
    outputs=lambda attributes: ("output", "mean", "std") if attributes.get("output_mean_var") else ("output",),
    kernel={"_shift": python_operators.iadd},
    dtypes=with_followers,
    saved_outputs=lambda attributes: 3,
    category="normalization",
)
def layer_norm(
    data: np.ndarray,
    gamma: np.ndarray,
    beta: np.ndarray,
    *,
    axis: int = -1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
    _shift: Callable[[Any, Any], Any] = lambda data, by: (data + by).astype(data.dtype, copy=False),
) -> Any:
    """Return the data shifted and scaled to mean 0 and variance 1 along an axis, times gamma, plus beta.

    {data_parameter}
        Floating point.
    gamma, beta : NDArray
        Of shape (data.shape[axis],).
    axis : int
    eps : float
        Added to the variance.
    output_mean_var : bool
        Whether to return the mean and the standard deviation too.

    Returns
    -------
    NDArray, or three of them
        Of the data's shape; mean and deviation with the axis of length 1.

    {raises_shape_error}
        If gamma or beta do not fit, or there is no such axis.
    {or_integers}

    Notes
    -----
    With y = (x - mean) / deviation and h = gamma · g, the data's gradient is (h - mean(h) - y · mean(h · y)) /
    deviation (Ba, Kiros and Hinton, "Layer normalization", 2016).

    {examples}
    >>> nd.LayerNorm(nd.array([[1, 2, 6]]), nd.ones((3,)), nd.zeros((3,))).asnumpy().round(3)
    array([[-0.926, -0.463,  1.389]], dtype=float32)
    """
    require_floats("LayerNorm", data)
    axis = one_axis("LayerNorm", axis, data.ndim)
    for name, value in (("gamma", gamma), ("beta", beta)):
        if value.shape != (data.shape[axis],):
            raise ShapeError(
                f"LayerNorm: {name} has shape {value.shape}; expected {(data.shape[axis],)}, the length of axis {axis} "
                f"of data {data.shape}."
            )
    normal, mean, deviation = _normalized(data, axis, eps)
    shape = _along(axis, data.ndim)
    dtype = data.dtype
    if dtype == np.float16:  # computed in float32
        result = _shift(normal * widened(gamma).reshape(shape), widened(beta).reshape(shape))
        result = result.astype(np.promote_types(dtype, gamma.dtype), copy=False)
        mean, deviation = mean.astype(dtype), deviation.astype(dtype)
    else:
        result = _shift(normal * gamma.reshape(shape), beta.reshape(shape))
    return (result, mean, deviation) if output_mean_var else result


def _along(axis: int, ndim: int) -> tuple[int, ...]:
    return tuple(-1 if position == axis else 1 for position in range(ndim))


def _normalized(data: Any, axis: int, eps: float) -> tuple[Any, Any, Any]:
    """Return (x - mean) / deviation, the mean, and the deviation; of float16 in float32."""
    data = widened(data)
    count = np.shape(data)[axis]
    mean = sum_over(data, axis=axis, keepdims=True) / count
    centred = data - mean
    deviation = np.sqrt(sum_over(centred * centred, axis=axis, keepdims=True) / count + eps)
    return centred / deviation, mean, deviation


@layer_norm.def_grad(argnum=0)
def _layer_norm_gradient(
    ans: Any, data: Any, gamma: Any, beta: Any, *, axis: int, eps: float, output_mean_var: bool
) -> Any:
    axis %= np.ndim(data)
    count = np.shape(data)[axis]

    def gradient(g: Any) -> Any:
        normal, _, deviation = _normalized(data, axis, eps)
        upstream = widened(g[0] if output_mean_var else g)
        scaled = upstream * np.reshape(widened(gamma), _along(axis, np.ndim(data)))
        part = scaled - sum_over(scaled, axis=axis, keepdims=True) / count
        part = (part - normal * (sum_over(scaled * normal, axis=axis, keepdims=True) / count)) / deviation
        result = part + (g[1] + g[2] * normal) / count if output_mean_var else part
        return result.astype("float16") if data.dtype == np.float16 else result

    return gradient


@layer_norm.def_grad(argnum=1)
def _layer_norm_gamma_gradient(
    ans: Any, data: Any, gamma: Any, beta: Any, *, axis: int, eps: float, output_mean_var: bool
) -> Any:
    axis %= np.ndim(data)
    reduced_axes = tuple(position for position in range(np.ndim(data)) if position != axis)

    def gradient(g: Any) -> Any:
        upstream = g[0] if output_mean_var else g
        result = sum_over(widened(upstream) * _normalized(data, axis, eps)[0], axis=reduced_axes)
        return result.astype(gamma.dtype) if data.dtype == np.float16 else result

    return gradient


@layer_norm.def_grad(argnum=2)
def _layer_norm_beta_gradient(ans: Any, data: Any, gamma: Any, beta: Any, *, axis: int, output_mean_var: bool) -> Any:
    axis %= np.ndim(data)
    reduced_axes = tuple(position for position in range(np.ndim(data)) if position != axis)
    return lambda g: sum_over(g[0] if output_mean_var else g, axis=reduced_axes)


@layer_norm.def_infer_shape
def _layer_norm_shapes(inputs: Any, outputs: Any, *, axis: int) -> Any:
    data, *vectors = vectors_along("LayerNorm", axis, inputs, outputs[0])
    moments = outputs[1:]
    if data is not None:
        moments = [replace_length(data, axis % len(data), 1)] * len(moments)
    return [data, *vectors], [data, *moments]
