"""`gluon.metric`: the metrics of MXNet 2, beside which those of `mx.metric` stay as MXNet 1 has them.

What differs: values are of all examples together, not means over batches; `F1`, `Fbeta` and `MCC` take a threshold,
several classes, and several labels; `CrossEntropy` and `Perplexity` take logits, and labels to ignore.
"""

from minpy.gluon.metric.collected import CompositeEvalMetric, create
from minpy.gluon.metric.counts import F1, MCC, BinaryAccuracy, Fbeta, TopKAccuracy
from minpy.gluon.metric.distances import (
    MAE,
    MSE,
    RMSE,
    MeanCosineSimilarity,
    MeanPairwiseDistance,
    PearsonCorrelation,
)
from minpy.gluon.metric.likelihood import CrossEntropy, Perplexity
from minpy.metric import PCC, Accuracy, CustomMetric, EvalMetric, Loss, Torch, alias, check_label_shapes, np, register
from minpy.namespaces import listing

__all__ = [
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "PCC",
    "RMSE",
    "Accuracy",
    "BinaryAccuracy",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Fbeta",
    "Loss",
    "MeanCosineSimilarity",
    "MeanPairwiseDistance",
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
