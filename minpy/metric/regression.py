"""Metrics of how far predicted numbers are from the right ones, and how they go together."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy

from minpy.core.docstrings import documented
from minpy.core.errors import ShapeError
from minpy.metric.eval_metric import (
    EvalMetric,
    Names,
    OfStatistics,
    alias,
    checked_average,
    pairs,
    register,
    with_names_only,
)

__all__ = ["MAE", "MSE", "RMSE", "Moments", "PearsonCorrelation"]


_SECTIONS = """
Parameters
----------
name : str
output_names, label_names : list of str, optional

Raises
------
ShapeError
    By `update`, if a label and a prediction cannot be subtracted.
"""


class _DifferenceMetric(EvalMetric):
    """The mean over batches of something that is computed of the differences of a batch."""

    def _error(self, differences: numpy.ndarray) -> Any:
        raise NotImplementedError

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels, preds : list of NDArray
            Vectors are taken for columns.
        """
        for label, pred in pairs(self, labels, preds):
            label, pred = (value[:, None] if value.ndim == 1 else value for value in (label, pred))
            try:
                if label.ndim == 0 or len(label) != len(pred):
                    raise ValueError
                differences = numpy.subtract(label, pred, dtype="float64")
            except (TypeError, ValueError):
                raise ShapeError(
                    f"{self.name}: Shape of labels {label.shape} does not match shape of predictions {pred.shape}."
                ) from None
            self._add(self._error(differences), 1)


@register
@documented(sections=_SECTIONS)
@with_names_only("mae")
class MAE(_DifferenceMetric):
    """The mean absolute error: the mean over batches of their mean |label - prediction|.

    {sections}

    Examples
    --------
    >>> import minpy as mx
    >>> error = mx.metric.MAE()
    >>> error.update([mx.nd.array([1, 2])], [mx.nd.array([1.5, 4])])
    >>> error.get()[1].item()
    1.25
    """

    def _error(self, differences: numpy.ndarray) -> Any:
        return numpy.abs(differences).mean()


@register
@documented(sections=_SECTIONS)
@with_names_only("mse")
class MSE(_DifferenceMetric):
    """The mean squared error: the mean over batches of their mean (label - prediction)².

    {sections}

    Examples
    --------
    >>> import minpy as mx
    >>> error = mx.metric.MSE()
    >>> error.update([mx.nd.array([1, 2])], [mx.nd.array([1, 4])])
    >>> error.get()[1].item()
    2.0
    """

    def _error(self, differences: numpy.ndarray) -> Any:
        return numpy.square(differences).mean()


@register
@documented(sections=_SECTIONS)
@with_names_only("rmse")
class RMSE(_DifferenceMetric):
    """The root of the mean squared error: the mean over batches of their √(mean (label - prediction)²).

    {sections}

    Examples
    --------
    >>> import minpy as mx
    >>> error = mx.metric.RMSE()
    >>> error.update([mx.nd.array([1, 2])], [mx.nd.array([4, 5])])
    >>> error.get()[1].item()
    3.0
    """

    def _error(self, differences: numpy.ndarray) -> Any:
        return numpy.sqrt(numpy.square(differences).mean())


class Moments:
    """Means and sums of squares of pairs of numbers, merged batch by batch without loss of digits.

    Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
    """

    def __init__(self) -> None:
        self.count = 0
        self.means = numpy.zeros(2)
        self.products = numpy.zeros((2, 2))

    def add(self, label: numpy.ndarray, pred: numpy.ndarray) -> None:
        """Add pairs: two vectors that are equally long."""
        if label.size == 0:
            return
        values = numpy.stack([label, pred]).astype("float64")
        means = values.mean(axis=1)
        centred = values - means[:, None]
        shift = means - self.means
        count = self.count + label.size
        self.products = (
            self.products + centred @ centred.T + numpy.outer(shift, shift) * (self.count * label.size / count)
        )
        self.means = self.means + shift * (label.size / count)
        self.count = count

    def correlation(self) -> Any:
        """Return Pearson's correlation coefficient; nan where one side is constant."""
        below = self.products[0, 0] * self.products[1, 1]
        return self.products[0, 1] / numpy.sqrt(below) if below > 0 else nan


@alias("pearsonr")
@register
class PearsonCorrelation(OfStatistics):
    """Pearson's correlation coefficient of labels and predictions; also called `'pearsonr'`.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    average : {'macro', 'micro'}
        The mean of the batches' coefficients, or the coefficient of everything together.

    Raises
    ------
    ArgumentValueError
        If `average` is none of these.
    ShapeError
        By `update`, if the shapes of a label and a prediction differ.

    Examples
    --------
    >>> import minpy as mx
    >>> correlation = mx.metric.PearsonCorrelation()
    >>> correlation.update([mx.nd.array([1, 2, 3])], [mx.nd.array([2, 4, 9])])
    >>> correlation.get()[1].round(3).item()
    0.971
    """

    def __init__(
        self, name: str = "pearsonr", output_names: Names = None, label_names: Names = None, average: str = "macro"
    ) -> None:
        self.average = checked_average("PearsonCorrelation", average)
        super().__init__(name, output_names, label_names, average=average, has_global_stats=True)

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels, preds : list of NDArray
            Of equal shapes.
        """
        for label, pred in pairs(self, labels, preds):
            if label.shape != pred.shape:
                raise ShapeError(
                    f"{self.name}: Shape of labels {label.shape} does not match shape of predictions {pred.shape}."
                )
            if self.average == "macro":
                moments = Moments()
                moments.add(label.ravel(), pred.ravel())
                self._add(moments.correlation(), 1)
            else:
                self._local.add(label.ravel(), pred.ravel())
                self._global.add(label.ravel(), pred.ravel())
                self.num_inst += 1
                self.global_num_inst += 1

    def _new_statistics(self) -> Moments:
        return Moments()

    def _statistics_value(self, statistics: Moments) -> Any:
        return statistics.correlation()

    def get(self) -> tuple[str, Any]:
        return EvalMetric.get(self) if self.average == "macro" else super().get()

    def get_global(self) -> tuple[str, Any]:
        return EvalMetric.get_global(self) if self.average == "macro" else super().get_global()
