"""Batch normalization by other names: for several devices, of which there is one here, and followed by a relu."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.docstrings import documented
from minpy.ops.nn.batch_norm import batch_norm, batch_norm_dtypes, batch_norm_gradients, batch_norm_shapes
from minpy.ops.registry import operator

__all__ = ["batch_norm_v1", "batch_norm_with_relu", "sync_batch_norm"]


# What the three are alike in.
_LIKE_BATCH_NORM: dict[str, Any] = {
    "auxiliary": batch_norm.auxiliary,
    "visible_outputs": batch_norm.visible_outputs,
    "outputs": batch_norm.outputs,
    "dtypes": batch_norm_dtypes,
    "initializers": batch_norm.initializers,
    "category": batch_norm.category,
}
# And the two along axis 1, which return the variance.
_ALONG_AXIS_1: dict[str, Any] = {
    **_LIKE_BATCH_NORM,
    "shapes": lambda inputs, outputs: batch_norm_shapes(inputs, outputs, axis=1),
    "outputs_read": batch_norm.outputs_read,
    "saved_outputs": batch_norm.saved_outputs,
}
_PARAMETERS = """
    gamma, beta : NDArray
        Scale and shift of each channel, of shape (channels,).
    moving_mean, moving_var : NDArray
        The moving statistics, of shape (channels,). Training changes them.
    eps : float
        Added to the variance.
    momentum : float
        How much of the moving statistics stays.
    fix_gamma : bool
        Whether gamma is taken as 1, with a gradient of 0.
    use_global_stats : bool
        Whether to use the moving statistics, and leave them, in training too.
    output_mean_var : bool
    """
_TRAINING = """
    training : bool, optional
        Whether this is training; by default what `autograd.is_training()` says.

    Returns
    -------
    NDArray, or three of them
    """
_BY_KERNEL = {"_normalized": batch_norm.forward}


def _with_variance(normalized: tuple[Any, Any, Any], eps: float) -> tuple[Any, Any, Any]:
    """Return (result, mean, variance) from (result, mean, 1 / sqrt(variance + eps))."""
    result, mean, inverse = normalized
    return result, mean, 1 / (inverse * inverse) - inverse.dtype.type(eps)


@operator(name="_contrib_SyncBatchNorm", kernel=_BY_KERNEL, **_ALONG_AXIS_1)
@documented(parameters=_PARAMETERS, training=_TRAINING)
def sync_batch_norm(
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
    ndev: int = 1,
    key: str,
    training: bool | None = None,
    _normalized: Callable[..., Any] = batch_norm.definition,
) -> Any:
    """Return what `BatchNorm` does, for code that trains on several devices at once; here the batch is on one.

    {data_parameter}
        Floating point, of shape (batch, channels, ...).
    {parameters}
        Whether to return the mean and the variance too.
    ndev, key
        The number of devices, and what the layer is called among them: accepted and not used.
    {training}
        Of the data's shape; mean and variance of shape (channels,).

    {raises_shape_error}
        If a vector does not have as many elements as there are channels.
    {or_integers}

    {recorded_examples}
    >>> x, one, zero = nd.array([[1], [3]]), nd.ones((1,)), nd.zeros((1,))
    >>> with autograd.train_mode():
    ...     y = nd.contrib.SyncBatchNorm(x, one, zero, zero.copy(), one.copy(), eps=0, key='bn')
    >>> y.asnumpy().ravel()
    array([-1.,  1.], dtype=float32)
    """
    normalized = _normalized(
        *(data, gamma, beta, moving_mean, moving_var),
        eps=eps,
        momentum=momentum,
        fix_gamma=fix_gamma,
        use_global_stats=use_global_stats,
        training=training,
    )
    return _with_variance(normalized, eps)


@operator(name="BatchNorm_v1", kernel=_BY_KERNEL, **_ALONG_AXIS_1)
@documented(parameters=_PARAMETERS, training=_TRAINING)
def batch_norm_v1(
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
    training: bool | None = None,
    _normalized: Callable[..., Any] = batch_norm.definition,
) -> Any:
    """Return what `BatchNorm` does along axis 1: the form of it that old files hold.

    {data_parameter}
        Floating point, of shape (batch, channels, ...).
    {parameters}
        Whether to return the mean and the variance too.
    {training}
        Of the data's shape; mean and variance of shape (channels,).

    {raises_shape_error}
        If a vector does not have as many elements as there are channels.
    {or_integers}

    {examples}
    >>> x, one, two = nd.array([[1], [3]]), nd.ones((1,)), nd.array([2])
    >>> nd.BatchNorm_v1(x, one, one, two, one, eps=0).asnumpy().ravel()
    array([0., 2.], dtype=float32)
    """
    normalized = _normalized(
        *(data, gamma, beta, moving_mean, moving_var),
        eps=eps,
        momentum=momentum,
        fix_gamma=fix_gamma,
        use_global_stats=use_global_stats,
        training=training,
    )
    return _with_variance(normalized, eps)


def _variance_rule(
    ans: Any,
    data: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_var: Any,
    *,
    eps: float,
    fix_gamma: bool,
    use_global_stats: bool,
    training: bool | None,
) -> Any:
    inverse = 1 / np.sqrt(ans[2] + np.dtype(ans[2].dtype).type(eps))
    # Without the moving statistics, which a second call may have changed by then.
    pull = batch_norm_gradients(
        *((ans[0], ans[1], inverse), data, gamma, beta, None, None),
        fix_gamma=fix_gamma,
        use_global_stats=use_global_stats,
        axis=1,
        training=training,
    )
    return lambda g: pull((g[0], g[1], -2 * g[2] / (inverse * inverse * inverse)))


@operator(
    name="_contrib_BatchNormWithReLU",
    kernel={**_BY_KERNEL, "_rectified": lambda data: np.maximum(data, 0, out=data)},
    shapes=batch_norm_shapes,
    saved_outputs=lambda attributes: 4,
    **_LIKE_BATCH_NORM,
)
@documented(parameters=_PARAMETERS, training=_TRAINING)
def batch_norm_with_relu(
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
    _normalized: Callable[..., Any] = batch_norm.definition,
    _rectified: Callable[[Any], Any] = lambda data: np.maximum(data, 0),
) -> Any:
    """Return what `BatchNorm` does, with 0 in the place of negative numbers.

    {data_parameter}
        Floating point.
    {parameters}
        Whether to return the mean and 1 / sqrt(variance + eps) too.
    axis : int
        Of the channels.
    cudnn_off, min_calib_range, max_calib_range
        Accepted and not used.
    {training}
        Of the data's shape; mean and inverse deviation of shape (channels,).

    {raises_shape_error}
        If a vector does not have the length of the axis, or there is no such axis.
    {or_integers}

    {examples}
    >>> x, one, two = nd.array([[1], [3]]), nd.ones((1,)), nd.array([2])
    >>> nd.contrib.BatchNormWithReLU(x, one, 0 * one, two, one, eps=0).asnumpy().ravel()
    array([0., 1.], dtype=float32)
    """
    result, mean, inverse = _normalized(
        *(data, gamma, beta, moving_mean, moving_var),
        eps=eps,
        momentum=momentum,
        fix_gamma=fix_gamma,
        use_global_stats=use_global_stats,
        axis=axis,
        training=training,
    )
    return _rectified(result), mean, inverse


@batch_norm_with_relu.def_multiple_grad(argnums=(0, 1, 2))
def _relu_gradients(
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
    pull = batch_norm_gradients(
        *(ans, data, gamma, beta, None, None),
        fix_gamma=fix_gamma,
        use_global_stats=use_global_stats,
        axis=axis,
        training=training,
    )
    return lambda g: pull((g[0] * (ans[0] > 0), g[1], g[2]))


for _operator in (sync_batch_norm, batch_norm_v1):
    _operator.def_multiple_grad(_variance_rule, argnums=(0, 1, 2))
