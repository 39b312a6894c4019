"""Labels of weighted samples: where the weight is 0, the label is ignored, and may be any number."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.ops.inference.rule_parts import without_axis
from minpy.ops.registry import operator

__all__ = ["labels_that_count"]


@operator(name="_labels_that_count", public=False, zero="all", may_alias=False, is_left_out=True)
def labels_that_count(label: np.ndarray, weight: np.ndarray, data: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """Return labels, those whose weight is 0 clipped to the numbers of classes, which the data has along an axis.

    If the shapes of labels and weights do not fit, the labels are returned as they are: the product raises then.
    """
    shape = np.shape(data)
    axis = range(len(shape))[axis]
    classes = shape[axis]
    lengths = (*shape[:axis], 1, *shape[axis + 1 :])
    if np.size(label) * classes != np.size(data) or not classes:
        return np.array(label)
    try:
        full_shape = np.broadcast_shapes(lengths, np.shape(weight))
    except ValueError:
        return np.array(label)
    counts = np.broadcast_to(np.not_equal(weight, 0), full_shape)
    leading = len(full_shape) - len(lengths)
    broadcast = tuple(leading + place for place, length in enumerate(lengths) if full_shape[leading + place] != length)
    if leading or broadcast:  # a label that is read more than once counts where one of the weights does
        counts = np.any(counts, axis=(*range(leading), *broadcast), keepdims=True)
    counts = np.reshape(counts, np.shape(label))
    last = min(classes - 1, np.iinfo(label.dtype).max) if label.dtype.kind in "iu" else classes - 1
    numbers = np.where(np.equal(label, label), label, np.zeros_like(label))  # NaN is 0
    return np.where(counts, label, np.clip(numbers, 0, last)).astype(label.dtype)


@labels_that_count.def_infer_shape
def _shapes(inputs: Any, outputs: Any, *, axis: int) -> Any:
    label, weight, data = inputs
    if label is None:
        label = outputs[0]
    if label is None and data is not None:
        label = without_axis(data, range(len(data))[axis])
    return [label, weight, data], [label]
