"""The logarithms of the probabilities of given classes: what `pick` takes of `log_softmax`, without the rest."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import numpy as np

from minpy.core.errors import ShapeError
from minpy.ops.inference.rule_parts import replace_length, without_axis
from minpy.ops.kernels.row_reductions import maximum_along, sum_along
from minpy.ops.nn.softmax import log_softmax, raw_softmax, softmax
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import checked_positions, pick, put_along, truncated

__all__ = ["class_log_probability"]


@lru_cache(16)
def _starts(rows: int, classes: int) -> np.ndarray:
    """Return where each row begins in a flat array."""
    starts = np.arange(0, rows * classes, classes)
    starts.setflags(write=False)
    return starts


def _places(label: np.ndarray, rows: int, classes: int, mode: str = "clip") -> np.ndarray:
    """Return where the classes stand in a flat array; numbers out of range are clipped, or refused."""
    if mode == "raise":
        columns = checked_positions(label, classes, "label", _EXPECTED).reshape(rows)
        return (columns + _starts(rows, classes)).astype(np.intp, copy=False)
    columns = label.astype(np.intp) if label.dtype.kind != "f" else truncated(label)
    if label.dtype.kind != "f" or columns is label:
        columns = columns.copy()
    columns = columns.reshape(rows)
    np.maximum(columns, 0, out=columns)
    np.minimum(columns, classes - 1, out=columns)
    columns += _starts(rows, classes)
    return columns


def _require_labels(data: Any, label: Any) -> None:
    shape = np.shape(data)
    if np.size(label) * shape[-1] != np.size(data):
        raise ShapeError(
            f"the labels have shape {np.shape(label)}; expected {shape[:-1]}, a class for each row of the data, of "
            f"shape {shape}."
        )


_EXPECTED = "the number of a class, 0 <= label < {}. A label that stands for nothing needs a sample_weight of 0."


@operator(name="_class_log_probability", public=False, zero=(1,))
def class_log_probability(
    data: np.ndarray, label: np.ndarray, *, keepdims: bool = False, mode: Literal["clip", "raise"] = "clip"
) -> np.ndarray:
    """Return log(softmax(data)) at the classes `label`, along the last axis."""
    _require_labels(data, label)
    return pick(log_softmax(data), label, keepdims=keepdims, mode=mode)


@class_log_probability.def_kernel
def _raw(data: np.ndarray, label: np.ndarray, *, keepdims: bool, mode: str) -> np.ndarray:
    if data.dtype.kind != "f":
        return pick(log_softmax(data), label, keepdims=keepdims, mode=mode)
    _require_labels(data, label)
    shape = data.shape
    classes = shape[-1]
    shifted = data - maximum_along(data, -1)
    places = _places(label, shifted.size // classes, classes, mode)
    picked = shifted.reshape(-1)[places]
    np.exp(shifted, out=shifted)
    total = sum_along(shifted, -1).reshape(-1)
    np.log(total, out=total)
    picked -= total
    return picked.reshape((*shape[:-1], 1) if keepdims else shape[:-1])


@class_log_probability.def_grad()
def _gradient(ans: Any, data: Any, label: Any, *, keepdims: bool) -> Any:
    columns = np.expand_dims(np.clip(truncated(label), 0, np.shape(data)[-1] - 1).reshape(np.shape(data)[:-1]), -1)

    def gradient(g: Any) -> Any:
        g = np.reshape(g, columns.shape)
        return put_along(g, columns, axis=-1, length=np.shape(data)[-1]) - softmax(data) * g

    return gradient


@class_log_probability.def_grad_kernel()
def _raw_gradient(ans: np.ndarray, data: np.ndarray, label: np.ndarray, *, keepdims: bool) -> Any:
    def gradient(g: np.ndarray) -> np.ndarray:
        classes = data.shape[-1]
        g = np.negative(g).reshape(*data.shape[:-1], 1)
        part = raw_softmax(np.ascontiguousarray(data))
        part *= g
        places = _places(label, g.size, classes)
        part.reshape(-1)[places] -= g.reshape(-1)
        return part

    return gradient


@class_log_probability.def_infer_shape
def _shapes(inputs: Any, outputs: Any, *, keepdims: bool) -> Any:
    data, label = inputs
    if data is None:
        return inputs, outputs
    outer = without_axis(data, len(data) - 1)
    return [data, outer if label is None else label], [replace_length(data, len(data) - 1, 1) if keepdims else outer]
