"""Handlers that end training: after so much of it, or when it no longer helps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy

from minpy.core.errors import ArgumentValueError, describe
from minpy.gluon.contrib.estimator.events import BatchEnd, EpochEnd, TrainBegin, TrainEnd
from minpy.metric import EvalMetric

__all__ = ["EarlyStoppingHandler", "StoppingHandler"]


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Ends training after a number of epochs or batches.

    `Estimator.fit` adds one; at the beginning of training it takes over the estimator's `max_epoch` and `max_batch`.

    Parameters
    ----------
    max_epoch, max_batch : int, optional

    Examples
    --------
    >>> from minpy.gluon.contrib.estimator import StoppingHandler
    >>> StoppingHandler(max_epoch=3).max_epoch
    3
    """

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self._begin(max_epoch, max_batch)

    def _begin(self, max_epoch: int | None, max_batch: int | None) -> None:
        self.max_epoch, self.max_batch = max_epoch, max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self._begin(estimator.max_epoch, estimator.max_batch)

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        self.current_batch += 1
        self.stop_training = self.stop_training or self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        self.current_epoch += 1
        self.stop_training = self.stop_training or self.current_epoch == self.max_epoch
        return self.stop_training


def monitored(handler: str, monitor: Any) -> EvalMetric:
    """Return the metric that a handler watches."""
    if not isinstance(monitor, EvalMetric):
        raise ArgumentValueError(
            f"{handler}: monitor must be a metric of the estimator, got {describe(monitor)}. Take one of "
            "estimator.train_metrics and estimator.val_metrics."
        )
    return monitor


def comparison(handler: str, monitor: EvalMetric, mode: str) -> Callable[[Any, Any], Any]:
    """Return what says whether a value of a metric is better than another: `numpy.greater` or `numpy.less`."""
    if mode not in ("auto", "min", "max"):
        warnings.warn(
            f"{handler}: mode {mode!r} is unknown; expected 'auto', 'min' or 'max'. It is taken for 'auto'.",
            RuntimeWarning,
            stacklevel=4,
        )
        mode = "auto"
    if mode != "auto":
        return numpy.greater if mode == "max" else numpy.less
    name = monitor.name.lower()
    return numpy.greater if any(word in name for word in ("acc", "f1")) else numpy.less


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Ends training when a metric no longer becomes better.

    Parameters
    ----------
    monitor : EvalMetric
        One of `estimator.train_metrics` and `estimator.val_metrics`.
    min_delta : float
        By how much it must become better to count.
    patience : int
        After how many epochs without progress training ends; 0 and 1 are the same.
    mode : {'auto', 'min', 'max'}
        Whether less is better, or more; 'auto': more for accuracies and F1, less for all others.
    baseline : float, optional
        The value that the first epoch has to better.

    Raises
    ------
    ArgumentValueError
        If `monitor` is no metric.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.gluon.contrib.estimator import EarlyStoppingHandler
    >>> EarlyStoppingHandler(mx.metric.Accuracy(), patience=3).monitor_op.__name__
    'greater'
    """

    def __init__(
        self, monitor: Any, min_delta: float = 0, patience: int = 0, mode: str = "auto", baseline: float | None = None
    ) -> None:
        self.monitor = monitored("EarlyStoppingHandler", monitor)
        self.baseline = baseline
        self.patience = patience
        self.monitor_op = comparison("EarlyStoppingHandler", self.monitor, mode)
        self.min_delta = min_delta if self.monitor_op is numpy.greater else -min_delta
        self.train_begin(None)

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        worst = -numpy.inf if self.monitor_op is numpy.greater else numpy.inf
        self.best: float = worst if self.baseline is None else self.baseline

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        name, value = self.monitor.get()
        if numpy.isnan(value):
            warnings.warn(
                f"EarlyStoppingHandler: {name} has no value after epoch {self.current_epoch}: it was not updated. Was "
                "validation data given, if it is a metric of validation?",
                RuntimeWarning,
                stacklevel=2,
            )
        elif self.monitor_op(value - self.min_delta, self.best):
            self.best = value
            self.wait = 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch = self.current_epoch
                self.stop_training = True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self.stop_training:
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHandler: early stopping due to %s not improving",
                self.stopped_epoch,
                self.monitor.get()[0],
            )
