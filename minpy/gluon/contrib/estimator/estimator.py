"""`Estimator`: a network, a loss and a trainer, fitted to data by a loop that handlers take part in."""

from __future__ import annotations

import copy
import logging
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from minpy.context import Context, cpu, current_context, gpu, num_gpus
from minpy.core.errors import AbsentContextError, ArgumentValueError, describe
from minpy.gluon import loss as gluon_loss
from minpy.gluon.block import Block
from minpy.gluon.contrib.estimator.batch_processor import BatchProcessor
from minpy.gluon.contrib.estimator.events import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    EventHandler,
    TrainBegin,
    TrainEnd,
)
from minpy.gluon.contrib.estimator.logging_handler import LoggingHandler, ProgressBarHandler
from minpy.gluon.contrib.estimator.stopping import StoppingHandler
from minpy.gluon.contrib.estimator.training_handlers import GradientUpdateHandler, MetricHandler, ValidationHandler
from minpy.gluon.contrib.estimator.utils import (
    _check_handler_metric_ref,
    _check_metrics,
    _name_for,
    _suggest_metric_for_loss,
)
from minpy.gluon.data import DataLoader
from minpy.gluon.splitting import split_and_load
from minpy.gluon.trainer import Trainer
from minpy.initializer import Uniform
from minpy.metric import EvalMetric
from minpy.metric import Loss as metric_loss
from minpy.namespaces import module_functions

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "BatchProcessor",
    "DataLoader",
    "EpochBegin",
    "EpochEnd",
    "Estimator",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "Trainer",
    "ValidationHandler",
    "gluon_loss",
    "metric_loss",
    "num_gpus",
    "split_and_load",
]
__dir__, __getattr__ = module_functions(__name__, __all__)


class Estimator:
    """A network that is trained and evaluated with a loop that handlers of events take part in.

    Parameters
    ----------
    net : gluon.Block
        It is initialized here, unless it is already.
    loss : gluon.loss.Loss
    train_metrics, val_metrics : EvalMetric, or list of EvalMetric, optional
        By default accuracy, for the loss of classes, and the loss; those of validation are copies of those of training.
        Their names begin with "training" and "validation".
    initializer : Initializer, optional
        For a network that is not initialized; `Uniform` by default.
    trainer : gluon.Trainer, optional
        By default SGD with a learning rate of 0.001.
    context : Context, or list of Context, optional
        Batches are divided among several.
    val_net : gluon.Block, optional
        What is evaluated; `net` by default. It should share its parameters.
    val_loss : gluon.loss.Loss, optional
        `loss` by default.
    batch_processor : BatchProcessor, optional
        What is done with one batch.

    Attributes
    ----------
    logger : logging.Logger
        Writes to standard output; of this estimator alone.
    max_epoch, max_batch : int or None
        How long `fit` trains.

    Raises
    ------
    ArgumentValueError
        If one of these is something else.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy import gluon
    >>> from minpy.gluon.contrib.estimator import Estimator
    >>> mx.random.seed(0)
    >>> net = gluon.nn.Dense(1)
    >>> net.initialize()
    >>> x = mx.nd.array([[0], [1], [2], [3]])
    >>> loader = gluon.data.DataLoader(gluon.data.ArrayDataset(x, 2 * x + 1), batch_size=2)
    >>> trainer = gluon.Trainer(net.collect_params(), 'adam', {'learning_rate': 0.3})
    >>> estimator = Estimator(net, gluon.loss.L2Loss(), trainer=trainer)
    >>> estimator.logger.setLevel('WARNING')
    >>> estimator.fit(loader, epochs=100)
    >>> bool(estimator.train_metrics[0].get()[1] < 0.01)
    True
    """

    logger: Any = None

    def __init__(
        self,
        net: Block,
        loss: gluon_loss.Loss,
        train_metrics: Any = None,
        val_metrics: Any = None,
        initializer: Any = None,
        trainer: Trainer | None = None,
        context: Context | Sequence[Context] | None = None,
        val_net: Block | None = None,
        val_loss: gluon_loss.Loss | None = None,
        batch_processor: Any = None,
    ) -> None:
        if not isinstance(net, Block):
            raise ArgumentValueError(f"Estimator: net must be a gluon.Block, got {describe(net)}.")
        self.net = net
        self.loss = self._check_loss(loss)
        self.val_loss = self.loss if val_loss is None else self._check_loss(val_loss)
        self.val_net = net if val_net is None else val_net
        self._train_metrics = [] if train_metrics is None else _check_metrics(train_metrics)
        self._val_metrics = [] if val_metrics is None else _check_metrics(val_metrics)
        self._add_default_training_metrics()
        self._add_validation_metrics()
        self.context = self._check_context(context)
        self.batch_processor = self._check_batch_processor(batch_processor)
        self._initialize(initializer)
        self.trainer = self._check_trainer(trainer)
        self.max_epoch: int | None = None
        self.max_batch: int | None = None
        self.batch_axis = 0
        self.batches_per_epoch: int | None = None
        self.logger = logging.Logger("Estimator", logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))

    # -- what it is made of ------------------------------------------------------------------------------------------

    def _check_loss(self, loss: Any) -> gluon_loss.Loss:
        if not isinstance(loss, gluon_loss.Loss):
            raise ArgumentValueError(
                f"Estimator: loss must be a gluon.loss.Loss, got {describe(loss)}. Losses of one's own derive from it."
            )
        return loss

    def _check_context(self, context: Any) -> list[Context]:
        if context is None:
            devices = num_gpus()
            return [gpu(index) for index in range(devices)] if devices else [_here()]
        contexts = list(context) if isinstance(context, (list, tuple)) else [context]
        if not contexts or not all(isinstance(device, Context) for device in contexts):
            raise ArgumentValueError(
                f"Estimator: context must be a Context or a list of them, got {describe(context)}, such as mx.cpu() or "
                "[mx.cpu(0), mx.cpu(1)]."
            )
        absent = [device for device in contexts if device.device_type == "gpu" and device.device_id >= num_gpus()]
        if absent:
            raise AbsentContextError(
                f"Estimator: {', '.join(map(str, absent))} cannot be trained on: mx.num_gpus() is {num_gpus()}. Leave "
                "context out, or pass mx.cpu(), or choose with `mx.gpu() if mx.num_gpus() else mx.cpu()`."
            )
        return contexts

    def _check_batch_processor(self, batch_processor: Any) -> Any:
        if batch_processor is None:
            return BatchProcessor()
        lacking = [
            name for name in ("fit_batch", "evaluate_batch") if not callable(getattr(batch_processor, name, None))
        ]
        if lacking:
            raise ArgumentValueError(
                f"Estimator: batch_processor must have the methods fit_batch and evaluate_batch; "
                f"{describe(batch_processor)} lacks {' and '.join(lacking)}. Derive it from BatchProcessor."
            )
        return batch_processor

    def _is_initialized(self) -> bool:
        """Tell whether the parameters have values, or wait for nothing but their shapes."""
        return all(
            bool(parameter._data) or bool(parameter._deferred_init) for parameter in self.net.collect_params().values()
        )

    def _initialize(self, initializer: Any) -> None:
        if not self._is_initialized():
            self.net.initialize(init=Uniform() if initializer is None else initializer, ctx=self.context)
        elif initializer is not None:
            warnings.warn(
                "Estimator: the network is initialized already, and the initializer is not used. "
                "net.initialize(init=..., force_reinit=True) initializes it again.",
                UserWarning,
                stacklevel=3,
            )

    def _check_trainer(self, trainer: Any) -> Trainer:
        if trainer is None:
            warnings.warn(
                "No trainer specified, default SGD optimizer with learning rate 0.001 is used.",
                UserWarning,
                stacklevel=3,
            )
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ArgumentValueError(
                f"Estimator: trainer must be a gluon.Trainer, got {describe(trainer)}. Make one: "
                "gluon.Trainer(net.collect_params(), 'sgd', {'learning_rate': 0.1})."
            )
        return trainer

    def _add_default_training_metrics(self) -> None:
        if not self._train_metrics:
            suggested = _suggest_metric_for_loss(self.loss)
            self._train_metrics = [] if suggested is None else [suggested]
            self._train_metrics.append(metric_loss("".join(sign for sign in self.loss.name if not sign.isdigit())))
        _name_for("training", self._train_metrics)

    def _add_validation_metrics(self) -> None:
        if not self._val_metrics:
            self._val_metrics = [copy.deepcopy(metric) for metric in self._train_metrics]
            for metric in self._val_metrics:
                metric.name = metric.name.removeprefix("training ")
        _name_for("validation", self._val_metrics)

    @property
    def train_metrics(self) -> list[EvalMetric]:
        """The metrics of training: list of EvalMetric."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[EvalMetric]:
        """The metrics of validation: list of EvalMetric."""
        return self._val_metrics

    # -- loops -------------------------------------------------------------------------------------------------------

    def evaluate(self, val_data: Any, batch_axis: int = 0, event_handlers: Any = None) -> None:
        """Update the metrics of validation with all batches of a loader.

        Parameters
        ----------
        val_data : gluon.data.DataLoader
            Gives batches of data and labels.
        batch_axis : int
        event_handlers : EventHandler, or list of EventHandler, optional
            Called at epochs and batches. Handlers of metrics and logs are added if none are among them.

        Raises
        ------
        ArgumentValueError
            If the data are no DataLoader, or a handler is none.
        """
        self._check_data("val_data", val_data)
        self.batch_axis = batch_axis
        handlers = self._prepare_default_validation_handlers(event_handlers)
        self._notify(handlers, "epoch_begin")
        for batch in val_data:
            self._notify(handlers, "batch_begin", batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            self._notify(handlers, "batch_end", batch=batch, pred=pred, label=label, loss=loss)
        self._notify(handlers, "epoch_end")

    def fit(
        self,
        train_data: Any,
        val_data: Any = None,
        epochs: int | None = None,
        event_handlers: Any = None,
        batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:
        """Train for a number of epochs or batches.

        Parameters
        ----------
        train_data : gluon.data.DataLoader
            Gives batches of data and labels.
        val_data : gluon.data.DataLoader, optional
            What the network is evaluated on after each epoch.
        epochs, batches : int
            How long; one of the two.
        event_handlers : EventHandler, or list of EventHandler, optional
            What is called besides. `StoppingHandler`, `GradientUpdateHandler`, `MetricHandler`, `ValidationHandler` and
            `LoggingHandler` are added where none of the kind is among them.
        batch_axis : int

        Raises
        ------
        ArgumentValueError
            If the data are no DataLoader or have no batches, if not one of epochs and batches is given, or a handler
            is none, or refers to a metric that is not this estimator's.
        """
        self._check_data("train_data", train_data)
        if val_data is not None:
            self._check_data("val_data", val_data)
        if bool(epochs) == bool(batches):
            raise ArgumentValueError(
                f"Estimator.fit: one of epochs and batches says how long to train, got epochs={epochs!r} and "
                f"batches={batches!r}. Give one, as a positive number."
            )
        self.max_epoch, self.max_batch, self.batch_axis = epochs, batches, batch_axis
        self.batches_per_epoch = len(train_data)
        handlers = self._prepare_default_handlers(val_data, event_handlers)
        self._notify(handlers, "train_begin")
        stop = False
        while not stop:
            self._notify(handlers, "epoch_begin")
            is_empty = True
            for batch in train_data:
                is_empty = False
                self._notify(handlers, "batch_begin", batch=batch)
                _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
                if self._notify(handlers, "batch_end", batch=batch, pred=pred, label=label, loss=loss):
                    break
            if is_empty:
                raise ArgumentValueError("Estimator.fit: train_data has no batches. Does the dataset have any items?")
            stop = self._notify(handlers, "epoch_end")
        self._notify(handlers, "train_end")

    def _check_data(self, name: str, data: Any) -> None:
        if not isinstance(data, DataLoader):
            raise ArgumentValueError(
                f"Estimator: {name} must be a gluon.data.DataLoader, got {describe(data)}. Make one: "
                "gluon.data.DataLoader(gluon.data.ArrayDataset(data, label), batch_size=...)."
            )

    # -- handlers ----------------------------------------------------------------------------------------------------

    def _check_handlers(self, event_handlers: Any) -> list[Any]:
        if event_handlers is None:
            return []
        handlers = list(event_handlers) if isinstance(event_handlers, (list, tuple)) else [event_handlers]
        for handler in handlers:
            if not isinstance(handler, EventHandler):
                raise ArgumentValueError(
                    f"Estimator: event_handlers must be an EventHandler or a list of them, got {describe(handler)}. "
                    "Handlers derive from TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin or BatchEnd."
                )
            _check_handler_metric_ref(handler, [*self._train_metrics, *self._val_metrics])
        return handlers

    def _with_defaults(
        self, handlers: list[Any], metrics: list[EvalMetric], defaults: list[tuple[type, Callable[[], Any]]]
    ) -> list[Any]:
        handlers += [make() for kind, make in defaults if not any(isinstance(handler, kind) for handler in handlers)]
        for handler in handlers:
            if isinstance(handler, (LoggingHandler, ProgressBarHandler)) and not handler.metrics:
                handler.metrics = list(metrics)
        return sorted(handlers, key=lambda handler: getattr(handler, "priority", 0))

    def _prepare_default_handlers(self, val_data: Any, event_handlers: Any) -> list[Any]:
        """Return the handlers of training, in the order in which they are called."""
        defaults: list[tuple[type, Callable[[], Any]]] = [
            (StoppingHandler, lambda: StoppingHandler(self.max_epoch, self.max_batch)),
            (GradientUpdateHandler, GradientUpdateHandler),
            (MetricHandler, lambda: MetricHandler(self._train_metrics)),
            (LoggingHandler, lambda: LoggingHandler(metrics=self._train_metrics)),
        ]
        if val_data is not None:
            defaults.insert(3, (ValidationHandler, lambda: ValidationHandler(val_data, self.evaluate)))
        return self._with_defaults(self._check_handlers(event_handlers), self._train_metrics, defaults)

    def _prepare_default_validation_handlers(self, event_handlers: Any) -> list[Any]:
        """Return the handlers of an evaluation, in the order in which they are called."""
        defaults: list[tuple[type, Callable[[], Any]]] = [
            (MetricHandler, lambda: MetricHandler(self._val_metrics)),
            (LoggingHandler, lambda: LoggingHandler(metrics=self._val_metrics)),
        ]
        return self._with_defaults(self._check_handlers(event_handlers), self._val_metrics, defaults)

    def _notify(self, handlers: Sequence[Any], event: str, **kwargs: Any) -> bool:
        """Call the handlers of an event, all of them; tell whether one asks to stop."""
        kind = _EVENTS[event]
        stops = [getattr(handler, event)(self, **kwargs) for handler in handlers if isinstance(handler, kind)]
        return any(stops)


_EVENTS = {
    "train_begin": TrainBegin,
    "epoch_begin": EpochBegin,
    "batch_begin": BatchBegin,
    "batch_end": BatchEnd,
    "epoch_end": EpochEnd,
    "train_end": TrainEnd,
}


def _here() -> Context:
    return current_context() if current_context().device_type == "cpu" else cpu()
