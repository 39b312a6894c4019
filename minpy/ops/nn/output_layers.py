"""Output layers, which carry a loss's gradient: `SoftmaxOutput`, the regressions, `MakeLoss`, `SVMOutput`.

Each computes a prediction, and its gradient is that of a loss which it never computes. It stands at the end of a
network, so it does not read the upstream gradient.
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
from minpy.ops.dtypes import require_floats
from minpy.ops.inference.partial_shapes import UNKNOWN, same_shape
from minpy.ops.inference.rules import by_default, like_data, product, with_followers
from minpy.ops.nn.softmax import raw_softmax, softmax_along
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import one_hot

__all__ = [
    "linear_regression_output",
    "logistic_regression_output",
    "mae_regression_output",
    "make_loss",
    "softmax_output",
    "svm_output",
]


class _FirstOrderOnly(Operator):
    """The identity, which no gradient passes."""

    def missing_rule(self, index: int) -> NoGradientError:
        """Return the error that says what to differentiate instead."""
        return NoGradientError(
            "SoftmaxOutput has no second-order gradient: its gradient is that of a loss, and follows from the answer. "
            "For higher orders compute the loss, nd.softmax_cross_entropy(data, label)."
        )


# Recorded, the answer would be differentiated by the rule that it is used in, as if the loss were the answer.
_not_further = _FirstOrderOnly(lambda gradient: gradient, name="gradient of SoftmaxOutput", builtin=True)

_NORMALIZATIONS = ("null", "batch", "valid")
_FEW_CLASSES = 64  # one comparison with all of them costs less than to look up one in each row


@lru_cache(16)
def _class_numbers(count: int, dtype: np.dtype) -> np.ndarray:
    """Return 0, 1, ..., count - 1, which cannot be written."""
    numbers = np.arange(count).astype(dtype)
    numbers.setflags(write=False)
    return numbers


def _check_normalization(name: str, normalization: str) -> None:
    if normalization not in _NORMALIZATIONS:
        raise ArgumentError(f"{name}: unknown normalization {normalization!r}; expected 'null', 'batch' or 'valid'.")


@operator(name="SoftmaxOutput", aliases=("Softmax",))
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
) -> np.ndarray:
    """Return the softmax of the data, with the gradient of the cross-entropy of the labels.

    Parameters
    ----------
    data : NDArray
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

    Returns
    -------
    NDArray
        Of the data's shape.

    Raises
    ------
    ShapeError
        If the label does not fit.
    ArgumentError
        For another normalization.

    Examples
    --------
    >>> from minpy import autograd, nd
    >>> x = nd.zeros((1, 4))
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = nd.SoftmaxOutput(x, nd.array([3]))
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([[ 0.25,  0.25,  0.25, -0.75]], dtype=float32)
    """
    return _softmax_output_by(
        data,
        label,
        grad_scale=grad_scale,
        ignore_label=ignore_label,
        multi_output=multi_output,
        use_ignore=use_ignore,
        preserve_shape=preserve_shape,
        normalization=normalization,
        out_grad=out_grad,
        smooth_alpha=smooth_alpha,
        normalized=softmax_along,
    )


@softmax_output.def_kernel
def _softmax_output_by(
    data: Any,
    label: Any,
    *,
    grad_scale: float,
    ignore_label: float,
    multi_output: bool,
    use_ignore: bool,
    preserve_shape: bool,
    normalization: str,
    out_grad: bool,
    smooth_alpha: float,
    normalized: Callable[..., Any] = raw_softmax,
) -> Any:
    _check_normalization("SoftmaxOutput", normalization)
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
    return normalized(data, axis)


softmax_output.def_grad_zero(1)


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
        part, kept = ans - label, None
    else:
        label = np.reshape(label, shape[:axis] + shape[axis + 1 :])
        part = ans - _smoothed(label, shape[axis], axis, smooth_alpha)
        kept = np.expand_dims(label != ignore_label, axis) if use_ignore else None
        if normalization == "valid":
            scale /= max(int(np.count_nonzero(label != ignore_label)), 1)
        elif multi_output:
            scale /= max(math.prod(shape[2:]) * (shape[0] if normalization == "batch" else 1), 1)
        elif normalization == "batch":
            scale /= max(label.size, 1)

    def gradient(g: Any) -> Any:
        result = part * scale if kept is None else part * (kept * scale)
        result = result * g if out_grad else result
        return _not_further(result) if isinstance(result, Array) else result

    return gradient


@softmax_output.def_into
def _softmax_output_into(out: Any, data: Any, label: Any, *, multi_output: bool) -> None:
    raw_softmax(data, 1 if multi_output else data.ndim - 1, out)


@softmax_output.def_grad_into(argnum=0)
def _softmax_output_gradient_into(
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
    plain = not (multi_output or use_ignore or out_grad or smooth_alpha) and normalization != "valid"
    if ans.ndim != 2 or label.shape != ans.shape[:1] or not plain:
        gradient = _softmax_output_gradient(
            ans,
            data,
            label,
            grad_scale=grad_scale,
            ignore_label=ignore_label,
            multi_output=multi_output,
            use_ignore=use_ignore,
            normalization=normalization,
            out_grad=out_grad,
            smooth_alpha=smooth_alpha,
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
                known = (columns >= 0) & (columns < out.shape[1])
                rows, columns = rows[known], columns[known]
            out[rows, columns] -= 1
        scale = grad_scale / max(len(out), 1) if normalization == "batch" else grad_scale
        if scale != 1:
            out *= scale

    return one_class_a_row


def _smoothed(label: np.ndarray, classes: int, axis: int, alpha: float) -> np.ndarray:
    """Return the probabilities that labels stand for, with the classes along an axis."""
    off = alpha / (classes - 1) if classes > 1 else 0.0
    return np.moveaxis(one_hot(label, depth=classes, on_value=1 - alpha, off_value=off), -1, axis)


def _check_targets(name: str, data: np.ndarray, label: np.ndarray) -> None:
    if label.shape != data.shape and not (label.size == data.size and label.shape[:1] == data.shape[:1]):
        raise ShapeError(f"{name}: data has shape {data.shape}, label {label.shape}; they must be equal.")


def _regression_gradient(error: Any) -> Any:
    """Return the rule for an output whose loss has the gradient `error(data, label)` in each element.

    It does not read the answer, which at higher orders would be differentiated as if the loss were the answer.
    """

    def rule(ans: Any, data: Any, label: Any, *, grad_scale: float) -> Any:
        shape = np.shape(data)
        scale = grad_scale / max(math.prod(shape[1:]), 1)
        return lambda g: error(data, np.reshape(label, shape)) * scale

    return rule


@operator(name="LinearRegressionOutput")
def linear_regression_output(data: np.ndarray, label: np.ndarray, *, grad_scale: float = 1.0) -> np.ndarray:
    """Return the data, with the gradient of half the squared error.

    Parameters
    ----------
    data : NDArray
        Predictions, of shape (batch, ...).
    label : NDArray
        Of the data's shape.
    grad_scale : float
        Factor of the gradient, which is divided by the number of elements of one instance.

    Returns
    -------
    NDArray
        Of the data's shape.

    Raises
    ------
    ShapeError
        If the shapes differ.

    Examples
    --------
    >>> from minpy import autograd, nd
    >>> x = nd.array([3, 4])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = nd.LinearRegressionOutput(x, nd.array([1, 4]))
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([2., 0.], dtype=float32)
    """
    _check_targets("LinearRegressionOutput", data, label)
    return data.copy()


def _sigmoid(data: Any) -> Any:
    return np.tanh(data / 2) / 2 + data.dtype.type(0.5)


@operator(name="LogisticRegressionOutput")
def logistic_regression_output(data: np.ndarray, label: np.ndarray, *, grad_scale: float = 1.0) -> np.ndarray:
    """Return the sigmoid of the data, with the gradient of the logistic loss.

    Parameters
    ----------
    data : NDArray
        Logits, of shape (batch, ...).
    label : NDArray
        Probabilities in [0, 1], of the data's shape.
    grad_scale : float
        Factor of the gradient, which is divided by the number of elements of one instance.

    Returns
    -------
    NDArray
        Of the data's shape.

    Raises
    ------
    ShapeError
        If the shapes differ.

    Examples
    --------
    >>> from minpy import autograd, nd
    >>> x = nd.array([0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = nd.LogisticRegressionOutput(x, nd.array([1]))
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([-0.5], dtype=float32)
    """
    _check_targets("LogisticRegressionOutput", data, label)
    require_floats("LogisticRegressionOutput", data)
    return _sigmoid(data)


@operator(name="MAERegressionOutput")
def mae_regression_output(data: np.ndarray, label: np.ndarray, *, grad_scale: float = 1.0) -> np.ndarray:
    """Return the data, with the gradient of the absolute error.

    Parameters
    ----------
    data : NDArray
        Predictions, of shape (batch, ...).
    label : NDArray
        Of the data's shape.
    grad_scale : float
        Factor of the gradient, which is divided by the number of elements of one instance.

    Returns
    -------
    NDArray
        Of the data's shape.

    Raises
    ------
    ShapeError
        If the shapes differ.

    Examples
    --------
    >>> from minpy import autograd, nd
    >>> x = nd.array([3, 4])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = nd.MAERegressionOutput(x, nd.array([1, 9]))
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([ 1., -1.], dtype=float32)
    """
    _check_targets("MAERegressionOutput", data, label)
    return data.copy()


linear_regression_output.def_grad(_regression_gradient(lambda data, label: data - label), 0)
logistic_regression_output.def_grad(_regression_gradient(lambda data, label: _sigmoid(data) - label), 0)
# Where prediction and label are equal MXNet's gradient is -1, one of the two slopes that meet there.
mae_regression_output.def_grad(_regression_gradient(lambda data, label: np.where(data > label, 1, -1)), 0)
for _operator in (linear_regression_output, logistic_regression_output, mae_regression_output):
    _operator.def_grad_zero(1)


@operator(name="MakeLoss")
def make_loss(
    data: np.ndarray,
    *,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Literal["null", "batch", "valid"] = "null",
) -> np.ndarray:
    """Return the data as a loss: its gradient is a constant, whatever comes from above.

    Parameters
    ----------
    data : NDArray
        Of shape (batch, ...).
    grad_scale : float
        The gradient.
    valid_thresh : float
        With 'valid' normalization, elements above it count.
    normalization : {'null', 'batch', 'valid'}
        Divide the gradient by 1, by the batch size, or by the number of elements that count.

    Returns
    -------
    NDArray
        A copy of the data.

    Raises
    ------
    ArgumentError
        For another normalization.

    Examples
    --------
    >>> from minpy import autograd, nd
    >>> x = nd.array([3, 4])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = nd.MakeLoss(x * x, grad_scale=0.5)
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([3., 4.], dtype=float32)
    """
    _check_normalization("MakeLoss", normalization)
    return data.copy()


@make_loss.def_grad()
def _make_loss_gradient(ans: Any, data: Any, *, grad_scale: float, valid_thresh: float, normalization: str) -> Any:
    shape, dtype = np.shape(data), np.result_type(data)
    scale = grad_scale
    if normalization == "batch":
        scale /= shape[0] if shape else 1
    elif normalization == "valid":
        scale /= max(int(np.count_nonzero(raw_of(data) > valid_thresh)), 1)
    return lambda g: np.full(shape, scale, dtype)


@operator(name="make_loss", outputs=("loss",))
def make_loss_of_ones(data: np.ndarray) -> np.ndarray:
    """Return the data as a loss: its gradient is 1, whatever comes from above.

    Parameters
    ----------
    data : NDArray

    Returns
    -------
    NDArray
        A copy of the data.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.make_loss(nd.array([3])).asnumpy()
    array([3.], dtype=float32)
    """
    return data.copy()


@make_loss_of_ones.def_grad()
def _make_loss_of_ones_gradient(ans: Any, data: Any) -> Any:
    shape, dtype = np.shape(data), np.result_type(data)
    return lambda g: np.ones(shape, dtype)


@operator(name="SVMOutput")
def svm_output(
    data: np.ndarray,
    label: np.ndarray,
    *,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
) -> np.ndarray:
    """Return the data, with the gradient of a support vector machine's loss, one class against the rest.

    Parameters
    ----------
    data : NDArray
        Scores, of shape (batch, classes).
    label : NDArray
        Class numbers, of shape (batch,).
    margin : float
        What the label's score should exceed, and the other scores stay below (negated).
    regularization_coefficient : float
        Factor of the gradient.
    use_linear : bool
        Whether the loss is the excess itself instead of its square.

    Returns
    -------
    NDArray
        A copy of the data.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> from minpy import autograd, nd
    >>> x = nd.array([[1, -2, 3]])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = nd.SVMOutput(x, nd.array([2]))
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([[ 4.,  0., -0.]], dtype=float32)
    """
    if data.ndim != 2 or label.shape != data.shape[:1]:
        raise ShapeError(
            f"SVMOutput: data {data.shape} and label {label.shape}; expected (batch, classes) and (batch,)."
        )
    return data.copy()


svm_output.def_grad_zero(1)


@svm_output.def_grad(argnum=0)
def _svm_output_gradient(
    ans: Any, data: Any, label: Any, *, margin: float, regularization_coefficient: float, use_linear: bool
) -> Any:
    signs = 1 - 2 * one_hot(raw_of(label), depth=np.shape(data)[1])

    def gradient(g: Any) -> Any:
        excess = np.maximum(margin + signs * data, 0)
        size = (excess > 0) * 1.0 if use_linear else 2 * excess
        return signs * size * regularization_coefficient

    return gradient


# -- inference: a label may have several shapes; these are the ones it gets if nobody says -----------------------------


@softmax_output.def_infer_shape
def _softmax_output_shapes(inputs: Any, outputs: Any, *, multi_output: bool) -> Any:
    [data, label], outputs = like_data(inputs, outputs)
    if data is not None:
        label = by_default(label, (data[0], product(data[2:])) if multi_output else data[:-1])
    return [data, label], outputs


def _regression_shapes(inputs: Any, outputs: Any) -> Any:
    [data, label], outputs = like_data(inputs, outputs)
    if data is not None and not (len(data) == 2 and data[1] == UNKNOWN):
        label = by_default(label, data[:1] if len(data) == 2 and data[1] == 1 else data)
    return [data, label], outputs


@svm_output.def_infer_shape
def _svm_output_shapes(inputs: Any, outputs: Any) -> Any:
    [data, label], outputs = like_data(inputs, outputs)
    return [data, label if data is None else by_default(label, data[:1])], outputs


for _operator in (linear_regression_output, logistic_regression_output, mae_regression_output):
    _operator.def_infer_shape(_regression_shapes)
for _operator in (
    softmax_output,
    linear_regression_output,
    logistic_regression_output,
    mae_regression_output,
    svm_output,
):
    _operator.def_infer_type(with_followers)
for _operator in (make_loss, make_loss_of_ones):
    _operator.def_infer_shape(same_shape)
for _operator in (
    *(softmax_output, linear_regression_output, logistic_regression_output, mae_regression_output),
    *(make_loss, make_loss_of_ones, svm_output),
):
    _operator.category = "loss"
    _operator.starts_gradients = True
# As in MXNet, where a graph that calls one of these twice gets its gradient twice.
make_loss.mergeable = svm_output.mergeable = False
