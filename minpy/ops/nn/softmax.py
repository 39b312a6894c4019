"""Softmax and its kin, along one axis. The shift by the maximum keeps `exp` from overflowing, and cancels out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError, DTypeError, ShapeError
from minpy.core.sums import sum_over
from minpy.ops.axes import one_axis
from minpy.ops.dtype_attributes import dtype_or, require_floats
from minpy.ops.inference.partial_shapes import merge_shapes, same_shape
from minpy.ops.inference.rule_parts import dtype_attribute, like_data, without_axis
from minpy.ops.kernels.row_reductions import maximum_along, sum_along
from minpy.ops.registry import operator

__all__ = ["log_softmax", "softmax", "softmax_activation", "softmin"]


def _prepared(name: str, data: np.ndarray, temperature: float | None, dtype: Any) -> tuple[np.ndarray, Any]:
    """Return (the logits to compute with, the dtype of the result)."""
    require_floats(name, data, "fc")
    result = dtype_or(dtype, data.dtype)
    if data.dtype.itemsize == 2 or data.dtype != result:  # sums of many float16 would lose their small terms
        data = data.astype(np.promote_types(result, np.float32), copy=False)
    return (data if temperature in (None, 1) else data / data.dtype.type(temperature)), result


def shifted(data: Any, axis: int) -> Any:
    """Return x - max, with the axis kept."""
    return data - np.max(data, axis=axis, keepdims=True, initial=-np.inf)


def softmax_along(data: Any, axis: int = -1) -> Any:
    """Return the softmax of an array: the definition."""
    powers = np.exp(shifted(data, axis))
    return powers / sum_over(powers, axis, keepdims=True)


def _log_softmax_along(data: Any, axis: int) -> Any:
    values = shifted(data, axis)
    return values - np.log(sum_over(np.exp(values), axis, keepdims=True))


def _raw_log_softmax(data: np.ndarray, axis: int) -> np.ndarray:
    result: np.ndarray = data - maximum_along(data, axis)
    result -= np.log(sum_along(np.exp(result), axis))
    return result


def raw_softmax(data: np.ndarray, axis: int = -1, out: np.ndarray | None = None) -> np.ndarray:
    """Return the softmax of a NumPy array, in `out` or a fresh array: the kernel."""
    result: np.ndarray = np.subtract(data, maximum_along(data, axis), out=out)
    np.exp(result, out=result)
    result /= sum_along(result, axis)
    return result


def softmax_pulled(ans: Any, g: Any, axis: int) -> Any:
    """Return the gradient of the data of a softmax, from its result and the gradient of that."""
    part = ans * g
    return part - ans * sum_over(part, axis=axis, keepdims=True)


def divided(part: Any, temperature: float | None) -> Any:
    """Return a gradient divided by the temperature by which the data were divided."""
    return part if temperature in (None, 1) else part / temperature


def masked_softmax_along(logits: Any, mask: Any, axis: int) -> Any:
    """Return the softmax of the elements where a mask is True, 0 elsewhere: the definition."""
    masked_logits = np.where(mask, logits, -np.inf)
    highest = np.max(masked_logits, axis=axis, keepdims=True, initial=-np.inf)
    powers = np.exp(masked_logits - np.where(np.isneginf(highest), 0, highest))  # nothing counts: all results are 0
    total = sum_over(powers, axis, keepdims=True)
    return powers / np.where(total == 0, 1, total)


def raw_masked_softmax(logits: np.ndarray, mask: np.ndarray, axis: int) -> np.ndarray:
    """Return the same of NumPy arrays: the kernel."""
    result = np.where(mask, logits, -np.inf)
    highest = result.max(axis=axis, keepdims=True, initial=-np.inf)
    result -= np.where(np.isneginf(highest), 0, highest)
    np.exp(result, out=result)
    total = sum_over(result, axis, keepdims=True)
    result /= np.where(total == 0, 1, total)
    return result


@operator(
    name="softmax",
    optional_inputs={"length": lambda attributes: bool(attributes.get("use_length", False))},
    kernel={"_normalized": raw_softmax, "_masked": raw_masked_softmax},
    zero=(1,),
    dtypes=dtype_attribute(),
)
def softmax(
    data: np.ndarray,
    length: np.ndarray | None = None,
    *,
    axis: int = -1,
    temperature: float | None = None,
    dtype: str | None = None,
    use_length: bool = False,
    _normalized: Callable[..., Any] = softmax_along,
    _masked: Callable[..., Any] = masked_softmax_along,
) -> np.ndarray:
    """Return exp(data / temperature), scaled so that it sums to 1 along an axis.

    {data_parameter}
        Floating point.
    length : NDArray, optional
        Of an integer dtype and the shape of `data` without the axis: how many elements count, with `use_length`.
        The others get 0.
    axis : int
    temperature : float, optional
        Divides the data; 1 if left out.
    dtype : str, optional
        Of the result; the data's if left out.
    use_length : bool
        Whether `length` is given.

    {returns_like_data}

    Raises
    ------
    DTypeError
        If `data` holds integers, or `length` does not.
    ShapeError
        If there is no such axis, or `length` does not fit.

    {examples}
    >>> nd.softmax(nd.array([[0, 0], [1000, 0]])).asnumpy()
    array([[0.5, 0.5],
           [1. , 0. ]], dtype=float32)
    """
    axis = one_axis("softmax", axis, data.ndim)
    logits, dtype = _prepared("softmax", data, temperature, dtype)
    if use_length:
        return _masked(logits, _length_mask(data, length, axis), axis).astype(dtype, copy=False)
    if length is not None:
        raise ArgumentError(
            "softmax: length is given, but use_length is False; pass use_length=True (axis is a keyword)."
        )
    return _normalized(logits, axis).astype(dtype, copy=False)


def _length_mask(data: np.ndarray, length: np.ndarray | None, axis: int) -> np.ndarray:
    shape = data.shape[:axis] + data.shape[axis + 1 :]
    if length is None:
        raise ArgumentError("softmax: use_length=True, but length is missing.")
    if length.dtype.kind not in "iu":
        raise DTypeError(f"softmax: length has dtype {length.dtype}; expected integers, such as 'int32'.")
    if length.shape != shape:
        raise ShapeError(f"softmax: length has shape {length.shape}; expected {shape}, the data's without axis {axis}.")
    positions = np.arange(data.shape[axis]).reshape((-1,) + (1,) * (data.ndim - axis - 1))
    return positions < np.expand_dims(length, axis)


@softmax.def_grad()
def _softmax_gradient(ans: Any, data: Any, length: Any, *, axis: int, temperature: float | None) -> Any:
    return lambda g: divided(softmax_pulled(ans, g, axis), temperature)


@softmax.def_infer_shape
def _softmax_shapes(inputs: Any, outputs: Any, *, axis: int) -> Any:
    inputs, outputs = like_data(inputs, outputs)
    data, *length = inputs
    if data is not None:
        axis = one_axis("softmax", axis, len(data))
        length = [merge_shapes(shape, without_axis(data, axis)) for shape in length]
    return [data, *length], outputs


_WITHOUT_LENGTH = """
    {data_parameter}
        Floating point.
    axis : int
    temperature : float, optional
        Divides the data; 1 if left out.
    dtype : str, optional
        Of the result; the data's if left out.
    use_length : bool
        Must be False: there is no length here.

    {returns_like_data}

    Raises
    ------
    {or_integers}
    ShapeError
        If there is no such axis.
    """


@operator(name="log_softmax", kernel={"_normalized": _raw_log_softmax}, shapes=same_shape, dtypes=dtype_attribute())
@documented(without_length=_WITHOUT_LENGTH)
def log_softmax(
    data: np.ndarray,
    *,
    axis: int = -1,
    temperature: float | None = None,
    dtype: str | None = None,
    use_length: bool = False,
    _normalized: Callable[..., Any] = _log_softmax_along,
) -> np.ndarray:
    """Return the logarithm of `softmax`, without its loss of precision.

    {without_length}

    {examples}
    >>> nd.log_softmax(nd.array([1000, 0])).asnumpy()
    array([    0., -1000.], dtype=float32)
    """
    if use_length:
        raise ArgumentError("log_softmax: use_length=True is not supported; take the logarithm of softmax.")
    axis = one_axis("log_softmax", axis, data.ndim)
    logits, dtype = _prepared("log_softmax", data, temperature, dtype)
    return _normalized(logits, axis).astype(dtype, copy=False)


@log_softmax.def_grad()
def _log_softmax_gradient(ans: Any, data: Any, *, axis: int, temperature: float | None) -> Any:
    return lambda g: divided(g - np.exp(ans) * sum_over(g, axis=axis, keepdims=True), temperature)


@operator(name="softmin", kernel={"_normalized": raw_softmax}, shapes=same_shape, dtypes=dtype_attribute())
@documented(without_length=_WITHOUT_LENGTH)
def softmin(
    data: np.ndarray,
    *,
    axis: int = -1,
    temperature: float | None = None,
    dtype: str | None = None,
    use_length: bool = False,
    _normalized: Callable[..., Any] = softmax_along,
) -> np.ndarray:
    """Return `softmax` of -data.

    {without_length}

    {examples}
    >>> nd.softmin(nd.array([0, 0, 1000])).asnumpy()
    array([0.5, 0.5, 0. ], dtype=float32)
    """
    if use_length:
        raise ArgumentError("softmin: use_length=True is not supported; use softmax of the negative data.")
    axis = one_axis("softmin", axis, data.ndim)
    logits, dtype = _prepared("softmin", data, temperature, dtype)
    return _normalized(-logits, axis).astype(dtype, copy=False)


@softmin.def_grad()
def _softmin_gradient(ans: Any, data: Any, *, axis: int, temperature: float | None) -> Any:
    def gradient(g: Any) -> Any:
        part = ans * g
        return divided(ans * sum_over(part, axis=axis, keepdims=True) - part, temperature)

    return gradient


@operator(name="SoftmaxActivation", kernel={"_normalized": raw_softmax}, shapes=same_shape)
def softmax_activation(
    data: np.ndarray,
    *,
    mode: Literal["instance", "channel"] = "instance",
    _normalized: Callable[..., Any] = softmax_along,
) -> np.ndarray:
    """Return the softmax over the last axis, or over the channels at each position.

    {data_parameter}
        Of shape (batch, ...).
    mode : {'instance', 'channel'}
        Whether the last axis is normalised, or axis 1. Of data of shape (batch, number) they are the same one.

    {returns_like_data}

    {raises_argument_error}
        For another mode.

    {examples}
    >>> nd.SoftmaxActivation(nd.zeros((1, 2, 2))).asnumpy()
    array([[[0.5, 0.5],
            [0.5, 0.5]]], dtype=float32)
    """
    if mode not in ("instance", "channel"):
        raise ArgumentError(f"SoftmaxActivation: unknown mode {mode!r}; expected 'instance' or 'channel'.")
    logits, dtype = _prepared("SoftmaxActivation", data, None, None)
    axis = one_axis("SoftmaxActivation", 1 if mode == "channel" else -1, data.ndim)
    return _normalized(logits, axis).astype(dtype, copy=False)


@softmax_activation.def_grad()
def _softmax_activation_gradient(ans: Any, data: Any, *, mode: str) -> Any:
    axis = 1 if mode == "channel" else -1

    return lambda g: softmax_pulled(ans, g, axis)


for _operator in (softmax, log_softmax, softmax_activation):
    _operator.category = "activation"
