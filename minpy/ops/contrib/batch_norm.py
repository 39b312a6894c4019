"""Batch normalization by other names: for several devices, of which there is one here, and followed by a relu."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.ops.nn.batch_norm import batch_norm, batch_norm_dtypes, batch_norm_gradients, batch_norm_shapes
from minpy.ops.registry import operator

__all__ = ["batch_norm_v1", "batch_norm_with_relu", "sync_batch_norm"]


def _outputs(attributes: dict[str, Any]) -> tuple[str, ...]:
    return ("output", "mean", "var") if attributes.get("output_mean_var") else ("output",)


def _with_variance(parts: tuple[Any, Any, Any], eps: float) -> tuple[Any, Any, Any]:
    """Return (result, mean, variance) from (result, mean, 1 / sqrt(variance + eps))."""
    result, mean, inverse = parts
    return result, mean, 1 / (inverse * inverse) - inverse.dtype.type(eps)


def _inverse(variance: Any, eps: float) -> Any:
    return 1 / np.sqrt(variance + np.dtype(variance.dtype).type(eps))


def _variance_gradients(ans: Any, data: Any, gamma: Any, beta: Any, eps: float, **attributes: Any) -> Any:
    """Return the gradients of a batch normalization that answers with the variance.

    They do not read the moving statistics, which a second call may have changed by then.
    """
    inverse = _inverse(ans[2], eps)
    known = (ans[0], ans[1], inverse)
    pull = batch_norm_gradients(known, data, gamma, beta, None, None, **attributes)
    return lambda g: pull((g[0], g[1], -2 * g[2] / (inverse * inverse * inverse)))


@operator(
    name="_contrib_SyncBatchNorm",
    auxiliary=("moving_mean", "moving_var"),
    visible_outputs=lambda attributes: 3 if attributes.get("output_mean_var") else 1,
    outputs=_outputs,
)
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
) -> Any:
    """Return what `BatchNorm` does, for code that trains on several devices at once; here the batch is on one.

    {data_parameter}
        Floating point, of shape (batch, channels, ...).
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
        Whether to return the mean and the variance too.
    ndev, key
        The number of devices, and what the layer is called among them: accepted and not used.
    training : bool, optional
        Whether this is training; by default what `autograd.is_training()` says.

    Returns
    -------
    NDArray, or three of them
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
    parts = batch_norm.definition(
        data, gamma, beta, moving_mean, moving_var, eps=eps, momentum=momentum, fix_gamma=fix_gamma,
        use_global_stats=use_global_stats, training=training,
    )  # fmt: skip
    return _with_variance(parts, eps)


@operator(
    name="BatchNorm_v1",
    auxiliary=("moving_mean", "moving_var"),
    visible_outputs=lambda attributes: 3 if attributes.get("output_mean_var") else 1,
    outputs=_outputs,
)
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
) -> Any:
    """Return what `BatchNorm` does along axis 1: the form of it that old files hold.

    {data_parameter}
        Floating point, of shape (batch, channels, ...).
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
        Whether to return the mean and the variance too.
    training : bool, optional
        Whether this is training; by default what `autograd.is_training()` says.

    Returns
    -------
    NDArray, or three of them
        Of the data's shape; mean and variance of shape (channels,).

    {raises_shape_error}
        If a vector does not have as many elements as there are channels.
    {or_integers}

    {examples}
    >>> x, one, two = nd.array([[1], [3]]), nd.ones((1,)), nd.array([2])
    >>> nd.BatchNorm_v1(x, one, one, two, one, eps=0).asnumpy().ravel()
    array([0., 2.], dtype=float32)
    """
    parts = batch_norm.definition(
        data, gamma, beta, moving_mean, moving_var, eps=eps, momentum=momentum, fix_gamma=fix_gamma,
        use_global_stats=use_global_stats, training=training,
    )  # fmt: skip
    return _with_variance(parts, eps)


def _variance_kernel(
    data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, *, eps: float, **attributes: Any
) -> Any:
    attributes.pop("ndev", None)
    attributes.pop("key", None)
    return _with_variance(batch_norm.forward(data, gamma, beta, moving_mean, moving_var, eps=eps, **attributes), eps)


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
    return _variance_gradients(
        ans, data, gamma, beta, eps,
        fix_gamma=fix_gamma, use_global_stats=use_global_stats, axis=1, training=training,
    )  # fmt: skip


@operator(
    name="_contrib_BatchNormWithReLU",
    auxiliary=("moving_mean", "moving_var"),
    visible_outputs=lambda attributes: 3 if attributes.get("output_mean_var") else 1,
    outputs=_outputs,
)
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
) -> Any:
    """Return what `BatchNorm` does, with 0 in the place of negative numbers.

    {data_parameter}
        Floating point.
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

    {examples}
    >>> x, one, two = nd.array([[1], [3]]), nd.ones((1,)), nd.array([2])
    >>> nd.contrib.BatchNormWithReLU(x, one, 0 * one, two, one, eps=0).asnumpy().ravel()
    array([0., 1.], dtype=float32)
    """
    result, mean, inverse = batch_norm.definition(
        data, gamma, beta, moving_mean, moving_var, eps=eps, momentum=momentum, fix_gamma=fix_gamma,
        use_global_stats=use_global_stats, axis=axis, training=training,
    )  # fmt: skip
    return np.maximum(result, 0), mean, inverse


@batch_norm_with_relu.def_kernel
def _relu_kernel(
    data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, **attributes: Any
) -> tuple[Any, Any, Any]:
    result, mean, inverse = batch_norm.forward(data, gamma, beta, moving_mean, moving_var, **attributes)
    return np.maximum(result, 0, out=result), mean, inverse


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
        ans, data, gamma, beta, None, None,
        fix_gamma=fix_gamma, use_global_stats=use_global_stats, axis=axis, training=training,
    )  # fmt: skip
    return lambda g: pull((g[0] * (ans[0] > 0), g[1], g[2]))


for _operator in (sync_batch_norm, batch_norm_v1):
    _operator.def_kernel(_variance_kernel)
    _operator.def_multiple_grad(_variance_rule, argnums=(0, 1, 2))
    _operator.def_infer_shape(lambda inputs, outputs: batch_norm_shapes(inputs, outputs, axis=1))
    _operator.outputs_read = (1, 2)
batch_norm_with_relu.def_infer_shape(batch_norm_shapes)
for _operator in (sync_batch_norm, batch_norm_v1, batch_norm_with_relu):
    _operator.def_infer_type(batch_norm_dtypes)
    _operator.initializers = batch_norm.initializers
    _operator.saved_outputs = batch_norm.saved_outputs
    _operator.category = "normalization"
batch_norm_with_relu.saved_outputs = lambda given: 4
