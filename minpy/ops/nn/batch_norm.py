"""Batch normalization. Its moving statistics are auxiliary states: training changes them in place."""

from __future__ import annotations

import math
import operator as python_operators
from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.buffers import note_write
from minpy.core.errors import ShapeError
from minpy.core.sums import sum_over
from minpy.ops.axes import one_axis
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import same_dtype
from minpy.ops.inference.rule_parts import vectors_along
from minpy.ops.kernels.matrix_products import widened
from minpy.ops.registry import operator

__all__ = ["batch_norm", "batch_norm_dtypes", "batch_norm_gradients", "batch_norm_shapes"]


def _move_average(state: np.ndarray, value: np.ndarray, momentum: float) -> None:
    """Move a running average towards a value, in place."""
    state *= momentum
    state += (1 - momentum) * value
    if type(state) is np.ndarray:  # and no array proxy
        note_write(state)


def _require_vectors(data: np.ndarray, axis: int, vectors: dict[str, np.ndarray]) -> None:
    require_floats("BatchNorm", data)
    expected = (data.shape[axis],)
    for name, vector in vectors.items():
        if vector.shape != expected:
            raise ShapeError(
                f"BatchNorm: {name} has shape {vector.shape}; expected {expected}, the length of axis {axis} of data "
                f"{data.shape}."
            )


@operator(
    name="BatchNorm",
    auxiliary=("moving_mean", "moving_var"),
    visible_outputs=lambda attributes: 3 if attributes.get("output_mean_var") else 1,
    outputs=lambda attributes: ("output", "mean", "var") if attributes.get("output_mean_var") else ("output",),
    kernel={"_multiply": python_operators.imul, "_add": python_operators.iadd},
    initializers={"moving_mean": '["zero", {}]', "moving_var": '["one", {}]'},
    outputs_read=(1, 2),  # mean and inverse deviation: the result itself need not be kept
    saved_outputs=lambda attributes: 3,
    category="normalization",
)
def batch_norm(
    data: np.ndarray,
    gamma: np.ndarray,
    beta: np.ndarray,
    moving_mean: np.ndarray,
    moving_var: np.ndarray,
    *,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    training: bool | None = None,
    _multiply: Callable[[Any, Any], Any] = python_operators.mul,
    _add: Callable[[Any, Any], Any] = python_operators.add,
) -> Any:
    """Return the data shifted and scaled to mean 0 and variance 1 in each channel, times gamma, plus beta.

    In training, the mean and variance are those of the data, over all axes but the channels'; the moving statistics
    are moved towards them in place. Otherwise, and with `use_global_stats`, they are the moving statistics.

    {data_parameter}
        Floating point.
    gamma, beta : NDArray
        Scale and shift of each channel, of shape (channels,).
    moving_mean, moving_var : NDArray
        The moving statistics, of shape (channels,). Training changes them: moving = momentum * moving +
        (1 - momentum) * that of the data.
    eps : float
        Added to the variance.
    momentum : float
        How much of the moving statistics stays.
    fix_gamma : bool
        Whether gamma is taken as 1, with a gradient of 0.
    use_global_stats : bool
        Whether to use the moving statistics, and leave them, in training too.
    output_mean_var : bool
        Whether to return the mean and 1 / sqrt(variance + eps) too.
    axis : int
        Of the channels.
    cudnn_off, min_calib_range, max_calib_range
        Accepted and not used.
    training : bool, optional
        Whether this is training; by default what `autograd.is_training()` says.

    Returns
    -------
    NDArray, or three of them
        Of the data's shape; mean and inverse deviation of shape (channels,).

    {raises_shape_error}
        If a vector does not have the length of the axis, or there is no such axis.
    {or_integers}

    Notes
    -----
    With n normalized, h = gamma · g and means over a channel, the data's gradient in training is (h - mean(h) - n ·
    mean(h · n)) / deviation (Ioffe and Szegedy, "Batch normalization", 2015).

    {recorded_examples}
    >>> x, one, zero = nd.array([[1], [3]]), nd.ones((1,)), nd.zeros((1,))
    >>> mean, variance = nd.zeros((1,)), nd.ones((1,))
    >>> with autograd.train_mode():
    ...     y = nd.BatchNorm(x, one, zero, mean, variance, eps=0)
    >>> y.asnumpy()
    array([[-1.],
           [ 1.]], dtype=float32)
    >>> mean.asnumpy()
    array([0.2], dtype=float32)
    """
    axis = one_axis("BatchNorm", axis, data.ndim)
    _require_vectors(data, axis, {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var})
    shape, reduced_axes = _vector_shape_and_axes(axis, data.ndim)
    values = widened(data)
    if training and not use_global_stats:
        count = math.prod(data.shape[reduced_axis] for reduced_axis in reduced_axes)
        mean = sum_over(values, reduced_axes) / max(count, 1)
        result = values - mean.reshape(shape)
        variance = sum_over(np.square(result), reduced_axes) / max(count, 1)
        if count:
            _move_average(moving_mean, mean, momentum)
            _move_average(moving_var, variance, momentum)
    else:
        mean, variance = moving_mean.astype(values.dtype), moving_var.astype(values.dtype)
        result = values - mean.reshape(shape)
    inverse = 1 / np.sqrt(variance + variance.dtype.type(eps))
    scale = (inverse if fix_gamma else inverse * gamma.astype(values.dtype, copy=False)).reshape(shape)
    result = _add(_multiply(result, scale), beta.astype(values.dtype, copy=False).reshape(shape))
    dtype = gamma.dtype
    return result.astype(data.dtype, copy=False), mean.astype(dtype, copy=False), inverse.astype(dtype, copy=False)


def _vector_shape_and_axes(axis: int, ndim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return (the shape in which a vector lies along an axis, the other axes)."""
    shape = tuple(-1 if position == axis else 1 for position in range(ndim))
    return shape, tuple(position for position in range(ndim) if position != axis)


def batch_norm_gradients(
    ans: Any,
    data: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_var: Any,
    *,
    fix_gamma: bool,
    use_global_stats: bool,
    axis: int,
    training: bool | None,
) -> Any:
    """Return the function from upstream gradients, of result, mean and inverse deviation, to those of the inputs."""
    ndim = np.ndim(data)
    shape, reduced_axes = _vector_shape_and_axes(axis % ndim, ndim)

    def gradients(g: Any) -> Any:
        upstream, mean_gradient, inverse_gradient = g[0], g[1], g[2]
        upstream = widened(upstream)
        mean, inverse = widened(ans[1]), widened(ans[2])
        centred = widened(data) - np.reshape(mean, shape)
        shift = sum_over(upstream, reduced_axes)
        slope = sum_over(upstream * centred, reduced_axes) * inverse
        scale = inverse if fix_gamma else inverse * widened(gamma)
        part = upstream * np.reshape(scale, shape)
        if training and not use_global_stats:
            count = max(math.prod(np.shape(data)[reduced_axis] for reduced_axis in reduced_axes), 1)
            variance_gradient = (scale * slope + inverse_gradient * inverse * inverse) * inverse / count
            part = (
                part
                - centred * np.reshape(variance_gradient, shape)
                + np.reshape((mean_gradient - scale * shift) / count, shape)
            )
        return part, slope * (0 if fix_gamma else 1), shift

    return gradients


batch_norm.def_multiple_grad(batch_norm_gradients, argnums=(0, 1, 2))


@batch_norm.def_infer_shape
def batch_norm_shapes(inputs: Any, outputs: Any, *, axis: int) -> Any:
    """Infer the shapes of a batch normalization: data, four vectors, and the statistics that are outputs."""
    data, *vectors = vectors_along("BatchNorm", axis, inputs, outputs[0])
    return [data, *vectors], [data, *vectors[: len(outputs) - 1]]


@batch_norm.def_infer_type
def batch_norm_dtypes(inputs: Any, outputs: Any) -> Any:
    """Infer the dtypes of a batch normalization: of float16 the vectors are in float32."""
    [data], [result] = same_dtype(inputs[:1], outputs[:1])
    wide = np.dtype(np.float32) if data == np.float16 else data
    vectors = [wide if dtype is None else dtype for dtype in inputs[1:]]
    return [data, *vectors], [result, *[vectors[0]] * (len(outputs) - 1)]
