"""`mx.gluon.contrib.estimator`: a loop of training, and what it calls."""

from minpy.gluon.contrib.estimator import batch_processor, estimator, event_handler, utils
from minpy.gluon.contrib.estimator.batch_processor import BatchProcessor
from minpy.gluon.contrib.estimator.checkpoints import CheckpointHandler
from minpy.gluon.contrib.estimator.estimator import Estimator
from minpy.gluon.contrib.estimator.events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, TrainBegin, TrainEnd
from minpy.gluon.contrib.estimator.logging_handler import LoggingHandler, ProgressBarHandler
from minpy.gluon.contrib.estimator.stopping import EarlyStoppingHandler, StoppingHandler
from minpy.gluon.contrib.estimator.training_handlers import GradientUpdateHandler, MetricHandler, ValidationHandler
from minpy.namespaces import module_functions

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "BatchProcessor",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "Estimator",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "ProgressBarHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
    "batch_processor",
    "estimator",
    "event_handler",
    "utils",
]
__dir__, __getattr__ = module_functions(__name__, __all__)
