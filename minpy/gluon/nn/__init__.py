"""Layers: `gluon.nn`."""

from minpy.gluon.block import Block, HybridBlock, SymbolBlock
from minpy.gluon.nn import activations, basic_layers, conv_layers
from minpy.gluon.nn.activations import ELU, GELU, SELU, Activation, LeakyReLU, PReLU, SiLU, Swish
from minpy.gluon.nn.concatenation import Concatenate, HybridConcatenate
from minpy.gluon.nn.containers import HybridSequential, Sequential
from minpy.gluon.nn.convolution import Conv1D, Conv2D, Conv3D
from minpy.gluon.nn.deformable_convolution import DeformableConvolution, ModulatedDeformableConvolution
from minpy.gluon.nn.dense import Dense
from minpy.gluon.nn.dropout import Dropout
from minpy.gluon.nn.embedding import Embedding
from minpy.gluon.nn.functions import Flatten, HybridLambda, Identity, Lambda
from minpy.gluon.nn.global_pooling import (
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
)
from minpy.gluon.nn.normalization import BatchNorm, BatchNormReLU, GroupNorm, InstanceNorm, LayerNorm, SyncBatchNorm
from minpy.gluon.nn.padding import ReflectionPad2D
from minpy.gluon.nn.pixel_shuffle import PixelShuffle1D, PixelShuffle2D, PixelShuffle3D
from minpy.gluon.nn.pooling import AvgPool1D, AvgPool2D, AvgPool3D, MaxPool1D, MaxPool2D, MaxPool3D
from minpy.gluon.nn.transposed_convolution import Conv1DTranspose, Conv2DTranspose, Conv3DTranspose
from minpy.namespaces import listing, missing

__all__ = [
    "ELU",
    "GELU",
    "SELU",
    "Activation",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "BatchNorm",
    "BatchNormReLU",
    "Block",
    "Concatenate",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "DeformableConvolution",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
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
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "ModulatedDeformableConvolution",
    "PReLU",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "ReflectionPad2D",
    "Sequential",
    "SiLU",
    "Swish",
    "SymbolBlock",
    "SyncBatchNorm",
    "activations",
    "basic_layers",
    "conv_layers",
]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.nn", "name", __all__)
