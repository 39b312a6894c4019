"""Losses: cross-entropy. The output layers, which carry a loss's gradient, are in `output_layers`."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import with_axes, with_followers
from minpy.ops.kernels.row_reductions import maximum_along, sum_along
from minpy.ops.nn.softmax import raw_softmax, softmax, softmax_along
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import checked_positions

__all__ = ["checked_labels", "softmax_cross_entropy"]


def checked_labels(data: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Return labels as integers; they must be one for each row, and name a column."""
    if data.ndim != 2 or label.shape != data.shape[:1]:
        raise ShapeError(
            f"softmax_cross_entropy: data {data.shape} and label {label.shape}; expected (batch, classes) and (batch,)."
        )
    return checked_positions(label, data.shape[1], "softmax_cross_entropy: label", "a class, 0 <= label < {}.")


@operator(name="softmax_cross_entropy", zero=(1,), dtypes=with_followers, category="loss")
def softmax_cross_entropy(data: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Return the sum over the batch of -log(softmax(data)[label]).

    {data_parameter}
        Of shape (batch, classes), floating point.
    label : NDArray
        Of shape (batch,): class numbers, of any dtype.

    {returns_array}
        Of shape (1,).

    {raises_unless_shapes_fit}
    OutOfRangeError
        If a label is no class.
    DTypeError
        If `data` is not floating point.

    {examples}
    >>> nd.softmax_cross_entropy(nd.zeros((2, 4)), nd.array([0, 3])).asnumpy().round(4)
    array([2.7726], dtype=float32)
    """
    require_floats("softmax_cross_entropy", data)
    columns = checked_labels(data, label)
    shifted = data - maximum_along(data, 1)
    total = sum_along(np.exp(shifted), 1)
    return (np.log(total).sum() - shifted[np.arange(len(data)), columns].sum()).reshape(1)


softmax_cross_entropy.def_grad(lambda ans, data, label: lambda g: g * softmax_error(data, label), 0)


@softmax_cross_entropy.def_infer_shape
def _softmax_cross_entropy_shapes(inputs: Any, outputs: Any) -> Any:
    data, label = with_axes(inputs[0], 2), with_axes(inputs[1], 1)
    data = merge_shapes(data, (*label, UNKNOWN)) or ()
    return [data, data[:1]], [(1,)]


@operator(name="_softmax_error", public=False, zero=(1,))
def softmax_error(data: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Return softmax(data) - one_hot(label): the gradient of the cross-entropy."""
    return softmax_along(data) - (np.expand_dims(label.astype(np.intp), 1) == np.arange(data.shape[1]))


@softmax_error.def_kernel
def _softmax_error_kernel(data: Any, label: Any) -> Any:
    result = raw_softmax(data)
    result[np.arange(len(data)), label.astype(np.intp, copy=False)] -= 1
    return result


@softmax_error.def_grad()
def _softmax_error_gradient(ans: Any, data: Any, label: Any) -> Any:
    def gradient(g: Any) -> Any:
        probabilities = softmax(data)
        part = probabilities * g
        return part - probabilities * np.sum(part, axis=-1, keepdims=True)

    return gradient
