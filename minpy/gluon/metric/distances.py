"""Metrics of how far predictions are from labels, and how they go together."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy

from minpy import metric as _metric
from minpy.core.docstrings import documented
from minpy.core.errors import ShapeError
from minpy.gluon.metric.registering import named
from minpy.metric import EvalMetric
from minpy.metric.eval_metric import Names, average_of, pairs, with_names_only

__all__ = ["MAE", "MSE", "RMSE", "MeanCosineSimilarity", "MeanPairwiseDistance", "PearsonCorrelation", "in_shape_of"]


def in_shape_of(metric: EvalMetric, label: numpy.ndarray, pred: numpy.ndarray) -> numpy.ndarray:
    """Return labels in the shape of their predictions."""
    if label.size != pred.size or (pred.ndim and label.ndim and len(label) != len(pred)):
        raise ShapeError(
            f"{metric.name}: Shape of labels {label.shape} does not match shape of predictions {pred.shape}."
        )
    return label.reshape(pred.shape)


_SECTIONS = """
Parameters
----------
name : str
output_names, label_names : list of str, optional
{further}
Raises
------
ShapeError
    By `update`, if there are not as many labels as predictions.
"""
_ERROR_SECTIONS = _SECTIONS.format(further="")


class _PerExample(EvalMetric):
    """The mean over examples, the first axis, of something that is computed of each."""

    def _of_examples(self, label: numpy.ndarray, pred: numpy.ndarray) -> numpy.ndarray:
        raise NotImplementedError

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels, preds : list of NDArray
            Of equal shapes.
        """
        for label, pred in pairs(self, labels, preds):
            values = self._of_examples(in_shape_of(self, label, pred).astype("float64"), pred.astype("float64"))
            self._add(values.sum(), values.size)


def _means(values: numpy.ndarray) -> numpy.ndarray:
    return values.reshape(len(values), -1).mean(axis=1) if values.ndim > 1 else values.reshape(-1)


@named()
@documented(sections=_ERROR_SECTIONS)
@with_names_only("mae")
class MAE(_PerExample):
    """The mean absolute error: the mean of |label - prediction|.

    {sections}

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.gluon import metric
    >>> error = metric.MAE()
    >>> error.update([nd.array([1, 2])], [nd.array([1.5, 4])])
    >>> error.get()[1].item()
    1.25
    """

    def _of_examples(self, label: numpy.ndarray, pred: numpy.ndarray) -> numpy.ndarray:
        return _means(abs(label - pred))


@named()
@documented(sections=_ERROR_SECTIONS)
@with_names_only("mse")
class MSE(_PerExample):
    """The mean squared error: the mean of (label - prediction)².

    {sections}

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.gluon import metric
    >>> error = metric.MSE()
    >>> error.update([nd.array([1, 2])], [nd.array([1, 4])])
    >>> error.get()[1].item()
    2.0
    """

    def _of_examples(self, label: numpy.ndarray, pred: numpy.ndarray) -> numpy.ndarray:
        return _means((label - pred) ** 2)


@named()
@documented(sections=_ERROR_SECTIONS)
@with_names_only("rmse")
class RMSE(MSE):
    """The root of the mean squared error of all examples: √(mean (label - prediction)²).

    {sections}

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.gluon import metric
    >>> error = metric.RMSE()
    >>> error.update([nd.array([1, 2])], [nd.array([4, 5])])
    >>> error.get()
    ('rmse', 3.0)
    """

    def _value_of(self, total: Any, count: Any) -> float:
        return sqrt(average_of(total, count))


@named()
@documented(sections=_SECTIONS.format(further="p : float\n"))
class MeanPairwiseDistance(_PerExample):
    """The mean of the p-norms of label - prediction, each example as one vector.

    {sections}

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.gluon import metric
    >>> distance = metric.MeanPairwiseDistance()
    >>> distance.update([nd.array([[0, 0], [1, 1]])], [nd.array([[3, 4], [1, 1]])])
    >>> distance.get()[1].item()
    2.5
    """

    def __init__(self, name: str = "mpd", output_names: Names = None, label_names: Names = None, p: float = 2) -> None:
        super().__init__(name, output_names, label_names, p=p, has_global_stats=True)
        self.p = p

    def _of_examples(self, label: numpy.ndarray, pred: numpy.ndarray) -> numpy.ndarray:
        differences = abs(label - pred)
        return numpy.linalg.norm(differences.reshape(len(differences), -1), self.p, axis=1)


@named()
@documented(sections=_SECTIONS.format(further="eps : float\n"))
class MeanCosineSimilarity(_PerExample):
    """The mean of the cosines between labels and predictions, vectors along the last axis: x·y / max(|x| |y|, eps).

    {sections}

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.gluon import metric
    >>> similarity = metric.MeanCosineSimilarity()
    >>> similarity.update([nd.array([[3, 4], [1, 0]])], [nd.array([[4, 3], [0, 2]])])
    >>> similarity.get()[1].round(6).item()
    0.48
    """

    def __init__(
        self, name: str = "cos_sim", output_names: Names = None, label_names: Names = None, eps: float = 1e-8
    ) -> None:
        super().__init__(name, output_names, label_names, eps=eps, has_global_stats=True)
        self.eps = eps

    def _of_examples(self, label: numpy.ndarray, pred: numpy.ndarray) -> numpy.ndarray:
        lengths = numpy.linalg.norm(label, axis=-1) * numpy.linalg.norm(pred, axis=-1)
        return numpy.atleast_1d((label * pred).sum(axis=-1) / numpy.maximum(lengths, self.eps))


@named("pearsonr")
class PearsonCorrelation(_metric.PearsonCorrelation):
    """Pearson's correlation coefficient of all labels and predictions together.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional

    Raises
    ------
    ShapeError
        By `update`, if the shapes of a label and a prediction differ.

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.gluon import metric
    >>> correlation = metric.PearsonCorrelation()
    >>> correlation.update([nd.array([1, 2])], [nd.array([2, 4])])
    >>> correlation.update([nd.array([3])], [nd.array([9])])
    >>> correlation.get()[1].round(3).item()
    0.971
    """

    def __init__(self, name: str = "pearsonr", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, "micro")
        del self._kwargs["average"]
