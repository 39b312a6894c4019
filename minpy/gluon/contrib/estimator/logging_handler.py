"""Handlers that tell how training goes: lines of a log, and a bar of progress."""

from __future__ import annotations

import time
from typing import Any

import numpy

from minpy.core.errors import ArgumentValueError, MissingDependencyError, describe
from minpy.gluon.contrib.estimator.events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, TrainBegin, TrainEnd
from minpy.gluon.contrib.estimator.utils import _check_metrics
from minpy.metric import EvalMetric

__all__ = ["LoggingHandler", "ProgressBarHandler"]


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Writes to the estimator's logger how training goes, and how long it takes.

    `Estimator.fit` adds one, and so does `Estimator.evaluate`.

    Parameters
    ----------
    log_interval : int or 'epoch'
        After how many batches a line is written, besides those of epochs.
    metrics : EvalMetric, or list of EvalMetric, optional
        What is told; those of training if left out.
    priority : float
        Larger than those of handlers that update the metrics.

    Raises
    ------
    ArgumentValueError
        For another interval, or what is no metric.

    Examples
    --------
    >>> from minpy.gluon.contrib.estimator import LoggingHandler
    >>> LoggingHandler(log_interval=10).log_interval
    10
    """

    def __init__(self, log_interval: int | str = "epoch", metrics: Any = None, priority: float = numpy.inf) -> None:
        if log_interval != "epoch" and (not isinstance(log_interval, int) or log_interval < 1):
            raise ArgumentValueError(
                f"LoggingHandler: log_interval must be a number of batches or 'epoch', got {describe(log_interval)}."
            )
        self.metrics: list[EvalMetric] = [] if metrics is None else _check_metrics(metrics)
        self.priority = priority
        self.log_interval = log_interval
        self._reset()

    def _reset(self) -> None:
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0.0

    def _values(self) -> str:
        return ", ".join(f"{name}: {value:.4f}" for name, value in (metric.get() for metric in self.metrics))

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self._reset()
        self.train_start = time.perf_counter()
        trainer = estimator.trainer
        estimator.logger.info(
            "Training begin: using optimizer %s with current learning rate %.4f ",
            type(trainer.optimizer).__name__,
            trainer.learning_rate,
        )
        how_long = (estimator.max_epoch, "epochs") if estimator.max_epoch else (estimator.max_batch, "batches")
        estimator.logger.info("Train for %d %s.", *how_long)

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        seconds = time.perf_counter() - self.train_start
        text = f"Train finished using total {seconds:.0f}s with {self.current_epoch} epochs. {self._values()}"
        estimator.logger.info("%s", text)

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self.log_interval != "epoch":
            self.batch_start = time.perf_counter()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        if self.log_interval != "epoch":
            self.log_interval_time += time.perf_counter() - self.batch_start
            self.processed_samples += kwargs["batch"][0].shape[estimator.batch_axis]
            if not self.batch_index % int(self.log_interval):
                progress = f"[Epoch {self.current_epoch}][Batch {self.batch_index}][Samples {self.processed_samples}]"
                text = f"{progress} time/interval: {self.log_interval_time:.3f}s {self._values()}"
                estimator.logger.info("%s", text)
                self.log_interval_time = 0.0
        self.batch_index += 1
        return False

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.epoch_start = time.perf_counter()
        if any("training" in metric.name for metric in self.metrics):
            estimator.logger.info(
                "[Epoch %d] Begin, current learning rate: %.4f", self.current_epoch, estimator.trainer.learning_rate
            )
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        seconds = time.perf_counter() - self.epoch_start
        estimator.logger.info("[Epoch %d] Finished in %.3fs, %s", self.current_epoch, seconds, self._values())
        self.current_epoch += 1
        self.batch_index = self.processed_samples = 0
        return False


class ProgressBarHandler(TrainBegin, EpochBegin, BatchEnd, EpochEnd, TrainEnd):
    """Shows a bar for each epoch, with the metrics of training behind it. It takes tqdm (`pip install tqdm`).

    Parameters
    ----------
    metrics : EvalMetric, or list of EvalMetric, optional
        What stands behind the bar; those of training if left out.
    total : int, optional
        How many batches an epoch has; the length of the training data if left out.
    priority : float
        Larger than those of handlers that update the metrics.
    **kwargs
        For `tqdm.auto.tqdm`: `file`, `leave`, `mininterval`, ...

    Raises
    ------
    MissingDependencyError
        If tqdm is not installed.

    Examples
    --------
    >>> from minpy.gluon.contrib.estimator import ProgressBarHandler
    >>> ProgressBarHandler(leave=False).priority
    inf
    """

    def __init__(
        self, metrics: Any = None, total: int | None = None, priority: float = numpy.inf, **kwargs: Any
    ) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise MissingDependencyError(
                "ProgressBarHandler needs tqdm, which is not installed. Install it with: python -m pip install tqdm"
            ) from None
        self.metrics: list[EvalMetric] = [] if metrics is None else _check_metrics(metrics)
        self.total = total
        self.priority = priority
        self._tqdm = tqdm
        self._options = kwargs
        self._bar: Any = None

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.metrics = self.metrics or list(estimator.train_metrics)
        self.current_epoch = 0

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        total = self.total or estimator.batches_per_epoch
        self._bar = self._tqdm(total=total, desc=f"epoch {self.current_epoch}", unit="batch", **self._options)

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        self._bar.set_postfix(
            {name: f"{value:.4f}" for name, value in (metric.get() for metric in self.metrics)}, refresh=False
        )
        self._bar.update()
        return False

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        self._bar.close()
        self.current_epoch += 1
        return False

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self._bar is not None:
            self._bar.close()
