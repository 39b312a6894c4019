"""How often the predicted class is the right one."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.core.errors import ArgumentValueError, OutOfRangeError, ShapeError, describe
from minpy.metric.eval_metric import EvalMetric, Names, alias, as_classes, pairs, predicted_classes, register

__all__ = ["Accuracy", "TopKAccuracy", "hits_among"]


@alias("acc")
@register
class Accuracy(EvalMetric):
    """The share of predictions that are right; also called `'acc'`.

    Parameters
    ----------
    axis : int
        Along which the scores of classes stand, in predictions whose shape is not that of the labels. Others are
        classes.
    name : str
    output_names, label_names : list of str, optional

    Raises
    ------
    ShapeError
        By `update`, if there are not as many labels as predictions.

    Examples
    --------
    >>> import minpy as mx
    >>> accuracy = mx.metric.Accuracy()
    >>> accuracy.update([mx.nd.array([0, 1, 1])], [mx.nd.array([[0.3, 0.7], [0, 1], [0.4, 0.6]])])
    >>> accuracy.get()[1].round(3).item()
    0.667
    """

    def __init__(
        self, axis: int = 1, name: str = "accuracy", output_names: Names = None, label_names: Names = None
    ) -> None:
        super().__init__(name, output_names, label_names, axis=axis, has_global_stats=True)
        self.axis = axis

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels : list of NDArray
            Classes.
        preds : list of NDArray
            Classes, or their scores.
        """
        for label, pred in pairs(self, labels, preds):
            classes = pred if pred.shape == label.shape else predicted_classes(self, pred, self.axis)
            right, predicted = as_classes(self, label, classes)
            self._add(numpy.float64(numpy.count_nonzero(right == predicted)), right.size)


@alias("top_k_accuracy", "top_k_acc")
@register
class TopKAccuracy(EvalMetric):
    """The share of predictions whose `top_k` greatest scores have the right class among them.

    Of equal scores, those of lower classes come first.

    Parameters
    ----------
    top_k : int
        At least 2.
    name : str
        `top_k` is appended to it.
    output_names, label_names : list of str, optional

    Raises
    ------
    ArgumentValueError
        If `top_k` is less.
    ShapeError
        By `update`, if there are not as many labels as predictions, or these have more than two axes.

    Examples
    --------
    >>> import minpy as mx
    >>> top = mx.metric.TopKAccuracy(2)
    >>> top.update([mx.nd.array([0, 1])], [mx.nd.array([[0.1, 0.9, 0.5], [0.3, 0.7, 0.8]])])
    >>> top.get()[0], top.get()[1].item()
    ('top_k_accuracy_2', 0.5)
    """

    def __init__(
        self, top_k: int = 1, name: str = "top_k_accuracy", output_names: Names = None, label_names: Names = None
    ) -> None:
        if isinstance(top_k, bool) or not isinstance(top_k, (int, numpy.integer)) or top_k < 2:
            raise ArgumentValueError(
                f"TopKAccuracy: top_k must be an integer of at least 2, got {describe(top_k)}; for 1 use Accuracy."
            )
        super().__init__(f"{name}_{top_k}", output_names, label_names, top_k=top_k, has_global_stats=True)
        self.top_k = top_k
        self._own_name = name

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "name": self._own_name}

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels : list of NDArray
            Classes.
        preds : list of NDArray
            Scores of shape (batch, classes); or classes.
        """
        for label, pred in pairs(self, labels, preds):
            if pred.ndim > 2 or pred.ndim == 0:
                raise ShapeError(
                    f"{self.name}: predictions must have the shape (batch, classes), or (batch,); got {pred.shape}."
                )
            if pred.ndim == 1:
                right, predicted = as_classes(self, label, pred)
                hits = right == predicted
            else:
                right, _ = as_classes(self, label, numpy.arange(len(pred)))
                hits = hits_among(self.name, right, pred, self.top_k)
            self._add(numpy.float64(numpy.count_nonzero(hits)), right.size)


def hits_among(name: str, right: numpy.ndarray, scores: numpy.ndarray, top_k: int) -> numpy.ndarray:
    """Return of each row whether fewer than `top_k` classes come before the right one. A nan comes last."""
    rows, count = scores.shape
    if right.size and not 0 <= right.min() <= right.max() < count:
        raise OutOfRangeError(
            f"{name}: label {right.min() if right.min() < 0 else right.max()} is no class: predictions of shape "
            f"{scores.shape} have the scores of classes 0 to {count - 1}."
        )
    right_scores = scores[numpy.arange(rows), right][:, None]
    behind = scores < right_scores
    behind |= (scores == right_scores) & (numpy.arange(count) > right[:, None])
    return numpy.asarray(count - 1 - numpy.count_nonzero(behind, axis=1) < top_k)
