"""Gluon: blocks, parameters, layers, losses, trainers."""

from minpy.gluon import contrib, data, loss, metric, model_zoo, nn, rnn, trainer, utils
from minpy.gluon.block import Block, HybridBlock, SymbolBlock
from minpy.gluon.parameter import Constant, DeferredInitializationError, Parameter, ParameterDict, tensor_types
from minpy.gluon.trainer import Trainer
from minpy.namespaces import module_functions

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
__dir__, __getattr__ = module_functions(__name__, __all__)
