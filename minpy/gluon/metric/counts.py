"""Metrics of counts: of what is predicted rightly and wrongly."""

from __future__ import annotations

from typing import Any

import numpy

from minpy import metric as _metric
from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentValueError, OutOfRangeError, ShapeError, describe
from minpy.gluon.metric.distances import in_shape_of
from minpy.gluon.metric.registering import named
from minpy.metric import EvalMetric
from minpy.metric.classification import hits_among
from minpy.metric.eval_metric import Names, OfStatistics, matthews, pairs
from minpy.metric.likelihood import rows_of_classes

__all__ = ["F1", "MCC", "BinaryAccuracy", "Fbeta", "TopKAccuracy"]


@named("top_k_accuracy", "top_k_acc")
class TopKAccuracy(_metric.TopKAccuracy):
    """The share of predictions whose `top_k` greatest scores have the right class among them.

    Of equal scores, those of lower classes come first.

    Parameters
    ----------
    top_k : int
        At least 2.
    name : str
        `top_k` is appended to it.
    output_names, label_names : list of str, optional

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.gluon import metric
    >>> top = metric.TopKAccuracy(2)
    >>> top.update([nd.array([[0, 1]])], [nd.array([[[0.1, 0.9, 0.5], [0.3, 0.7, 0.8]]])])
    >>> top.get()[1].item()
    0.5
    """

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels : list of NDArray
            Classes.
        preds : list of NDArray
            Scores of classes, along the last axis.
        """
        for label, pred in pairs(self, labels, preds):
            right, rows = rows_of_classes(self, label, pred)
            hits = hits_among(self.name, right, rows, self.top_k)
            self._add(numpy.float64(numpy.count_nonzero(hits)), right.size)


class _Counts:
    """The true positives, false positives and false negatives of each class."""

    def __init__(self) -> None:
        self.count = 0
        self.true_positives = numpy.zeros(1, "int64")
        self.false_positives = numpy.zeros(1, "int64")
        self.false_negatives = numpy.zeros(1, "int64")

    def add(self, examples: int, hits: numpy.ndarray, predicted: numpy.ndarray, right: numpy.ndarray) -> None:
        """Add a batch: how often each class is predicted rightly, is predicted, and is right."""
        self.true_positives = self.true_positives + hits
        self.false_positives = self.false_positives + predicted - hits
        self.false_negatives = self.false_negatives + right - hits
        self.count += examples

    def fbeta(self, beta: float, average: str | None) -> Any:
        """Return (1 + β²) TP / ((1 + β²) TP + β² FN + FP), 0 where nothing is predicted rightly."""
        counts = (self.true_positives, self.false_positives, self.false_negatives)
        hits, wrong, missed = (count.sum(keepdims=True) for count in counts) if average == "micro" else counts
        weighted = (1 + beta**2) * hits
        values = weighted / numpy.where(hits > 0, weighted + beta**2 * missed + wrong, 1)
        return values if average is None else values.mean()

    def correlation(self) -> float:
        """Return Matthews' correlation coefficient of class 1."""
        hits, wrong, missed = (
            float(count[0]) for count in (self.true_positives, self.false_positives, self.false_negatives)
        )
        return matthews(hits, wrong, missed, self.count - hits - wrong - missed)


def _count(right: numpy.ndarray, predicted: numpy.ndarray) -> tuple[int, numpy.ndarray, Any, Any]:
    """Return the number of examples, and of each column how often both, the second, and the first are true."""
    hits, chosen, actual = (numpy.count_nonzero(flags, axis=0) for flags in (right & predicted, predicted, right))
    return len(right), numpy.asarray(hits), chosen, actual


_KINDS = ("binary", "multiclass", "multilabel")


class _CountMetric(OfStatistics):
    """A metric of counts of all examples."""

    def __init__(self, name: str, output_names: Names, label_names: Names, class_type: str, threshold: float) -> None:
        if class_type not in _KINDS:
            raise ArgumentValueError(
                f"{type(self).__name__}: class_type must be {', '.join(map(repr, _KINDS[:2]))} or {_KINDS[2]!r}, got "
                f"{describe(class_type)}."
            )
        self.class_type = class_type
        self.threshold = threshold
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels : list of NDArray
            Classes; for 'multilabel' 0 or 1 for each class, of shape (..., classes).
        preds : list of NDArray
            For 'binary' the probability of class 1, or of both classes along the last axis; else the scores of
            classes along the last axis.
        """
        for label, pred in pairs(self, labels, preds):
            batch = self._counted(label, pred)
            for counts in (self._local, self._global):
                if counts.count and counts.true_positives.size != batch[1].size:
                    raise ShapeError(
                        f"{self.name}: predictions of shape {pred.shape} have {batch[1].size} classes, those before "
                        f"had {counts.true_positives.size}."
                    )
                counts.add(*batch)
        self.num_inst = self._local.count
        self.global_num_inst = self._global.count

    def _counted(self, label: numpy.ndarray, pred: numpy.ndarray) -> tuple[int, numpy.ndarray, Any, Any]:
        """Return the number of examples, and how often each class is predicted rightly, is predicted, and is right."""
        if self.class_type == "binary":
            if label.size and label.max() > 1:
                raise ArgumentValueError(f"{self.name}: labels of two classes are 0 and 1; there is {label.max()}.")
            if pred.size == 2 * label.size and pred.shape[-1:] == (2,):
                pred = pred[..., 1]
            self._require_size(label, pred, pred.size)
            return _count(label.reshape(-1, 1) == 1, pred.reshape(-1, 1) > self.threshold)
        if self.class_type == "multilabel":
            self._require_size(label, pred, pred.size)
            classes = pred.shape[-1] if pred.ndim else 1
            return _count(label.reshape(-1, classes) == 1, pred.reshape(-1, classes) > self.threshold)
        right, rows = rows_of_classes(self, label, pred)
        classes = rows.shape[1]
        if right.size and not 0 <= right.min() <= right.max() < classes:
            raise OutOfRangeError(
                f"{self.name}: labels are from {right.min()} to {right.max()}; predictions of shape {pred.shape} have "
                f"the scores of classes 0 to {classes - 1}."
            )
        predicted = rows.argmax(1)
        each = (right[right == predicted], predicted, right)
        hits, chosen, actual = (numpy.bincount(values, minlength=classes) for values in each)
        return right.size, hits, chosen, actual

    def _require_size(self, label: numpy.ndarray, pred: numpy.ndarray, size: int) -> None:
        if label.size != size:
            raise ShapeError(
                f"{self.name}: labels of shape {label.shape} do not fit predictions of shape {pred.shape}; a "
                f"{self.class_type} metric needs one for each."
            )

    def _new_statistics(self) -> _Counts:
        return _Counts()


_SECTIONS = """
threshold : float
    Above which a probability says yes, for 'binary' and 'multilabel'.
average : {'micro', 'macro'} or None
    Of the counts of all classes together, the mean of the classes' values, or an array of these.

Raises
------
ArgumentValueError
    If `class_type` or `average` is none of these; by `update`, for labels above 1 of a 'binary' metric.
ShapeError
    By `update`, if labels and predictions do not fit.
OutOfRangeError
    By `update`, for labels that are no classes.
"""


@named()
@documented(sections=_SECTIONS)
class Fbeta(_CountMetric):
    """The weighted harmonic mean of precision and recall: (1 + β²) TP / ((1 + β²) TP + β² FN + FP).

    van Rijsbergen, "Information retrieval", 1979, chapter 7.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    class_type : {'binary', 'multiclass', 'multilabel'}
    beta : float
        How many times recall counts as much as precision.
    {sections}

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.gluon import metric
    >>> fbeta = metric.Fbeta(beta=2)
    >>> fbeta.update([nd.array([0, 1, 1])], [nd.array([0.7, 0.9, 0.2])])
    >>> fbeta.get()[1].item()
    0.5
    """

    def __init__(
        self,
        name: str = "fbeta",
        output_names: Names = None,
        label_names: Names = None,
        class_type: str = "binary",
        beta: float = 1,
        threshold: float = 0.5,
        average: str | None = "micro",
    ) -> None:
        super().__init__(name, output_names, label_names, class_type, threshold)
        self._kwargs = {"class_type": class_type, "beta": beta, "threshold": threshold, "average": average}
        if average not in ("micro", "macro", None):
            raise ArgumentValueError(
                f"{type(self).__name__}: average must be 'micro', 'macro' or None, got {describe(average)}."
            )
        self.beta = beta
        self.average = average

    def _statistics_value(self, counts: _Counts) -> Any:
        return counts.fbeta(self.beta, self.average)


@named()
@documented(sections=_SECTIONS)
class F1(Fbeta):
    """The harmonic mean of precision and recall: 2 TP / (2 TP + FN + FP).

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    class_type : {'binary', 'multiclass', 'multilabel'}
    {sections}

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.gluon import metric
    >>> f1 = metric.F1(class_type='multiclass', average=None)
    >>> f1.update([nd.array([0, 1, 1])], [nd.array([[0.3, 0.7], [0, 1], [0.4, 0.6]])])
    >>> f1.get()[1]
    array([0. , 0.8])
    """

    def __init__(
        self,
        name: str = "f1",
        output_names: Names = None,
        label_names: Names = None,
        class_type: str = "binary",
        threshold: float = 0.5,
        average: str | None = "micro",
    ) -> None:
        super().__init__(name, output_names, label_names, class_type, 1, threshold, average)
        del self._kwargs["beta"]


@named()
class MCC(_CountMetric):
    """Matthews' correlation coefficient of two classes (Matthews, 1975): between -1 and 1, 0 for guesses.

    (TP TN - FP FN) / √((TP + FP)(TP + FN)(TN + FP)(TN + FN)), where factors that are zero are left out.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.gluon import metric
    >>> mcc = metric.MCC()
    >>> mcc.update([nd.array([0, 1, 1, 0])], [nd.array([0.7, 0.9, 0.6, 0.1])])
    >>> round(mcc.get()[1], 3)
    0.577
    """

    def __init__(self, name: str = "mcc", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, "binary", 0.5)

    def _statistics_value(self, counts: _Counts) -> Any:
        return counts.correlation()


@named()
class BinaryAccuracy(EvalMetric):
    """The share of predictions that are right, where a probability above a threshold says 1, and else 0.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    threshold : float

    Raises
    ------
    ShapeError
        By `update`, if there are not as many labels as predictions.

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.gluon import metric
    >>> accuracy = metric.BinaryAccuracy(threshold=0.6)
    >>> accuracy.update([nd.array([0, 1, 0])], [nd.array([0.7, 1, 0.55])])
    >>> accuracy.get()[1].round(3).item()
    0.667
    """

    def __init__(
        self,
        name: str = "binary_accuracy",
        output_names: Names = None,
        label_names: Names = None,
        threshold: float = 0.5,
    ) -> None:
        super().__init__(name, output_names, label_names, threshold=threshold, has_global_stats=True)
        self.threshold = threshold

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels : list of NDArray
            0 and 1.
        preds : list of NDArray
            Probabilities of 1.
        """
        for label, pred in pairs(self, labels, preds):
            right = in_shape_of(self, label, pred)
            self._add(numpy.float64(numpy.count_nonzero((pred > self.threshold) == right.astype("int64"))), pred.size)
