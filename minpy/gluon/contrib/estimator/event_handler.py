"""The handlers of `Estimator`, by the module name that programs import them from."""

from minpy.gluon.contrib.estimator.checkpoints import CheckpointHandler
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
from minpy.gluon.contrib.estimator.stopping import EarlyStoppingHandler, StoppingHandler
from minpy.gluon.contrib.estimator.updating import GradientUpdateHandler, MetricHandler, ValidationHandler
from minpy.metric import CompositeEvalMetric, EvalMetric
from minpy.metric import Loss as metric_loss
from minpy.namespaces import listing, missing

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "CheckpointHandler",
    "CompositeEvalMetric",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "EvalMetric",
    "EventHandler",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "ProgressBarHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
    "metric_loss",
]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.contrib.estimator.event_handler", "name", __all__)
