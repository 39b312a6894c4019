"""Metrics of how classes are taken for one another: of true and false positives and negatives."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy

from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentValueError, OutOfRangeError
from minpy.core.families import with_defaults
from minpy.metric.eval_metric import (
    EvalMetric,
    Names,
    as_classes,
    checked_average,
    matthews,
    pairs,
    predicted_classes,
    register,
)

__all__ = ["F1", "MCC", "PCC", "BinaryCounts", "correlation_of"]


_COUNTS = ("true_positives", "false_positives", "false_negatives", "true_negatives")


class BinaryCounts:
    """How many predictions of class 1 and of the other are true and false, locally and globally."""

    true_positives: Any
    false_positives: Any
    false_negatives: Any

    def __init__(self) -> None:
        self.reset_stats()

    def reset_stats(self) -> None:
        """Forget everything."""
        self.local_reset_stats()
        for name in _COUNTS:
            setattr(self, f"global_{name}", 0)

    def local_reset_stats(self) -> None:
        """Forget the local counts."""
        for name in _COUNTS:
            setattr(self, name, 0)

    def update_binary_stats(self, metric: EvalMetric, label: numpy.ndarray, pred: numpy.ndarray) -> None:
        """Count a batch: labels, and the scores of both classes along axis 1."""
        right, predicted = as_classes(metric, label, predicted_classes(metric, pred, 1))
        if right.size and numpy.any((right != right[0]) & (right != right[numpy.argmax(right != right[0])])):
            raise ArgumentValueError(
                f"{metric.name}: it is of two classes, 0 and 1; the labels are {', '.join(_some(right))}."
            )
        is_positive, says_positive = right == 1, predicted == 1
        true_positives = numpy.count_nonzero(is_positive & says_positive)
        false_positives = numpy.count_nonzero(says_positive) - true_positives
        false_negatives = numpy.count_nonzero(is_positive) - true_positives
        true_negatives = right.size - true_positives - false_positives - false_negatives
        counts = (true_positives, false_positives, false_negatives, true_negatives)
        for name, count in zip(_COUNTS, counts, strict=True):
            setattr(self, name, getattr(self, name) + numpy.int64(count))
            setattr(self, f"global_{name}", getattr(self, f"global_{name}") + numpy.int64(count))

    def _counts(self, use_global: bool) -> list[Any]:
        return [getattr(self, f"global_{name}" if use_global else name) for name in _COUNTS]

    def fbeta(self, use_global: bool = False) -> Any:
        """Return F1, the harmonic mean of precision and recall; 0 where nothing is predicted rightly."""
        true_positives, false_positives, false_negatives, _ = self._counts(use_global)
        if not true_positives:
            return 0.0
        return 2 * true_positives / (2 * true_positives + false_positives + false_negatives)

    @property
    def precision(self) -> Any:
        """The share of what is said to be positive that is; 0 of nothing."""
        predicted = self.true_positives + self.false_positives
        return self.true_positives / predicted if predicted else 0.0

    @property
    def recall(self) -> Any:
        """The share of what is positive that is said to be; 0 of nothing."""
        positives = self.true_positives + self.false_negatives
        return self.true_positives / positives if positives else 0.0

    @property
    def fscore(self) -> Any:
        """The F1 of the local counts."""
        return self.fbeta()

    @property
    def total_examples(self) -> Any:
        """How many examples were counted."""
        return sum(self._counts(False))

    @property
    def global_total_examples(self) -> Any:
        """How many examples were counted globally."""
        return sum(self._counts(True))

    def matthewscc(self, use_global: bool = False) -> float:
        """Return Matthews' correlation coefficient; factors of the denominator that are zero are left out."""
        return matthews(*map(float, self._counts(use_global)))


def _some(values: numpy.ndarray) -> list[str]:
    different = numpy.unique(values).tolist()
    return [*map(str, different[:6]), *(["..."] if len(different) > 6 else [])]


_SECTIONS = """
Parameters
----------
name : str
output_names, label_names : list of str, optional
average : {'macro', 'micro'}
    The mean of the batches' values, or the value of all examples together.

Raises
------
ArgumentValueError
    If `average` is none of these; by `update`, for labels of more than two classes.
ShapeError
    By `update`, if there are not as many labels as predictions, or these have no axis of classes.
"""


class _Binary(EvalMetric):
    """A metric of two classes: of each batch, averaged ('macro'), or of all examples together ('micro')."""

    def __init__(
        self, name: str = "f1", output_names: Names = None, label_names: Names = None, average: str = "macro"
    ) -> None:
        self.average = self._average = checked_average(type(self).__name__, average)
        self.metrics = self._counts = BinaryCounts()
        super().__init__(name, output_names, label_names, average=average, has_global_stats=True)

    def _value(self, use_global: bool) -> Any:
        raise NotImplementedError

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels : list of NDArray
            Classes, 0 and 1.
        preds : list of NDArray
            Their scores: of shape (batch, 2).
        """
        for label, pred in pairs(self, labels, preds):
            self._counts.update_binary_stats(self, label, pred)
        if self._average == "macro":
            self._add(self._value(False), 1)
            self._counts.reset_stats()
        else:
            self.num_inst = self._counts.total_examples
            self.sum_metric = self._value(False) * self.num_inst
            self.global_num_inst = self._counts.global_total_examples
            self.global_sum_metric = self._value(True) * self.global_num_inst

    def reset(self) -> None:
        super().reset()
        self._counts.reset_stats()

    def reset_local(self) -> None:
        super().reset_local()
        self._counts.local_reset_stats()


@register
@documented(sections=_SECTIONS)
class F1(_Binary):
    """The harmonic mean of precision and recall, of two classes: 2 TP / (2 TP + FP + FN).

    {sections}

    Examples
    --------
    >>> import minpy as mx
    >>> f1 = mx.metric.F1(average='micro')
    >>> f1.update([mx.nd.array([0, 1, 1])], [mx.nd.array([[0.3, 0.7], [0, 1], [0.4, 0.6]])])
    >>> f1.get()[1].round(3).item()
    0.8
    """

    def _value(self, use_global: bool) -> Any:
        return self._counts.fbeta(use_global)


@register
@documented(sections=_SECTIONS)
@with_defaults(name="mcc")
class MCC(_Binary):
    """Matthews' correlation coefficient of two classes (Matthews, 1975): between -1 and 1, 0 for guesses.

    (TP TN - FP FN) / √((TP + FP)(TP + FN)(TN + FP)(TN + FN)), where factors that are zero are left out.

    {sections}

    Examples
    --------
    >>> import minpy as mx
    >>> mcc = mx.metric.MCC()
    >>> mcc.update([mx.nd.array([0, 1, 1, 0])], [mx.nd.array([[0.3, 0.7], [0, 1], [0.4, 0.6], [0.9, 0.1]])])
    >>> round(mcc.get()[1], 3)
    0.577
    """

    def _value(self, use_global: bool) -> Any:
        return self._counts.matthewscc(use_global)


@register
class PCC(EvalMetric):
    """Matthews' correlation coefficient for any number of classes, of all examples together.

    Gorodkin, "Comparing two K-category assignments by a K-category correlation coefficient", 2004, equation 8.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    has_global_stats : bool

    Raises
    ------
    ShapeError
        By `update`, if there are not as many labels as predictions.
    OutOfRangeError
        By `update`, for negative classes.

    Examples
    --------
    >>> import minpy as mx
    >>> pcc = mx.metric.PCC()
    >>> pcc.update([mx.nd.array([0, 1, 2])], [mx.nd.array([0, 1, 1])])
    >>> pcc.get()[1].round(3).item()
    0.612
    """

    lcm: numpy.ndarray
    gcm: numpy.ndarray

    def __init__(
        self, name: str = "pcc", output_names: Names = None, label_names: Names = None, has_global_stats: bool = True
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels : list of NDArray
            Classes.
        preds : list of NDArray
            Classes, or their scores: of shape (batch, classes).
        """
        for label, pred in pairs(self, labels, preds):
            classes = pred if pred.shape == label.shape else predicted_classes(self, pred, 1)
            right, predicted = as_classes(self, label, classes)
            if right.size:
                lowest, highest = min(right.min(), predicted.min()), max(right.max(), predicted.max())
                if lowest < 0:
                    raise OutOfRangeError(f"{self.name}: {lowest} is no class: classes are numbered from 0.")
                self.lcm, self.gcm = _of_size(highest + 1, self.lcm), _of_size(highest + 1, self.gcm)
                numpy.add.at(self.lcm, (predicted, right), 1)
                numpy.add.at(self.gcm, (predicted, right), 1)
        self.num_inst += 1.0
        self.global_num_inst += 1.0

    @property
    def k(self) -> int:
        """How many classes there are so far."""
        return len(self.gcm)

    def reset(self) -> None:
        self.gcm = numpy.zeros((2, 2))
        self.global_num_inst = 0.0
        self.reset_local()

    def reset_local(self) -> None:
        self.lcm = numpy.zeros((2, 2))
        self.num_inst = 0.0

    @property
    def sum_metric(self) -> Any:
        """The coefficient times the number of batches."""
        return correlation_of(self.lcm) * self.num_inst

    @property
    def global_sum_metric(self) -> Any:
        """The global coefficient times the number of batches."""
        return correlation_of(self.gcm) * self.global_num_inst


def _of_size(size: int, matrix: numpy.ndarray) -> numpy.ndarray:
    """Return a square matrix that is at least so large: the given one, or one with zeros around it."""
    if len(matrix) >= size:
        return matrix
    larger = numpy.zeros((size, size))
    larger[: len(matrix), : len(matrix)] = matrix
    return larger


def correlation_of(confusion: numpy.ndarray) -> Any:
    """Return the correlation coefficient of a confusion matrix; nan where one side has a single class."""
    total, predicted, actual = confusion.sum(), confusion.sum(axis=1), confusion.sum(axis=0)
    variances = numpy.sum(predicted * (total - predicted)), numpy.sum(actual * (total - actual))
    if 0 in variances:
        return nan
    return numpy.sum(confusion.diagonal() * total - predicted * actual) / numpy.sqrt(variances[0] * variances[1])
