"""`PandasLogger`: the course of training as tables of pandas (the extra `notebook`)."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping
from typing import Any

from minpy.core.errors import MissingDependencyError

__all__ = ["PandasLogger", "metrics_of"]


def metrics_of(param: Any) -> dict[str, Any]:
    """Return the metrics of a batch's end by name, and let them begin anew."""
    if param.eval_metric is None:
        return {}
    metrics = dict(param.eval_metric.get_name_value())
    param.eval_metric.reset()
    return metrics


class PandasLogger:
    """Notes metrics and speed while a module is trained, in data frames of pandas.

    Give what `callback_args()` returns to `Module.fit`.

    Parameters
    ----------
    batch_size : int
    frequent : int
        After how many batches of training there is a row.

    Attributes
    ----------
    train_df, eval_df, epoch_df : pandas.DataFrame
        A row for each `frequent` batches of training, each evaluation, and each epoch.

    Raises
    ------
    MissingDependencyError
        If pandas is not installed.

    Examples
    --------
    >>> import minpy as mx
    >>> logger = mx.notebook.callback.PandasLogger(batch_size=32, frequent=2)
    >>> for batch in range(4):
    ...     logger.train_cb(mx.model.BatchEndParam(epoch=0, nbatch=batch, eval_metric=None, locals=None))
    >>> list(logger.train_df['minibatch_count'])
    [0, 2]
    """

    def __init__(self, batch_size: int, frequent: int = 50) -> None:
        try:
            import pandas
        except ImportError:
            raise MissingDependencyError(
                "PandasLogger needs the package pandas, which is not installed. Install it with: "
                "python -m pip install pandas."
            ) from None
        self.batch_size = batch_size
        self.frequent = frequent
        self._dataframes = {name: pandas.DataFrame() for name in ("train", "eval", "epoch")}
        self.last_time = time.time()
        self.start_time = datetime.datetime.now()
        self.last_epoch_time = datetime.datetime.now()

    @property
    def train_df(self) -> Any:
        """What was noted in training."""
        return self._dataframes["train"]

    @property
    def eval_df(self) -> Any:
        """What was noted at evaluations."""
        return self._dataframes["eval"]

    @property
    def epoch_df(self) -> Any:
        """What was noted at the ends of epochs."""
        return self._dataframes["epoch"]

    @property
    def all_dataframes(self) -> dict[str, Any]:
        """The data frames by name: 'train', 'eval', 'epoch'."""
        return self._dataframes

    def elapsed(self) -> datetime.timedelta:
        """Return how much time has passed."""
        return datetime.datetime.now() - self.start_time

    def append_metrics(self, metrics: Mapping[str, Any], df_name: str) -> None:
        """Add a row to a data frame; columns that it lacks are added, empty for the rows before."""
        frame = self._dataframes[df_name]
        for name in metrics:
            if name not in frame.columns:
                frame[name] = None
        frame.loc[len(frame)] = [metrics.get(name) for name in frame.columns]

    def train_cb(self, param: Any) -> None:
        """Note a batch of training, if it is its turn."""
        if param.nbatch % self.frequent == 0:
            self._process_batch(param, "train")

    def eval_cb(self, param: Any) -> None:
        """Note an evaluation."""
        self._process_batch(param, "eval")

    def _process_batch(self, param: Any, dataframe: str) -> None:
        now = time.time()
        metrics = metrics_of(param)
        passed = now - self.last_time
        speed = self.frequent / passed if passed else float("inf")
        metrics["batches_per_sec"] = speed
        metrics["records_per_sec"] = speed * self.batch_size
        metrics["elapsed"] = self.elapsed()
        metrics["minibatch_count"] = param.nbatch
        metrics["epoch"] = param.epoch
        self.append_metrics(metrics, dataframe)
        self.last_time = now

    def epoch_cb(self, *args: Any) -> None:
        """Note the end of an epoch; what modules tell their callbacks then is not needed."""
        now = datetime.datetime.now()
        self.append_metrics({"elapsed": self.elapsed(), "epoch_time": now - self.last_epoch_time}, "epoch")
        self.last_epoch_time = now

    def callback_args(self) -> dict[str, Callable[..., None]]:
        """Return the callbacks as arguments of `Module.fit`."""
        return {
            "batch_end_callback": self.train_cb,
            "eval_end_callback": self.eval_cb,
            "epoch_end_callback": self.epoch_cb,
        }
