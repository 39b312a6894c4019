"""What an estimator does with one batch: the part of a training loop that programs replace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy import autograd
from minpy.context import Context
from minpy.core.errors import ArgumentValueError, describe
from minpy.gluon.splitting import split_and_load
from minpy.namespaces import listing

__all__ = ["BatchProcessor"]
__dir__ = listing(__all__)


class BatchProcessor:
    """What is done with a batch: predictions and losses on each device, and for training the gradients.

    Networks with several inputs or losses take a class derived from it, given to `Estimator` as `batch_processor`.

    Examples
    --------
    >>> from minpy.gluon.contrib.estimator import BatchProcessor
    >>> class Pairs(BatchProcessor):
    ...     'Two inputs a batch.'
    ...     def fit_batch(self, estimator, train_batch, batch_axis=0):
    ...         from minpy import autograd
    ...         first, second, label = train_batch
    ...         with autograd.record():
    ...             pred = estimator.net(first, second)
    ...             loss = estimator.loss(pred, label)
    ...         loss.backward()
    ...         return [first], [label], [pred], [loss]
    """

    def _get_data_and_label(
        self, batch: Any, ctx: Sequence[Context], batch_axis: int = 0
    ) -> tuple[list[Any], list[Any]]:
        """Return the data and the label of a batch, each as a list with one part a device."""
        if not isinstance(batch, (list, tuple)) or len(batch) < 2:
            raise ArgumentValueError(
                f"Estimator: a batch must hold data and a label, got {describe(batch)}. Let the dataset give pairs, or "
                "give Estimator a batch_processor of your own."
            )
        data, label = (split_and_load(part, ctx, batch_axis) for part in batch[:2])
        return data, label

    def evaluate_batch(
        self, estimator: Any, val_batch: Any, batch_axis: int = 0
    ) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """Return the data, labels, predictions and losses of a batch, in prediction mode.

        Parameters
        ----------
        estimator : Estimator
            Its `val_net` predicts, its `val_loss` judges.
        val_batch : list of NDArray
            Data and label.
        batch_axis : int

        Returns
        -------
        tuple of four lists of NDArray
            One entry a device.
        """
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(part) for part in data]
        loss = [estimator.val_loss(*pair) for pair in zip(pred, label, strict=True)]
        return data, label, pred, loss

    def fit_batch(
        self, estimator: Any, train_batch: Any, batch_axis: int = 0
    ) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """Return the data, labels, predictions and losses of a batch, and leave the gradients in the parameters.

        Parameters
        ----------
        estimator : Estimator
            Its `net` predicts, its `loss` judges.
        train_batch : list of NDArray
            Data and label.
        batch_axis : int

        Returns
        -------
        tuple of four lists of NDArray
            One entry a device.
        """
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(part) for part in data]
            loss = [estimator.loss(*pair) for pair in zip(pred, label, strict=True)]
        autograd.backward(loss)
        return data, label, pred, loss
