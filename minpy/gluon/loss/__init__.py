"""Losses: `gluon.loss`. Blocks of predictions and labels, which give a number for each sample of the batch."""

from minpy.gluon.block import HybridBlock as HybridBlock
from minpy.gluon.loss.base import Loss
from minpy.gluon.loss.base import _apply_weighting as _apply_weighting
from minpy.gluon.loss.base import _reshape_like as _reshape_like
from minpy.gluon.loss.classification import (
    HingeLoss,
    KLDivLoss,
    LogisticLoss,
    SigmoidBCELoss,
    SigmoidBinaryCrossEntropyLoss,
    SoftmaxCELoss,
    SoftmaxCrossEntropyLoss,
    SquaredHingeLoss,
)
from minpy.gluon.loss.regression import HuberLoss, L1Loss, L2Loss, PoissonNLLLoss
from minpy.gluon.loss.sequence import CTCLoss
from minpy.gluon.loss.similarity import CosineEmbeddingLoss, SDMLLoss, TripletLoss
from minpy.namespaces import listing, missing

__all__ = [
    "CTCLoss",
    "CosineEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LogisticLoss",
    "Loss",
    "PoissonNLLLoss",
    "SDMLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
    "TripletLoss",
]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.loss", "name", __all__)
