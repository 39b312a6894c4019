"""Losses: `gluon.loss`. Blocks of predictions and labels, which give a number for each sample of the batch."""

from minpy.gluon.block import HybridBlock as HybridBlock
from minpy.gluon.loss import classification, regression, similarity
from minpy.gluon.loss.base_loss import Loss
from minpy.gluon.loss.base_loss import _apply_weighting as _apply_weighting
from minpy.gluon.loss.base_loss import _reshape_like as _reshape_like
from minpy.gluon.loss.classification import *
from minpy.gluon.loss.regression import *
from minpy.gluon.loss.sequence import CTCLoss
from minpy.gluon.loss.similarity import *
from minpy.namespaces import module_functions

__all__ = ["CTCLoss", "Loss"]
__all__ += classification.__all__
__all__ += regression.__all__
__all__ += similarity.__all__
__dir__, __getattr__ = module_functions(__name__, __all__)
