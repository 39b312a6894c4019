"""Softmax of the elements that a mask leaves, and its logarithm: attention that does not look everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.docstrings import documented
from minpy.core.errors import ShapeError
from minpy.core.sums import sum_over
from minpy.ops.axes import one_axis
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import broadcast_shapes, merge_shapes
from minpy.ops.inference.rule_parts import dtype_of, like_data
from minpy.ops.nn.softmax import divided, masked_softmax_along, raw_masked_softmax, softmax_pulled
from minpy.ops.registry import operator

__all__ = ["masked_log_softmax", "masked_softmax"]


_MASKED = """
    {data_parameter}
        Floating point.
    mask : NDArray
        Of a shape that broadcasts to the data's: elements count where it is not 0.
    axis : int
    temperature : float, optional
        Divides the data.
    normalize : bool
        Accepted and not used: the maximum is always subtracted first, so that nothing overflows.

    {returns_array}
    """
_RAISES = """
    {raises_shape_error}
        If the mask does not broadcast to the data, or there is no such axis.
    {or_integers}

    {examples}
    """
_OPTIONS: dict[str, Any] = {"zero": (1,), "dtypes": dtype_of(0), "category": "activation"}


@operator(name="_npx_masked_softmax", kernel={"_masked": raw_masked_softmax}, **_OPTIONS)
@documented(masked=_MASKED, raises=_RAISES)
def masked_softmax(
    data: np.ndarray,
    mask: np.ndarray,
    *,
    axis: int = -1,
    temperature: float | None = 1.0,
    normalize: bool = True,
    _masked: Callable[..., Any] = masked_softmax_along,
) -> np.ndarray:
    """Return exp(data / temperature) where a mask is set, scaled so that it sums to 1 along an axis; 0 elsewhere.

    {masked}
        Of the data's shape and dtype. Where the mask leaves nothing along the axis, all elements are 0.

    {raises}
    >>> data, mask = nd.array([[0, 0, 9]]), nd.array([[1, 1, 0]])
    >>> nd._internal._npx_masked_softmax(data, mask).asnumpy()
    array([[0.5, 0.5, 0. ]], dtype=float32)
    """
    logits, chosen, axis = _prepared("masked_softmax", data, mask, axis, temperature)
    return _masked(logits, chosen, axis).astype(data.dtype, copy=False)


def _prepared(name: str, data: Any, mask: Any, axis: int, temperature: float | None) -> tuple[Any, Any, int]:
    """Return (the logits to compute with, the mask as booleans, the axis counted from the left)."""
    require_floats(name, data)
    axis = one_axis(name, axis, data.ndim)
    shape, mask_shape = data.shape, mask.shape
    fits = zip(reversed(mask_shape), reversed(shape), strict=False)
    if len(mask_shape) > len(shape) or any(length not in (1, full_length) for length, full_length in fits):
        raise ShapeError(
            f"{name}: mask has shape {mask_shape}; expected {shape}, that of data, or one that broadcasts to it."
        )
    if data.dtype.itemsize == 2:  # sums of many float16 would lose their small terms
        data = data.astype(np.float32)
    return data if temperature in (None, 1) else data / data.dtype.type(temperature), mask != 0, axis


@masked_softmax.def_grad(argnum=0)
def _masked_softmax_gradient(ans: Any, data: Any, mask: Any, *, axis: int, temperature: float | None) -> Any:
    return lambda g: divided(softmax_pulled(ans, g, axis), temperature)


@operator(name="_npx_masked_log_softmax", **_OPTIONS)
@documented(masked=_MASKED, raises=_RAISES)
def masked_log_softmax(
    data: np.ndarray,
    mask: np.ndarray,
    *,
    axis: int = -1,
    temperature: float | None = 1.0,
    normalize: bool = True,
) -> np.ndarray:
    """Return the logarithm of `masked_softmax`, without its loss of precision; -inf where the mask is 0.

    {masked}
        Of the data's shape and dtype. The gradient is 0 where the mask is.

    {raises}
    >>> data, mask = nd.array([[0, 0, 9]]), nd.array([[1, 1, 0]])
    >>> nd._internal._npx_masked_log_softmax(data, mask).asnumpy().round(4)
    array([[-0.6931, -0.6931,    -inf]], dtype=float32)
    """
    logits, chosen, axis = _prepared("masked_log_softmax", data, mask, axis, temperature)
    masked_logits = np.where(chosen, logits, -np.inf)
    highest = np.max(masked_logits, axis=axis, keepdims=True, initial=-np.inf)
    shifted = masked_logits - np.where(np.isneginf(highest), 0, highest)
    total = sum_over(np.exp(shifted), axis, keepdims=True)
    return (shifted - np.log(np.where(total == 0, 1, total))).astype(data.dtype, copy=False)


@masked_log_softmax.def_grad(argnum=0)
def _masked_log_softmax_gradient(ans: Any, data: Any, mask: Any, *, axis: int, temperature: float | None) -> Any:
    def gradient(g: Any) -> Any:
        part = np.where(mask != 0, g, 0)
        return divided(part - np.exp(ans) * sum_over(part, axis=axis, keepdims=True), temperature)

    return gradient


def _masked_shapes(inputs: Any, outputs: Any, **_: Any) -> Any:
    [data, mask], [result] = like_data(inputs, outputs)
    if data is not None and mask is not None:
        merge_shapes(data, broadcast_shapes(data, mask))
    return [data, mask], [result]


masked_softmax.def_infer_shape(_masked_shapes)
masked_log_softmax.def_infer_shape(_masked_shapes)
