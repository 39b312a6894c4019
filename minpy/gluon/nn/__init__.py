"""Layers: `gluon.nn`."""

from minpy.gluon.block import Block, HybridBlock, SymbolBlock
from minpy.gluon.nn import activations, basic_layers
from minpy.gluon.nn.activations import ELU, GELU, SELU, Activation, LeakyReLU, PReLU, SiLU, Swish
from minpy.gluon.nn.concatenation import Concatenate, HybridConcatenate
from minpy.gluon.nn.containers import HybridSequential, Sequential
from minpy.gluon.nn.dense import Dense
from minpy.gluon.nn.dropout import Dropout
from minpy.gluon.nn.embedding import Embedding
from minpy.gluon.nn.functions import Flatten, HybridLambda, Identity, Lambda
from minpy.gluon.nn.normalization import (
    BatchNorm,
    BatchNormReLU,
    GroupNorm,
    InstanceNorm,
    LayerNorm,
    SyncBatchNorm,
)
from minpy.namespaces import listing, missing

__all__ = [
    "ELU",
    "GELU",
    "SELU",
    "Activation",
    "BatchNorm",
    "BatchNormReLU",
    "Block",
    "Concatenate",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "HybridBlock",
    "HybridConcatenate",
    "HybridLambda",
    "HybridSequential",
    "Identity",
    "InstanceNorm",
    "Lambda",
    "LayerNorm",
    "LeakyReLU",
    "PReLU",
    "Sequential",
    "SiLU",
    "Swish",
    "SymbolBlock",
    "SyncBatchNorm",
    "activations",
    "basic_layers",
]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.nn", "name", __all__)
