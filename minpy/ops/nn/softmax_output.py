"""`SoftmaxOutput`: the softmax, with the gradient of the cross-entropy, which it never computes.

It stands at the end of a network, so it does not read the upstream gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from minpy.core.array import Array, raw_of
from minpy.core.errors import ArgumentError, NoGradientError, ShapeError
from minpy.core.operator import Operator
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.rule_parts import by_default, like_data, product, with_followers
from minpy.ops.nn.softmax import raw_softmax, softmax_along
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import one_hot

__all__ = ["check_normalization", "softmax_output"]


class _FirstOrderOnly(Operator):
    """The identity, whose gradient is an error."""

    def missing_rule(self, index: int) -> NoGradientError:
        """Return the error that says what to differentiate instead."""
        return NoGradientError(
            "SoftmaxOutput has no second-order gradient: its gradient is that of a loss, and follows from the answer. "
            "For higher orders compute the loss, nd.softmax_cross_entropy(data, label)."
        )


# A recorded gradient would be differentiated as that of the softmax, which it is not: it is that of a loss.
_first_order_only = _FirstOrderOnly(lambda gradient: gradient, name="gradient of SoftmaxOutput", builtin=True)

_NORMALIZATIONS = ("null", "batch", "valid")
_FEW_CLASSES = 64  # one comparison with all of them costs less than to look up one in each row


@lru_cache(16)
def _class_numbers(count: int, dtype: np.dtype) -> np.ndarray:
    """Return 0, 1, ..., count - 1, which cannot be written."""
    numbers = np.arange(count).astype(dtype)
    numbers.setflags(write=False)
    return numbers


def check_normalization(name: str, normalization: str) -> None:
    """Raise `ArgumentError` unless it is the name of a normalization."""
    if normalization not in _NORMALIZATIONS:
        raise ArgumentError(f"{name}: unknown normalization {normalization!r}; expected 'null', 'batch' or 'valid'.")


@operator(name="SoftmaxOutput", aliases=("Softmax",), kernel={"_normalized": raw_softmax}, zero=(1,), category="loss")
def softmax_output(
    data: np.ndarray,
    label: np.ndarray,
    *,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Literal["null", "batch", "valid"] = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    _normalized: Callable[..., Any] = softmax_along,
) -> np.ndarray:
    """Return the softmax of the data, with the gradient of the cross-entropy of the labels.

    {data_parameter}
        Of shape (batch, classes); (batch, classes, ...) with `multi_output`; (..., classes) with `preserve_shape`.
    label : NDArray
        Class numbers, of the data's shape without the classes; or probabilities, of the data's shape. A label that
        is no class is subtracted nowhere.
    grad_scale : float
        Factor of the gradient.
    ignore_label : float
        With `use_ignore`, rows with this label get no gradient.
    multi_output : bool
        Whether classes are along axis 1, with a label at each position of the axes after it.
    use_ignore : bool
    preserve_shape : bool
        Whether classes are along the last axis of data with more than two.
    normalization : {'null', 'batch', 'valid'}
        Divide the gradient by 1, by the number of rows, or by the number of labels that are not `ignore_label`. With
        `multi_output`, 'null' and 'batch' divide by the number of positions as well.
    out_grad : bool
        Whether to multiply with the upstream gradient, which is otherwise not read.
    smooth_alpha : float
        How much of a label's probability is spread over the other classes.

    {returns_like_data}

    {raises_shape_error}
        If the label does not fit.
    ArgumentError
        For another normalization.

    {recorded_examples}
    >>> x = nd.zeros((1, 4))
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = nd.SoftmaxOutput(x, nd.array([3]))
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([[ 0.25,  0.25,  0.25, -0.75]], dtype=float32)
    """
    check_normalization("SoftmaxOutput", normalization)
    require_floats("SoftmaxOutput", data)
    axis = 1 if multi_output else data.ndim - 1
    if data.ndim < 2 or (data.ndim > 2 and not multi_output and not preserve_shape):
        raise ShapeError(
            f"SoftmaxOutput: data has shape {data.shape}; expected (batch, classes). For more axes say where the "
            "classes are: along axis 1 with multi_output=True, along the last with preserve_shape=True."
        )
    expected = data.shape[:axis] + data.shape[axis + 1 :]
    if (
        label.shape != data.shape
        and label.shape != expected
        and not (multi_output and label.size == math.prod(expected))
    ):
        raise ShapeError(
            f"SoftmaxOutput: label has shape {label.shape}; expected {expected} for class numbers, or {data.shape} for "
            "probabilities."
        )
    return _normalized(data, axis)


@softmax_output.def_grad(argnum=0)
def _softmax_output_gradient(
    ans: Any,
    data: Any,
    label: Any,
    *,
    grad_scale: float,
    ignore_label: float,
    multi_output: bool,
    use_ignore: bool,
    normalization: str,
    out_grad: bool,
    smooth_alpha: float,
) -> Any:
    label = raw_of(label)
    shape = np.shape(ans)
    axis = 1 if multi_output else len(shape) - 1
    scale = grad_scale
    if np.shape(label) == shape:
        difference, is_counted = ans - label, None
    else:
        label = np.reshape(label, shape[:axis] + shape[axis + 1 :])
        off = smooth_alpha / (shape[axis] - 1) if shape[axis] > 1 else 0.0
        target = one_hot(label, depth=shape[axis], on_value=1 - smooth_alpha, off_value=off)
        difference = ans - np.moveaxis(target, -1, axis)
        is_counted = np.expand_dims(label != ignore_label, axis) if use_ignore else None
        if normalization == "valid":
            scale /= max(int(np.count_nonzero(label != ignore_label)), 1)
        elif multi_output:
            scale /= max(math.prod(shape[2:]) * (shape[0] if normalization == "batch" else 1), 1)
        elif normalization == "batch":
            scale /= max(label.size, 1)

    def gradient(g: Any) -> Any:
        result = difference * scale if is_counted is None else difference * (is_counted * scale)
        result = result * g if out_grad else result
        return _first_order_only(result) if isinstance(result, Array) else result

    return gradient


@softmax_output.def_into
def _softmax_output_into(out: Any, data: Any, label: Any, *, multi_output: bool) -> None:
    raw_softmax(data, 1 if multi_output else data.ndim - 1, out)


@softmax_output.def_grad_into(argnum=0)
def _softmax_output_gradient_into(
    ans: Any, data: Any, label: Any, *, grad_scale: float, normalization: str, **attributes: Any
) -> Any:
    has_options = any(attributes[name] for name in ("multi_output", "use_ignore", "out_grad", "smooth_alpha"))
    if ans.ndim != 2 or label.shape != ans.shape[:1] or has_options or normalization == "valid":
        del attributes["preserve_shape"]
        gradient = _softmax_output_gradient(
            ans, data, label, grad_scale=grad_scale, normalization=normalization, **attributes
        )
        return lambda g, out: np.copyto(out, gradient(g))

    def one_class_a_row(g: Any, out: Any) -> None:
        if out.shape[1] <= _FEW_CLASSES and label.dtype.kind in "fiu":  # a label that is no class equals none
            whole = np.trunc(label) if label.dtype.kind == "f" else label
            np.subtract(ans, whole[:, None] == _class_numbers(out.shape[1], label.dtype), out)
        else:
            with np.errstate(invalid="ignore"):  # NaN and infinity are no class
                columns = label.astype(np.intp, copy=False)
            rows = np.arange(len(columns))
            np.copyto(out, ans)
            if columns.size and columns.view(np.uintp).max() >= out.shape[1]:
                in_range = (columns >= 0) & (columns < out.shape[1])
                rows, columns = rows[in_range], columns[in_range]
            out[rows, columns] -= 1
        scale = grad_scale / max(len(out), 1) if normalization == "batch" else grad_scale
        if scale != 1:
            out *= scale

    return one_class_a_row


@softmax_output.def_infer_shape
def _softmax_output_shapes(inputs: Any, outputs: Any, *, multi_output: bool) -> Any:
    [data, label], outputs = like_data(inputs, outputs)
    if data is not None:
        label = by_default(label, (data[0], product(data[2:])) if multi_output else data[:-1])
    return [data, label], outputs


softmax_output.def_infer_type(with_followers)
softmax_output.starts_gradients = True
