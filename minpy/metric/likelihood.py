"""Metrics of the probabilities that are given to the right classes."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy

from minpy.core.docstrings import documented
from minpy.core.errors import OutOfRangeError, ShapeError
from minpy.core.families import with_defaults
from minpy.metric.eval_metric import EvalMetric, Names, alias, average_of, pairs, register

__all__ = ["CrossEntropy", "NegativeLogLikelihood", "Perplexity", "rows_of_classes"]


def rows_of_classes(
    metric: EvalMetric, label: numpy.ndarray, pred: numpy.ndarray, axis: int = -1
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return labels as a vector of integers, and predictions with a row of classes for each."""
    if pred.ndim and -pred.ndim <= axis < pred.ndim:
        rows = pred if axis in (-1, pred.ndim - 1) else numpy.moveaxis(pred, axis, -1)
        if label.size * rows.shape[-1] == rows.size:
            return label.astype("int64").ravel(), rows.reshape(label.size, rows.shape[-1])
    raise ShapeError(
        f"{metric.name}: labels of shape {label.shape} do not fit predictions of shape {pred.shape}; there must be one "
        f"for each vector of probabilities along axis {axis}."
    )


_SECTIONS = """
Parameters
----------
eps : float
name : str
output_names, label_names : list of str, optional

Raises
------
ShapeError
    By `update`, if there are not as many labels as vectors of probabilities.
OutOfRangeError
    By `update`, for labels that are no classes.
"""


class _ProbabilityMetric(EvalMetric):
    def __init__(
        self, eps: float = 1e-12, name: str = "cross-entropy", output_names: Names = None, label_names: Names = None
    ) -> None:
        super().__init__(name, output_names, label_names, eps=eps, has_global_stats=True)
        self.eps = eps

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels : list of NDArray
            Classes: of shape (batch,).
        preds : list of NDArray
            Their probabilities: of shape (batch, classes).
        """
        for label, pred in pairs(self, labels, preds):
            right, rows = rows_of_classes(self, label, pred)
            try:
                probabilities = rows[numpy.arange(right.size), right]
            except IndexError:
                raise OutOfRangeError(
                    f"{self.name}: labels are from {right.min()} to {right.max()}; predictions of shape {pred.shape} "
                    f"have probabilities of classes 0 to {rows.shape[-1] - 1}."
                ) from None
            self._add(-numpy.log(probabilities + self.eps).sum(dtype="float64"), right.size)


@alias("ce")
@register
@documented(sections=_SECTIONS)
class CrossEntropy(_ProbabilityMetric):
    """The mean of -log(p + eps), where p is the probability of the right class; also called `'ce'`.

    {sections}

    Examples
    --------
    >>> import minpy as mx
    >>> entropy = mx.metric.CrossEntropy()
    >>> entropy.update([mx.nd.array([0, 1])], [mx.nd.array([[0.5, 0.5], [0.75, 0.25]])])
    >>> entropy.get()[1].round(4).item()
    1.0397
    """


@alias("nll_loss")
@register
@documented(sections=_SECTIONS)
@with_defaults(name="nll-loss")
class NegativeLogLikelihood(_ProbabilityMetric):
    """The mean of -log(p + eps), where p is the probability of the right class; also called `'nll_loss'`.

    {sections}

    Examples
    --------
    >>> import minpy as mx
    >>> loss = mx.metric.NegativeLogLikelihood()
    >>> loss.update([mx.nd.array([0, 1])], [mx.nd.array([[0.5, 0.5], [0.75, 0.25]])])
    >>> loss.get()[1].round(4).item()
    1.0397
    """


@register
class Perplexity(EvalMetric):
    """How many words a language model is undecided between: exp of the mean of -log(max(p, 1e-10)).

    Parameters
    ----------
    ignore_label : int or None
        The label of what is not counted, such as padding.
    axis : int
        Along which the probabilities of classes stand. Labels that are no classes are taken for the nearest.
    name : str
    output_names, label_names : list of str, optional

    Raises
    ------
    ShapeError
        By `update`, if there are not as many labels as vectors of probabilities.

    Examples
    --------
    >>> import minpy as mx
    >>> perplexity = mx.metric.Perplexity(ignore_label=0)
    >>> perplexity.update([mx.nd.array([1, 0])], [mx.nd.array([[0.5, 0.5], [0.75, 0.25]])])
    >>> round(perplexity.get()[1], 4)
    2.0
    """

    def __init__(
        self,
        ignore_label: int | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Names = None,
        label_names: Names = None,
    ) -> None:
        super().__init__(name, output_names, label_names, ignore_label=ignore_label, axis=axis, has_global_stats=True)
        self.ignore_label = ignore_label
        self.axis = axis

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels : list of NDArray
            Classes.
        preds : list of NDArray
            Their probabilities, along the axis.
        """
        for label, pred in pairs(self, labels, preds):
            right, rows = rows_of_classes(self, label, pred, self.axis)
            if self.ignore_label is not None:
                counted = right != self.ignore_label
                right, rows = right[counted], rows[counted]
            probabilities = rows[numpy.arange(right.size), right.clip(0, rows.shape[-1] - 1)]
            self._add(-numpy.log(numpy.maximum(probabilities, 1e-10)).sum(dtype="float64"), right.size)

    def _value_of(self, total: Any, count: Any) -> float:
        return exp(average_of(total, count))
