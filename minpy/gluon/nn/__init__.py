"""Layers: `gluon.nn`."""

from minpy.gluon.block import Block, HybridBlock, SymbolBlock
from minpy.gluon.nn import (
    activations,
    basic_layers,
    concatenation,
    containers,
    conv_layers,
    convolution,
    deformable_convolution,
    functions,
    global_pooling,
    normalization,
    pixel_shuffle,
    pooling,
    transposed_convolution,
)
from minpy.gluon.nn.activations import *
from minpy.gluon.nn.concatenation import *
from minpy.gluon.nn.containers import *
from minpy.gluon.nn.convolution import *
from minpy.gluon.nn.deformable_convolution import *
from minpy.gluon.nn.dense import Dense
from minpy.gluon.nn.dropout import Dropout
from minpy.gluon.nn.embedding import Embedding
from minpy.gluon.nn.functions import *
from minpy.gluon.nn.global_pooling import *
from minpy.gluon.nn.normalization import *
from minpy.gluon.nn.padding import ReflectionPad2D
from minpy.gluon.nn.pixel_shuffle import *
from minpy.gluon.nn.pooling import *
from minpy.gluon.nn.transposed_convolution import *
from minpy.namespaces import module_functions

__all__ = ["Block", "Dense", "Dropout", "Embedding", "HybridBlock", "ReflectionPad2D", "SymbolBlock"]
__all__ += ["activations", "basic_layers", "conv_layers"]
__all__ += activations.__all__
__all__ += concatenation.__all__
__all__ += containers.__all__
__all__ += convolution.__all__
__all__ += deformable_convolution.__all__
__all__ += functions.__all__
__all__ += global_pooling.__all__
__all__ += normalization.__all__
__all__ += pixel_shuffle.__all__
__all__ += pooling.__all__
__all__ += transposed_convolution.__all__
__dir__, __getattr__ = module_functions(__name__, __all__)
