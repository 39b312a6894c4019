"""The handler that saves a training run, and takes it up again."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy

from minpy.core.errors import ArgumentValueError, FileFormatError
from minpy.files import open_to_read
from minpy.gluon.contrib.estimator.events import BatchEnd, EpochEnd, TrainBegin
from minpy.gluon.contrib.estimator.stopping import comparison, monitored
from minpy.ndarray import load
from minpy.optimizer.state_bytes import load_states

__all__ = ["CheckpointHandler"]


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Saves parameters and the trainer's states every few epochs or batches, and resumes from them.

    The files are `prefix-epochEbatchB.params` and `.states`, for the best model `prefix-best.params` and `.states`, and
    `prefix-symbol.json` where the network is hybridized; each is there as a whole or not at all, whenever the program
    is killed. Resuming takes the last pair that is complete and can be read, and says which ones it passed over.

    Parameters
    ----------
    model_dir : str
        The folder; it is made.
    model_prefix : str
    monitor : EvalMetric, optional
        One of `estimator.train_metrics` and `estimator.val_metrics`: what makes a model the best, or worth saving.
    verbose : int
        Whether what is saved is logged (more than 0).
    save_best : bool
        Whether the best model is kept beside the last ones; it takes a `monitor`.
    mode : {'auto', 'min', 'max'}
        Whether less is better, or more; 'auto': more for accuracies and F1, less for all others.
    epoch_period, batch_period : int, optional
        After how many epochs, and after how many batches.
    max_checkpoints : int
        How many of this run's are kept, besides the best one.
    resume_from_checkpoint : bool
        Whether training goes on from the last checkpoint in the folder; the epochs or batches given to `fit` include
        those that were trained already.

    Raises
    ------
    ArgumentValueError
        If `save_best` has no `monitor`, or a period is no positive number.

    Examples
    --------
    >>> import tempfile
    >>> from minpy.gluon.contrib.estimator import CheckpointHandler
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     CheckpointHandler(folder, 'digits', epoch_period=5).max_checkpoints
    5
    """

    def __init__(
        self,
        model_dir: str,
        model_prefix: str = "model",
        monitor: Any = None,
        verbose: int = 0,
        save_best: bool = False,
        mode: str = "auto",
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        max_checkpoints: int = 5,
        resume_from_checkpoint: bool = False,
    ) -> None:
        if save_best and monitor is None:
            raise ArgumentValueError(
                "CheckpointHandler: save_best needs a monitor, the metric that says which model is the best. Give one "
                "of estimator.train_metrics and estimator.val_metrics."
            )
        for name, period in (("epoch_period", epoch_period), ("batch_period", batch_period)):
            if period is not None and period < 1:
                raise ArgumentValueError(f"CheckpointHandler: {name} must be 1 or more, or None, got {period!r}.")
        self.monitor = None if monitor is None else monitored("CheckpointHandler", monitor)
        self.verbose = verbose
        self.model_dir = os.fspath(model_dir)
        os.makedirs(self.model_dir, exist_ok=True)
        self.model_prefix = model_prefix
        self.save_best = save_best
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.current_batch = 0
        self.current_epoch = 0
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.saved_checkpoints: list[str] = []
        self.trained_epoch = -1
        self.trained_batch = -1
        if self.monitor is not None:
            self.monitor_op = comparison("CheckpointHandler", self.monitor, mode)
            self.best = -numpy.inf if self.monitor_op is numpy.greater else numpy.inf

    # -- moments of training ----------------------------------------------------------------------------------------

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_batch = self.current_epoch = 0
        self.saved_checkpoints = []
        if self.resume_from_checkpoint:
            self._resume(estimator)

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        if not self.current_batch and not self.current_epoch:
            self._save_symbol(estimator)
        if self.batch_period and not (self.current_batch + 1) % self.batch_period:
            self._save(estimator, self.current_batch + 1)
        self.current_batch += 1
        return False

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        if self.epoch_period and not (self.current_epoch + 1) % self.epoch_period:
            self._save(estimator, self.current_batch)
        self.current_epoch += 1
        return False

    # -- writing ----------------------------------------------------------------------------------------------------

    def _path(self, name: str, kind: str) -> str:
        return os.path.join(self.model_dir, f"{name}.{kind}")

    def _numbers(self, estimator: Any) -> tuple[int, int]:
        """Return the epoch and batch of a checkpoint's name, counted from 0 over all runs that were resumed."""
        if not self.resume_from_checkpoint:
            return self.current_epoch, self.current_batch
        # As MXNet counts: at the end of an epoch the name has the batch that comes next, unless batches are counted.
        batch = self.current_batch + self.trained_batch + (0 if estimator.max_epoch else 1)
        return self.current_epoch + self.trained_epoch + 1, batch

    def _save(self, estimator: Any, trained: int) -> None:
        name = "{}-epoch{}batch{}".format(self.model_prefix, *self._numbers(estimator))
        self._log(estimator, f"trained total {trained} batches, saving model at {self.model_dir} with prefix: {name}")
        self._save_params_and_trainer(estimator, name)
        if name in self.saved_checkpoints:
            self.saved_checkpoints.remove(name)
        self.saved_checkpoints.append(name)
        while len(self.saved_checkpoints) > self.max_checkpoints:
            self._remove(self.saved_checkpoints.pop(0))
        if self.save_best:
            self._save_best(estimator)

    def _save_best(self, estimator: Any) -> None:
        assert self.monitor is not None
        name, value = self.monitor.get()
        if numpy.isnan(value):
            raise ArgumentValueError(
                f"CheckpointHandler: {name} has no value, so there is no best model. If it is a metric of validation, "
                "give fit() the val_data; validation must come before checkpoints: its handler's priority is smaller."
            )
        if not self.monitor_op(value, self.best):
            self._log(estimator, f"{name} did not improve from {self.best:.5f}, skipping updating best model")
            return
        prefix = f"{self.model_prefix}-best"
        self._log(
            estimator,
            f"{name} improved from {self.best:.5f} to {value:.5f}, updating best model at {self.model_dir} with "
            f"prefix: {prefix}",
        )
        self.best = value
        self._save_params_and_trainer(estimator, prefix)

    def _log(self, estimator: Any, text: str) -> None:
        if self.verbose > 0:
            estimator.logger.info("[Epoch %d] CheckpointHandler: %s", self.current_epoch, text)

    def _save_params_and_trainer(self, estimator: Any, name: str) -> None:
        # The states come last: a pair is complete when they are there.
        estimator.net.save_parameters(self._path(name, "params"))
        estimator.trainer.save_states(self._path(name, "states"))

    def _save_symbol(self, estimator: Any) -> None:
        graph = getattr(estimator.net, "_cached_graph", None)
        path = os.path.join(self.model_dir, f"{self.model_prefix}-symbol.json")
        if graph:
            graph[1].save(path)
        elif self.verbose > 0:
            estimator.logger.info(
                "Model architecture (symbol file) is not saved as %s: call net.hybridize() on a HybridBlock before "
                "training to have it.",
                path,
            )

    def _remove(self, name: str) -> None:
        for kind in ("states", "params"):
            try:
                os.remove(self._path(name, kind))
            except FileNotFoundError:
                continue  # somebody else tidied up

    # -- reading ----------------------------------------------------------------------------------------------------

    def _saved(self) -> list[tuple[int, int]]:
        """Return the epochs and batches of the checkpoints in the folder, the last one first."""
        pattern = re.compile(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)\.params")
        matches = [pattern.fullmatch(name) for name in os.listdir(self.model_dir)]
        return sorted(((int(match[1]), int(match[2])) for match in matches if match), reverse=True)

    def _resume(self, estimator: Any) -> None:
        for epoch, batch in self._saved():
            name = f"{self.model_prefix}-epoch{epoch}batch{batch}"
            if not self._is_whole(estimator, name):
                continue
            if self._is_done(estimator, epoch, batch):
                trained = f"{epoch + 1} epochs" if estimator.max_epoch else f"{batch + 1} batches"
                raise ArgumentValueError(
                    f"CheckpointHandler: {self._path(name, 'params')} has been trained for {trained} already, as long "
                    "as fit() was asked for. Ask for more, or train anew with resume_from_checkpoint=False."
                )
            estimator.net.load_parameters(self._path(name, "params"), ctx=estimator.context)
            estimator.trainer.load_states(self._path(name, "states"))
            self._go_on(estimator, epoch, batch)
            return
        estimator.logger.info(
            "CheckpointHandler: No checkpoint found, training from scratch for %s", self._planned(estimator)
        )

    def _is_whole(self, estimator: Any, name: str) -> bool:
        """Tell whether both files of a checkpoint can be read: nothing is changed before that is known."""
        try:
            load(self._path(name, "params"))
            with open_to_read(self._path(name, "states")) as file:
                load_states(file.read())
        except (FileFormatError, OSError) as error:
            estimator.logger.warning(
                "CheckpointHandler: the checkpoint %s is incomplete or damaged, and passed over: %s", name, error
            )
            return False
        return True

    def _is_done(self, estimator: Any, epoch: int, batch: int) -> bool:
        if estimator.max_epoch:
            return epoch + 1 >= estimator.max_epoch
        return batch + 1 >= estimator.max_batch

    def _planned(self, estimator: Any) -> str:
        return f"{estimator.max_epoch} epochs" if estimator.max_epoch else f"{estimator.max_batch} batches"

    def _go_on(self, estimator: Any, epoch: int, batch: int) -> None:
        self.trained_epoch = epoch
        self.trained_batch = batch
        if estimator.max_epoch:
            estimator.max_epoch -= epoch + 1
        else:
            estimator.max_batch -= batch + 1
        planned = self._planned(estimator)
        text = f"Checkpoint resumed from epoch {epoch} batch {batch}, continue to train for {planned} "
        estimator.logger.info("CheckpointHandler: %s", text)
