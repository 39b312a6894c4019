"""Losses of classes and their probabilities: cross-entropies, divergence, hinges."""

from __future__ import annotations

from typing import Any, ClassVar

from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentValueError, ShapeError
from minpy.gluon.loss.base_loss import INPUTS, WEIGHT_TO_KWARGS, Loss, _apply_weighting, _as_np, _mean, _reshape_like
from minpy.ndarray import NDArray
from minpy.ops.nn.class_log_probability import class_log_probability
from minpy.ops.nn.weighted_labels import labels_that_count

__all__ = [
    "HingeLoss",
    "KLDivLoss",
    "LogisticLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
]

# What keeps logarithms of probabilities finite.
_EPSILON = 1e-12


def _softplus(F: Any, x: Any) -> Any:
    """Return log(1 + exp(x))."""
    return _as_np(F.Activation(x, act_type="softrelu"))


@documented(ending=WEIGHT_TO_KWARGS)
class SigmoidBinaryCrossEntropyLoss(Loss):
    """The cross-entropy of yes and no: `-label log(p) - (1 - label) log(1 - p)` for p = sigmoid(pred).

    It is computed of `pred` without overflow, as `max(pred, 0) - pred label + log(1 + exp(-|pred|))`.

    Parameters
    ----------
    from_sigmoid : bool
        Whether `pred` is p itself.
    {ending}

    Examples
    --------
    >>> import minpy as mx
    >>> loss = mx.gluon.loss.SigmoidBCELoss()
    >>> loss(mx.nd.array([[0], [5]]), mx.nd.array([[0], [1]])).asnumpy().round(4).tolist()
    [0.693..., 0.006...]
    """

    def __init__(
        self, from_sigmoid: bool = False, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    @documented(inputs=INPUTS.format(meaning="", label="As many numbers from 0 to 1."))
    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None, pos_weight: Any = None) -> Any:
        """Return the loss of each sample, of shape (batch,).

        Parameters
        ----------
        {inputs}
        pos_weight : NDArray or Symbol, optional
            Factors of the first term, that of the positive label, which are broadcast to `pred`: (classes,), say.
        """
        label = _reshape_like(F, label, pred)
        if self._from_sigmoid:
            positive = F.broadcast_mul(F.log(pred + _EPSILON), label)
            if pos_weight is not None:
                positive = F.broadcast_mul(positive, pos_weight)
            negative = F.broadcast_mul(F.log(1.0 - pred + _EPSILON), 1.0 - label)
            loss = -F.broadcast_add(positive, negative)
        else:
            # Of log(1 + exp(-pred)) = max(-pred, 0) + log(1 + exp(-|pred|)), which a positive label costs, a negative
            # one costs pred more.
            small = _softplus(F, -F.abs(pred))
            if pos_weight is None:
                loss = F.broadcast_sub(F.relu(pred), F.broadcast_mul(pred, label))
                loss = F.broadcast_add(loss, small)
            else:
                factor = F.broadcast_mul(label, pos_weight - 1) + 1
                cost = F.broadcast_mul(F.broadcast_add(small, F.relu(-pred)), factor)
                loss = F.broadcast_add(F.broadcast_mul(pred, 1.0 - label), cost)
        return _mean(F, _apply_weighting(F, loss, self._weight, sample_weight), self._batch_axis)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


@documented(ending=WEIGHT_TO_KWARGS)
class SoftmaxCrossEntropyLoss(Loss):
    """The cross-entropy of classes: `-log p[label]` for p = softmax(pred).

    Parameters
    ----------
    axis : int
        The axis of the classes.
    sparse_label : bool
        Whether labels are numbers of classes; else they are probabilities of all classes, in the shape of `pred`, and
        the loss is `-sum(label log p)`.
    from_logits : bool
        Whether `pred` is log p itself: the output of `log_softmax`.
    {ending}

    Examples
    --------
    >>> import minpy as mx
    >>> loss = mx.gluon.loss.SoftmaxCELoss()
    >>> loss(mx.nd.array([[0, 0, 0], [0, 9, 0]]), mx.nd.array([2, 1])).asnumpy().round(4).tolist()
    [1.098..., 0.000...]
    """

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Return the loss of each sample, of shape (batch,).

        Parameters
        ----------
        F : module
            `mx.nd` or `mx.sym`.
        pred : NDArray or Symbol
            A score for each class along `axis`; other axes are those of samples, and of what a sample consists of.
        label : NDArray or Symbol
            Numbers of classes, in the shape of `pred` without `axis`; or probabilities; see `sparse_label`.
        sample_weight : NDArray or Symbol, optional
            What can be broadcast to `pred` with one element along `axis`: (batch, 1) for two axes.

        Raises
        ------
        OutOfRangeError
            If a number is no class, and has a weight other than 0. What has the weight 0 is left out: its label may be
            any number, such as -1.
        """
        if self._sparse_label and sample_weight is not None:
            label = _as_np(labels_that_count(label, sample_weight, pred, axis=self._axis))
        if self._is_of_one_class(pred):
            self._require_labels(pred, label)
            loss = -class_log_probability(pred, label, keepdims=True, mode="raise")
            return _mean(F, _apply_weighting(F, loss, self._weight, sample_weight), self._batch_axis)
        if not self._from_logits:
            pred = _as_np(F.log_softmax(pred, axis=self._axis))
        if self._sparse_label:
            loss = -_as_np(F.pick(pred, label, axis=self._axis, keepdims=True, mode="raise"))
        else:
            products = F.broadcast_mul(pred, _reshape_like(F, label, pred))
            loss = -_as_np(F.sum(products, axis=self._axis, keepdims=True))
        return _mean(F, _apply_weighting(F, loss, self._weight, sample_weight), self._batch_axis)

    def _require_labels(self, pred: NDArray, label: Any) -> None:
        if isinstance(label, NDArray) and label.size * pred.shape[-1] != pred.size:
            raise ShapeError(
                f"{self.name}: label has shape {label.shape}; expected {pred.shape[:-1]}, the number of a class for "
                f"each row of pred, of shape {pred.shape}. If labels are probabilities, say sparse_label=False."
            )

    def _is_of_one_class(self, pred: Any) -> bool:
        """Tell whether one fused operator computes the loss of arrays; in graphs a pass fuses the steps."""
        return (
            self._sparse_label
            and not self._from_logits
            and isinstance(pred, NDArray)
            and pred.ndim > 1
            and self._axis in (-1, pred.ndim - 1)
        )


SoftmaxCELoss = SoftmaxCrossEntropyLoss


@documented(ending=WEIGHT_TO_KWARGS)
class KLDivLoss(Loss):
    """The Kullback-Leibler divergence of true probabilities from predicted ones: `sum(label (log(label) - log p))`.

    Parameters
    ----------
    from_logits : bool
        Whether `pred` is log p itself: the output of `log_softmax`; else p = softmax(pred).
    axis : int
        The axis of that softmax.
    {ending}

    Examples
    --------
    >>> import minpy as mx
    >>> loss = mx.gluon.loss.KLDivLoss(from_logits=False)
    >>> loss(mx.nd.array([[0, 0]]), mx.nd.array([[0, 1]])).asnumpy().round(4).tolist()
    [0.693...]
    """

    def __init__(
        self,
        from_logits: bool = True,
        axis: int = -1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    @documented(inputs=INPUTS.format(meaning="", label="True probabilities, in that shape."))
    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Return the loss of each sample, of shape (batch,).

        Parameters
        ----------
        {inputs}
        """
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        loss = F.broadcast_mul(label, F.broadcast_sub(F.log(label + _EPSILON), pred))
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return _as_np(F.sum(loss, axis=self._batch_axis, exclude=True))


class _MarginLoss(Loss):
    """The base of `HingeLoss` and `SquaredHingeLoss`."""

    _squared: ClassVar[bool] = False

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Return the loss of each sample, of shape (batch,); for the inputs see `LogisticLoss.hybrid_forward`."""
        loss = F.relu(self._margin - F.broadcast_mul(pred, _reshape_like(F, label, pred)))
        if self._squared:
            loss = F.square(loss)
        return _mean(F, _apply_weighting(F, loss, self._weight, sample_weight), self._batch_axis)


@documented(ending=WEIGHT_TO_KWARGS)
class HingeLoss(_MarginLoss):
    """What a margin is missed by: `max(0, margin - pred label)` for labels -1 and 1.

    Parameters
    ----------
    margin : float
    {ending}

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.loss.HingeLoss()(mx.nd.array([[0.5], [2]]), mx.nd.array([[-1], [1]])).asnumpy().tolist()
    [1.5, 0.0]
    """


@documented(ending=WEIGHT_TO_KWARGS)
class SquaredHingeLoss(_MarginLoss):
    """The square of what a margin is missed by: `max(0, margin - pred label)²` for labels -1 and 1.

    Parameters
    ----------
    margin : float
    {ending}

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.loss.SquaredHingeLoss()(mx.nd.array([[0.5], [2]]), mx.nd.array([[-1], [1]])).asnumpy().tolist()
    [2.25, 0.0]
    """

    _squared = True


class LogisticLoss(Loss):
    """The cross-entropy of two classes: `log(1 + exp(-pred label))` for labels -1 and 1.

    Parameters
    ----------
    weight : float, optional
        A factor.
    batch_axis : int
        The axis of the samples.
    label_format : {'signed', 'binary'}
        Whether labels are -1 and 1, or 0 and 1.
    **kwargs
        `prefix` and `params`; see `Block`.

    Raises
    ------
    ArgumentValueError
        For another format.

    Examples
    --------
    >>> import minpy as mx
    >>> loss = mx.gluon.loss.LogisticLoss()
    >>> loss(mx.nd.array([[0], [5]]), mx.nd.array([[-1], [1]])).asnumpy().round(4).tolist()
    [0.693..., 0.006...]
    """

    def __init__(
        self, weight: float | None = None, batch_axis: int = 0, label_format: str = "signed", **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ArgumentValueError(
                f"LogisticLoss: label_format is {label_format!r}; it is 'signed' for labels -1 and 1, or 'binary' for "
                "labels 0 and 1."
            )
        self._label_format = label_format

    @documented(inputs=INPUTS.format(meaning=": positive for the label 1", label="As many labels."))
    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Return the loss of each sample, of shape (batch,).

        Parameters
        ----------
        {inputs}
        """
        label = _reshape_like(F, label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        loss = F.broadcast_sub(F.relu(pred), F.broadcast_mul(pred, label))
        loss = F.broadcast_add(loss, _softplus(F, -F.abs(pred)))
        return _mean(F, _apply_weighting(F, loss, self._weight, sample_weight), self._batch_axis)
