"""The basic layers under the module's name that MXNet has."""

from minpy.gluon.block import Block, HybridBlock
from minpy.gluon.nn import concatenation, containers, functions, normalization
from minpy.gluon.nn.activations import Activation
from minpy.gluon.nn.concatenation import *
from minpy.gluon.nn.containers import *
from minpy.gluon.nn.dense import Dense
from minpy.gluon.nn.dropout import Dropout
from minpy.gluon.nn.embedding import Embedding
from minpy.gluon.nn.functions import *
from minpy.gluon.nn.normalization import *
from minpy.gluon.nn.normalization import _BatchNorm as _BatchNorm
from minpy.namespaces import module_functions

__all__ = ["Activation", "Block", "Dense", "Dropout", "Embedding", "HybridBlock"]
__all__ += concatenation.__all__
__all__ += containers.__all__
__all__ += functions.__all__
__all__ += normalization.__all__
__dir__, __getattr__ = module_functions(__name__, __all__)
