"""Parts of networks that are neither products nor activations: dropout, layer normalization, embedding, BlockGrad."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, ShapeError
from minpy.core.sums import sum_over
from minpy.ops.axes import one_axis, several_axes
from minpy.ops.dtypes import require_floats
from minpy.ops.inference.partial_shapes import as_dtype, merge_shapes, same_dtype, same_shape
from minpy.ops.inference.rules import replace_length, vectors_along, with_followers
from minpy.ops.random.generator import generator
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import scatter_rows, truncated

__all__ = ["block_grad", "dropout", "embedding", "layer_norm"]


@operator(name="BlockGrad", aliases=("stop_gradient",))
def block_grad(data: np.ndarray) -> np.ndarray:
    """Return the data, and let no gradient through.

    Parameters
    ----------
    data : NDArray

    Returns
    -------
    NDArray
        A copy.

    Examples
    --------
    >>> from minpy import autograd, nd
    >>> x = nd.array([3])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = x * nd.BlockGrad(x)
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([3.], dtype=float32)
    """
    return data.copy()


block_grad.def_grad_zero()
block_grad.def_infer_shape(same_shape)


@operator(name="Dropout", visible_outputs=1, random=True)
def dropout(
    data: np.ndarray,
    *,
    p: float = 0.5,
    mode: str = "training",
    axes: tuple[int, ...] = (),
    cudnn_off: bool = False,
    training: bool | None = None,
) -> Any:
    """Return the data with elements set to 0 at random, and the others scaled so that the mean stays.

    Parameters
    ----------
    data : NDArray
        Floating point, of any shape.
    p : float
        The probability that an element becomes 0, in [0, 1].
    mode : {'training', 'always'}
        Whether it does so only in training.
    axes : tuple of int
        Along these, elements are set to 0 together.
    cudnn_off : bool
        Accepted and not used.
    training : bool, optional
        Whether this is training; by default what `autograd.is_training()` says.

    Returns
    -------
    NDArray
        Of the data's shape.

    Raises
    ------
    ArgumentError
        If p is no probability, or for another mode.

    Examples
    --------
    >>> from minpy import autograd, nd
    >>> nd.Dropout(nd.ones((3,)), p=0.5).asnumpy()
    array([1., 1., 1.], dtype=float32)
    >>> with autograd.train_mode():
    ...     y = nd.Dropout(nd.ones((1000,)), p=0.5)
    >>> sorted(set(y.asnumpy().tolist()))
    [0.0, 2.0]
    """
    if not 0 <= p <= 1:
        raise ArgumentError(f"Dropout: p is {p}; expected a probability, 0 <= p <= 1.")
    if mode not in ("training", "always"):
        raise ArgumentError(f"Dropout: unknown mode {mode!r}; expected 'training' or 'always'.")
    if p == 0 or not (training or mode == "always"):
        return data, np.ones((), data.dtype)
    shape = list(data.shape)
    for axis in several_axes("Dropout", axes, data.ndim):
        shape[axis] = 1
    keep = 1 - p
    uniform = generator().random(tuple(shape), np.float32)
    mask = np.less(uniform, keep).astype(data.dtype)
    if keep:
        mask *= data.dtype.type(1 / keep)
    return data * mask, mask


@dropout.def_grad()
def _dropout_gradient(
    ans: Any,
    data: Any,
    *,
    p: float = 0.5,
    mode: str = "training",
    axes: tuple[int, ...] = (),
    cudnn_off: bool = False,
    training: bool | None = None,
) -> Any:
    mask = ans[1]
    return lambda g: g[0] * mask


dropout.def_infer_shape(same_shape)


@operator(
    name="LayerNorm",
    outputs=lambda attributes: ("output", "mean", "std") if attributes.get("output_mean_var") else ("output",),
)
def layer_norm(
    data: np.ndarray,
    gamma: np.ndarray,
    beta: np.ndarray,
    *,
    axis: int = -1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
) -> Any:
    """Return the data shifted and scaled to mean 0 and variance 1 along an axis, times gamma, plus beta.

    Parameters
    ----------
    data : NDArray
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

    Raises
    ------
    ShapeError
        If gamma or beta do not fit, or there is no such axis.
    DTypeError
        If `data` holds integers.

    Notes
    -----
    With y = (x - mean) / deviation and h = gamma · g, the data's gradient is (h - mean(h) - y · mean(h · y)) /
    deviation (Ba, Kiros and Hinton, "Layer normalization", 2016).

    Examples
    --------
    >>> from minpy import nd
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
    result = normal * gamma.reshape(shape)
    result += beta.reshape(shape)
    return (result, mean, deviation) if output_mean_var else result


def _along(axis: int, ndim: int) -> tuple[int, ...]:
    return tuple(-1 if position == axis else 1 for position in range(ndim))


def _normalized(data: Any, axis: int, eps: float) -> tuple[Any, Any, Any]:
    """Return (x - mean) / deviation, the mean, and the deviation."""
    count = np.shape(data)[axis]
    mean = sum_over(data, axis=axis, keepdims=True) / count
    centred = data - mean
    deviation = np.sqrt(sum_over(centred * centred, axis=axis, keepdims=True) / count + eps)
    return centred / deviation, mean, deviation


@layer_norm.def_grad(argnum=0)
def _layer_norm_gradient(
    ans: Any, data: Any, gamma: Any, beta: Any, *, axis: int = -1, eps: float = 1e-5, output_mean_var: bool = False
) -> Any:
    axis %= np.ndim(data)
    count = np.shape(data)[axis]

    def gradient(g: Any) -> Any:
        normal, _, deviation = _normalized(data, axis, eps)
        first = g[0] if output_mean_var else g
        scaled = first * np.reshape(gamma, _along(axis, np.ndim(data)))
        part = scaled - sum_over(scaled, axis=axis, keepdims=True) / count
        part = (part - normal * (sum_over(scaled * normal, axis=axis, keepdims=True) / count)) / deviation
        return part + (g[1] + g[2] * normal) / count if output_mean_var else part

    return gradient


@layer_norm.def_grad(argnum=1)
def _layer_norm_gamma_gradient(
    ans: Any, data: Any, gamma: Any, beta: Any, *, axis: int = -1, eps: float = 1e-5, output_mean_var: bool = False
) -> Any:
    axis %= np.ndim(data)
    others = tuple(position for position in range(np.ndim(data)) if position != axis)
    return lambda g: sum_over((g[0] if output_mean_var else g) * _normalized(data, axis, eps)[0], axis=others)


@layer_norm.def_grad(argnum=2)
def _layer_norm_beta_gradient(
    ans: Any, data: Any, gamma: Any, beta: Any, *, axis: int = -1, eps: float = 1e-5, output_mean_var: bool = False
) -> Any:
    axis %= np.ndim(data)
    others = tuple(position for position in range(np.ndim(data)) if position != axis)
    return lambda g: sum_over(g[0] if output_mean_var else g, axis=others)


@layer_norm.def_infer_shape
def _layer_norm_shapes(inputs: Any, outputs: Any, *, axis: int = -1, **_: Any) -> Any:
    data, *vectors = vectors_along("LayerNorm", axis, inputs, outputs[0])
    moments = outputs[1:]
    if data is not None:
        moments = [replace_length(data, axis % len(data), 1)] * len(moments)
    return [data, *vectors], [data, *moments]


layer_norm.def_infer_type(with_followers)


@operator(name="Embedding")
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

    Parameters
    ----------
    data : NDArray
        Row numbers, of any shape and dtype; fractions are cut off, numbers out of range are clipped.
    weight : NDArray
        Of shape (input_dim, output_dim).
    input_dim, output_dim : int
        Number of rows, and their length.
    dtype, sparse_grad
        Accepted and not used: the result has the weight's dtype, and gradients are dense.

    Returns
    -------
    NDArray
        Of shape data.shape + (output_dim,).

    Raises
    ------
    ShapeError
        If `weight` does not have the shape (input_dim, output_dim).

    Examples
    --------
    >>> from minpy import nd
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
def _embedding_gradient(
    ans: Any,
    data: Any,
    weight: Any,
    *,
    input_dim: int,
    output_dim: int,
    dtype: str = "float32",
    sparse_grad: bool = False,
) -> Any:
    count = math.prod(np.shape(data))
    rows = np.reshape(data, (count,))
    return lambda g: scatter_rows(np.reshape(g, (count, output_dim)), rows, count=input_dim)


embedding.def_grad_zero(0)


@embedding.def_infer_shape
def _embedding_shapes(inputs: Any, outputs: Any, *, input_dim: int, output_dim: int, **_: Any) -> Any:
    data, [result] = inputs[0], outputs
    if result is not None:
        data = merge_shapes(data, result[:-1])
    if data is not None:
        result = (*data, output_dim)
    return [data, (input_dim, output_dim)], [result]


@embedding.def_infer_type
def _embedding_dtypes(inputs: Any, outputs: Any, *, dtype: Any = "float32", **_: Any) -> Any:
    data, weight = inputs
    [weight], outputs = same_dtype([weight], outputs)
    return ([data, weight], outputs) if weight is not None else ([data, as_dtype(dtype)], [as_dtype(dtype)])
