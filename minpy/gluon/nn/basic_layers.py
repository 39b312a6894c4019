"""The basic layers under the module's name that MXNet has."""

from minpy.gluon.block import Block, HybridBlock
from minpy.gluon.nn.activations import Activation
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
from minpy.gluon.nn.normalization import _BatchNorm as _BatchNorm
from minpy.namespaces import listing, missing

__all__ = [
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
    "Sequential",
    "SyncBatchNorm",
]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.nn.basic_layers", "name", __all__)
