"""The handlers of `Estimator`, by the module name that programs import them from."""

from minpy.gluon.contrib.estimator import events, logging_handler, stopping, training_handlers
from minpy.gluon.contrib.estimator.checkpoints import CheckpointHandler
from minpy.gluon.contrib.estimator.events import *
from minpy.gluon.contrib.estimator.logging_handler import *
from minpy.gluon.contrib.estimator.stopping import *
from minpy.gluon.contrib.estimator.training_handlers import *
from minpy.metric import CompositeEvalMetric, EvalMetric
from minpy.metric import Loss as metric_loss
from minpy.namespaces import module_functions

__all__ = ["CheckpointHandler", "CompositeEvalMetric", "EvalMetric", "metric_loss"]
__all__ += events.__all__
__all__ += logging_handler.__all__
__all__ += stopping.__all__
__all__ += training_handlers.__all__
__dir__, __getattr__ = module_functions(__name__, __all__)
