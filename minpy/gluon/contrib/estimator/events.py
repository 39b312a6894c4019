"""The six events of training, as classes: a handler derives from those that it handles."""

from __future__ import annotations

from typing import Any

__all__ = ["BatchBegin", "BatchEnd", "EpochBegin", "EpochEnd", "EventHandler", "TrainBegin", "TrainEnd"]


class EventHandler:
    """The base of what `Estimator.fit` calls while it trains.

    A handler derives from one or more of `TrainBegin`, `TrainEnd`, `EpochBegin`, `EpochEnd`, `BatchBegin` and
    `BatchEnd`. Handlers are called in the order of their attribute `priority`, smallest first (0 for those that have
    none), and in the order in which they were given where it is equal.
    """


class TrainBegin(EventHandler):
    """A handler that is called before the first epoch."""

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Do what is to be done before training; nothing, unless a derived class says otherwise."""


class TrainEnd(EventHandler):
    """A handler that is called after the last epoch."""

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Do what is to be done after training; nothing, unless a derived class says otherwise."""


class EpochBegin(EventHandler):
    """A handler that is called before each epoch."""

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Do what is to be done before an epoch; nothing, unless a derived class says otherwise."""


class EpochEnd(EventHandler):
    """A handler that is called after each epoch."""

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        """Do what is to be done after an epoch, and return whether training is to stop."""
        return False


class BatchBegin(EventHandler):
    """A handler that is called before each batch, with the keyword `batch`."""

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Do what is to be done before a batch; nothing, unless a derived class says otherwise."""


class BatchEnd(EventHandler):
    """A handler that is called after each batch, with the keywords `batch`, `pred`, `label` and `loss`."""

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        """Do what is to be done after a batch, and return whether the epoch is to end."""
        return False
