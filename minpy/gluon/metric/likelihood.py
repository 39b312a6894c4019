"""Metrics of the probabilities that are given to the right classes."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy

from minpy.core.docstrings import documented
from minpy.core.errors import OutOfRangeError
from minpy.core.families import with_defaults
from minpy.gluon.metric.registering import named
from minpy.metric import EvalMetric
from minpy.metric.eval_metric import Names, average_of, pairs
from minpy.metric.likelihood import rows_of_classes

__all__ = ["CrossEntropy", "Perplexity"]

_SECTIONS = """
Parameters
----------
eps : float
ignore_label : int, optional
    The label of what is not counted, such as padding.
axis : int
    Along which the probabilities of classes stand.
from_logits : bool
    Predictions are logits, of which the softmax is taken.
name : str
output_names, label_names : list of str, optional

Raises
------
ShapeError
    By `update`, if there are not as many labels as vectors of probabilities.
OutOfRangeError
    By `update`, for labels that are no classes.
"""


@named("ce")
@documented(sections=_SECTIONS)
class CrossEntropy(EvalMetric):
    """The mean of -log(max(p, eps)), where p is the probability of the right class.

    {sections}

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.gluon import metric
    >>> entropy = metric.CrossEntropy(ignore_label=-1)
    >>> entropy.update([nd.array([0, -1])], [nd.array([[0.5, 0.5], [0.75, 0.25]])])
    >>> entropy.get()[1].round(4).item()
    0.6931
    """

    def __init__(
        self,
        eps: float = 1e-12,
        ignore_label: int | None = None,
        axis: int = -1,
        from_logits: bool = False,
        name: str = "cross-entropy",
        output_names: Names = None,
        label_names: Names = None,
    ) -> None:
        options = {"eps": eps, "ignore_label": ignore_label, "axis": axis, "from_logits": from_logits}
        super().__init__(name, output_names, label_names, has_global_stats=True, **options)
        self.eps = eps
        self.ignore_label = ignore_label
        self.axis = axis
        self.from_logits = from_logits

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels : list of NDArray
            Classes.
        preds : list of NDArray
            Their probabilities, or logits, along the axis.
        """
        for label, pred in pairs(self, labels, preds):
            right, rows = rows_of_classes(self, label, pred, self.axis)
            if self.ignore_label is not None:
                counted = right != self.ignore_label
                right, rows = right[counted], rows[counted]
            if right.size and not 0 <= right.min() <= right.max() < rows.shape[1]:
                raise OutOfRangeError(
                    f"{self.name}: labels are from {right.min()} to {right.max()}; predictions of shape {pred.shape} "
                    f"have classes 0 to {rows.shape[1] - 1} along axis {self.axis}. ignore_label= leaves one label out."
                )
            scores = rows[numpy.arange(right.size), right].astype("float64")
            if self.from_logits:
                rows = rows.astype("float64")
                greatest = rows.max(axis=1, initial=-numpy.inf)
                sums = numpy.exp(rows - greatest[:, None]).sum(axis=1)
                logs = numpy.maximum(scores - greatest - numpy.log(sums), numpy.log(self.eps))
            else:
                logs = numpy.log(numpy.maximum(scores, self.eps))
            self._add(-logs.sum(), right.size)


@named()
@documented(sections=_SECTIONS)
@with_defaults(name="perplexity")
class Perplexity(CrossEntropy):
    """How many classes a model is undecided between: exp of the cross-entropy.

    {sections}

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.gluon import metric
    >>> perplexity = metric.Perplexity(from_logits=True)
    >>> perplexity.update([nd.array([0, 1])], [nd.array([[3, 3, 3], [1, 1, 1]])])
    >>> round(perplexity.get()[1], 4)
    3.0
    """

    def _value_of(self, total: Any, count: Any) -> float:
        return exp(average_of(total, count))
