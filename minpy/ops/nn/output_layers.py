"""Output layers, which carry a loss's gradient: the regressions, `MakeLoss`, `SVMOutput`; see also `softmax_output`.

Each computes a prediction, and its gradient is that of a loss which it never computes. It stands at the end of a
network, so it does not read the upstream gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from minpy.core.array import raw_of
from minpy.core.errors import ShapeError
from minpy.core.operator import Operator
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import UNKNOWN, same_shape
from minpy.ops.inference.rule_parts import by_default, like_data, with_followers
from minpy.ops.nn.softmax_output import check_normalization
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import one_hot

__all__ = [
    "linear_regression_output",
    "logistic_regression_output",
    "mae_regression_output",
    "make_loss",
    "svm_output",
]


def _regression_shapes(inputs: Any, outputs: Any) -> Any:
    [data, label], outputs = like_data(inputs, outputs)
    if data is not None and not (len(data) == 2 and data[1] == UNKNOWN):
        label = by_default(label, data[:1] if len(data) == 2 and data[1] == 1 else data)
    return [data, label], outputs


_REGRESSION = """Return {result}, with the gradient of {loss}.

{{data_parameter}}
    {data}, of shape (batch, ...).
label : NDArray
    {label}
grad_scale : float
    Factor of the gradient, which is divided by the number of elements of one instance.

{{returns_like_data}}

{{raises_shape_error}}
    If the shapes differ.

{{recorded_examples}}
>>> x = nd.array({example[0]})
>>> x.attach_grad()
>>> with autograd.record():
...     y = nd.{name}(x, nd.array({example[1]}))
>>> y.backward()
>>> x.grad.asnumpy()
array({example[2]}, dtype=float32)
"""


def _regression(
    name: str,
    compute: Callable[[Any], Any],
    error: Callable[[Any, Any], Any],
    example: tuple[str, str, str],
    **doc: str,
) -> Operator:
    """Define an output whose loss has the gradient `error(data, label)` in each element."""

    def forward(data: np.ndarray, label: np.ndarray, *, grad_scale: float = 1.0) -> np.ndarray:
        if label.shape != data.shape and not (label.size == data.size and label.shape[:1] == data.shape[:1]):
            raise ShapeError(f"{name}: data has shape {data.shape}, label {label.shape}; they must be equal.")
        return compute(data)

    def rule(ans: Any, data: Any, label: Any, *, grad_scale: float) -> Any:
        # Computed from the data: from `ans`, higher orders would be differentiated as if the loss were the result.
        shape = np.shape(data)
        scale = grad_scale / max(math.prod(shape[1:]), 1)
        return lambda g: error(data, np.reshape(label, shape)) * scale

    forward.__doc__ = _REGRESSION.format(name=name, example=example, **doc)
    op: Operator = operator(
        forward, name=name, zero=(1,), shapes=_regression_shapes, dtypes=with_followers, category="loss"
    )
    op.starts_gradients = True
    return op.def_grad(rule, 0)


def _sigmoid(data: Any) -> Any:
    return np.tanh(data / 2) / 2 + data.dtype.type(0.5)


def _probabilities(data: Any) -> Any:
    require_floats("LogisticRegressionOutput", data)
    return _sigmoid(data)


linear_regression_output = _regression(
    "LinearRegressionOutput",
    lambda data: data.copy(),
    lambda data, label: data - label,
    ("[3, 4]", "[1, 4]", "[2., 0.]"),
    result="the data",
    loss="half the squared error",
    data="Predictions",
    label="Of the data's shape.",
)
logistic_regression_output = _regression(
    "LogisticRegressionOutput",
    _probabilities,
    lambda data, label: _sigmoid(data) - label,
    ("[0]", "[1]", "[-0.5]"),
    result="the sigmoid of the data",
    loss="the logistic loss",
    data="Logits",
    label="Probabilities in [0, 1], of the data's shape.",
)
mae_regression_output = _regression(
    "MAERegressionOutput",
    lambda data: data.copy(),
    # Where prediction and label are equal MXNet's gradient is -1, one of the two slopes that meet there.
    lambda data, label: np.where(data > label, 1, -1),
    ("[3, 4]", "[1, 9]", "[ 1., -1.]"),
    result="the data",
    loss="the absolute error",
    data="Predictions",
    label="Of the data's shape.",
)


@operator(name="MakeLoss", shapes=same_shape, category="loss", starts_gradients=True, mergeable=False)
def make_loss(
    data: np.ndarray,
    *,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Literal["null", "batch", "valid"] = "null",
) -> np.ndarray:
    """Return the data as a loss: its gradient is a constant, whatever the upstream gradient is.

    {data_parameter}
        Of shape (batch, ...).
    grad_scale : float
        The gradient.
    valid_thresh : float
        With 'valid' normalization, elements above it count.
    normalization : {'null', 'batch', 'valid'}
        Divide the gradient by 1, by the batch size, or by the number of elements that count.

    {returns_array}
        A copy of the data.

    {raises_argument_error}
        For another normalization.

    {recorded_examples}
    >>> x = nd.array([3, 4])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = nd.MakeLoss(x * x, grad_scale=0.5)
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([3., 4.], dtype=float32)
    """
    check_normalization("MakeLoss", normalization)
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


@operator(name="make_loss", outputs=("loss",), shapes=same_shape, category="loss", starts_gradients=True)
def make_loss_of_ones(data: np.ndarray) -> np.ndarray:
    """Return the data as a loss: its gradient is 1, whatever the upstream gradient is.

    {data_parameter}

    {returns_array}
        A copy of the data.

    {examples}
    >>> nd.make_loss(nd.array([3])).asnumpy()
    array([3.], dtype=float32)
    """
    return data.copy()


make_loss_of_ones.def_grad(lambda ans, data: lambda g: np.ones(np.shape(data), np.result_type(data)))


@operator(name="SVMOutput", zero=(1,), dtypes=with_followers, category="loss", starts_gradients=True, mergeable=False)
def svm_output(
    data: np.ndarray,
    label: np.ndarray,
    *,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
) -> np.ndarray:
    """Return the data, with the gradient of a support vector machine's loss, one class against the rest.

    {data_parameter}
        Scores, of shape (batch, classes).
    label : NDArray
        Class numbers, of shape (batch,).
    margin : float
        What the label's score should exceed, and the other scores stay below (negated).
    regularization_coefficient : float
        Factor of the gradient.
    use_linear : bool
        Whether the loss is the excess itself instead of its square.

    {returns_array}
        A copy of the data.

    {raises_unless_shapes_fit}

    {recorded_examples}
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


@svm_output.def_infer_shape
def _svm_output_shapes(inputs: Any, outputs: Any) -> Any:
    [data, label], outputs = like_data(inputs, outputs)
    return [data, label if data is None else by_default(label, data[:1])], outputs
