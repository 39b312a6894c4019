"""Metrics of how far predicted numbers are from the right ones, and how they go together."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

import numpy

from minpy.core.errors import ShapeError
from minpy.metric.base import EvalMetric, alias, average_of, checked_average, pairs, register

__all__ = ["MAE", "MSE", "RMSE", "Moments", "PearsonCorrelation"]


class _OfDifferences(EvalMetric):
    """The mean over batches of something that is computed of the differences of a batch."""

    def __init__(self, name: str, output_names: Sequence[str] | None, label_names: Sequence[str] | None) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

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
class MAE(_OfDifferences):
    """The mean absolute error: the mean over batches of their mean |label - prediction|.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional

    Raises
    ------
    ShapeError
        By `update`, if a label and a prediction cannot be subtracted.

    Examples
    --------
    >>> import minpy as mx
    >>> error = mx.metric.MAE()
    >>> error.update([mx.nd.array([1, 2])], [mx.nd.array([1.5, 4])])
    >>> error.get()[1].item()
    1.25
    """

    def __init__(
        self,
        name: str = "mae",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, differences: numpy.ndarray) -> Any:
        return numpy.abs(differences).mean()


@register
class MSE(_OfDifferences):
    """The mean squared error: the mean over batches of their mean (label - prediction)².

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional

    Raises
    ------
    ShapeError
        By `update`, if a label and a prediction cannot be subtracted.

    Examples
    --------
    >>> import minpy as mx
    >>> error = mx.metric.MSE()
    >>> error.update([mx.nd.array([1, 2])], [mx.nd.array([1, 4])])
    >>> error.get()[1].item()
    2.0
    """

    def __init__(
        self,
        name: str = "mse",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, differences: numpy.ndarray) -> Any:
        return numpy.square(differences).mean()


@register
class RMSE(_OfDifferences):
    """The root of the mean squared error: the mean over batches of their √(mean (label - prediction)²).

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional

    Raises
    ------
    ShapeError
        By `update`, if a label and a prediction cannot be subtracted.

    Examples
    --------
    >>> import minpy as mx
    >>> error = mx.metric.RMSE()
    >>> error.update([mx.nd.array([1, 2])], [mx.nd.array([4, 5])])
    >>> error.get()[1].item()
    3.0
    """

    def __init__(
        self,
        name: str = "rmse",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

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
        """Add pairs: two vectors that are equally long.

        Parameters
        ----------
        label, pred : numpy.ndarray
        """
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
        """Return Pearson's correlation coefficient; nan where one side is constant.

        Returns
        -------
        float
        """
        below = self.products[0, 0] * self.products[1, 1]
        return self.products[0, 1] / numpy.sqrt(below) if below > 0 else nan


@alias("pearsonr")
@register
class PearsonCorrelation(EvalMetric):
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
        self,
        name: str = "pearsonr",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
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
                self._moments.add(label.ravel(), pred.ravel())
                self._global_moments.add(label.ravel(), pred.ravel())
                self.num_inst += 1
                self.global_num_inst += 1

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self._moments = Moments()
        self._global_moments = Moments()

    def reset_local(self) -> None:
        """Forget the local statistics; the global ones go on."""
        super().reset_local()
        self._moments = Moments()

    def get(self) -> tuple[str, Any]:
        """Return the metric's name and its value since the last reset.

        Returns
        -------
        tuple of (str, float)
            The value is nan if there was no update.
        """
        if self.average == "macro":
            return self.name, average_of(self.sum_metric, self.num_inst)
        return self.name, self._moments.correlation()

    def get_global(self) -> tuple[str, Any]:
        """Return the metric's name and its value since the last reset of everything.

        Returns
        -------
        tuple of (str, float)
        """
        if self.average == "macro":
            return self.name, average_of(self.global_sum_metric, self.global_num_inst)
        return self.name, self._global_moments.correlation()
