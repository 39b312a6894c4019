"""Gluon: blocks, parameters, layers, losses, trainers."""

from minpy.gluon import contrib, data, loss, metric, model_zoo, nn, rnn, trainer, utils
from minpy.gluon.block import Block, HybridBlock, SymbolBlock
from minpy.gluon.parameter import Constant, DeferredInitializationError, Parameter, ParameterDict, tensor_types
from minpy.gluon.trainer import Trainer
from minpy.namespaces import listing, missing

__all__ = [
    "Block",
    "Constant",
    "DeferredInitializationError",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "SymbolBlock",
    "Trainer",
    "contrib",
    "data",
    "loss",
    "metric",
    "model_zoo",
    "nn",
    "rnn",
    "tensor_types",
    "trainer",
    "utils",
]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon", "name", __all__)
