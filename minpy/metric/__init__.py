"""`mx.metric`: how good predictions are, summed up over batches.

`base` has what all share; `classification`, `confusion`, `likelihood`, `regression` and `averages` the metrics;
`collected` several at once, and `create`, which makes them by name. Those of MXNet 2 are in `minpy.gluon.metric`.
"""

import numpy as numpy  # a name of MXNet's module, which is not listed; programs import these three from here

from minpy import ndarray as ndarray
from minpy import registry as registry
from minpy.metric.averages import Caffe, CustomMetric, Loss, Torch, np
from minpy.metric.classification import Accuracy, TopKAccuracy
from minpy.metric.collected import CompositeEvalMetric, create
from minpy.metric.confusion import F1, MCC, PCC
from minpy.metric.eval_metric import EvalMetric, alias, check_label_shapes, register
from minpy.metric.likelihood import CrossEntropy, NegativeLogLikelihood, Perplexity
from minpy.metric.regression import MAE, MSE, RMSE, PearsonCorrelation
from minpy.namespaces import listing

__all__ = [
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "PCC",
    "RMSE",
    "Accuracy",
    "Caffe",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Loss",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "TopKAccuracy",
    "Torch",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]
__dir__ = listing(__all__)
