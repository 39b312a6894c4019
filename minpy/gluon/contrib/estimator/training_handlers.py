"""Handlers that do the work of training itself: metrics, validation, steps of the trainer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.gluon.contrib.estimator.events import BatchEnd, EpochBegin, EpochEnd, TrainBegin
from minpy.gluon.contrib.estimator.utils import _check_metrics
from minpy.metric import Loss

__all__ = ["GradientUpdateHandler", "MetricHandler", "ValidationHandler"]


class MetricHandler(EpochBegin, BatchEnd):
    """Resets metrics before each epoch, and updates them after each batch.

    `Estimator.fit` adds one for its `train_metrics`, `Estimator.evaluate` one for its `val_metrics`.

    Parameters
    ----------
    metrics : EvalMetric, or list of EvalMetric
        `Loss` metrics are given the losses, all others labels and predictions.
    priority : int
        Before -1000, handlers see the metrics of the batch before.
    """

    def __init__(self, metrics: Any, priority: float = -1000) -> None:
        self.metrics = _check_metrics(metrics)
        self.priority = priority

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        for metric in self.metrics:
            if isinstance(metric, Loss):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])
        return False


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Evaluates the network every few epochs or batches.

    `Estimator.fit` adds one for its `val_data`.

    Parameters
    ----------
    val_data : gluon.data.DataLoader
    eval_fn : callable
        Called as `eval_fn(val_data=..., batch_axis=..., event_handlers=...)`: `estimator.evaluate`.
    epoch_period, batch_period : int, optional
        After how many epochs, and after how many batches.
    priority : int
        Smaller than those of handlers that read the metrics of validation.
    event_handlers : EventHandler, or list of EventHandler, optional
        For `eval_fn`.
    """

    def __init__(
        self,
        val_data: Any,
        eval_fn: Callable[..., Any],
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        priority: float = -1000,
        event_handlers: Any = None,
    ) -> None:
        self.val_data = val_data
        self.eval_fn = eval_fn
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.current_batch = 0
        self.current_epoch = 0
        self.priority = priority
        self.event_handlers = event_handlers

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_batch = 0
        self.current_epoch = 0

    def _evaluate(self, estimator: Any) -> None:
        self.eval_fn(val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers)

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        self.current_batch += 1
        if self.batch_period and not self.current_batch % self.batch_period:
            self._evaluate(estimator)
        return False

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        self.current_epoch += 1
        if self.epoch_period and not self.current_epoch % self.epoch_period:
            self._evaluate(estimator)
        return False


class GradientUpdateHandler(BatchEnd):
    """Lets the trainer take a step after each batch. `Estimator.fit` adds one.

    One of one's own, derived from it, accumulates gradients over batches, or clips them.

    Parameters
    ----------
    priority : int
        Smaller than those of handlers that look at the new weights.
    """

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        loss = kwargs["loss"]
        losses = loss if isinstance(loss, (list, tuple)) else [loss]
        estimator.trainer.step(sum(map(len, losses)))
        return False
