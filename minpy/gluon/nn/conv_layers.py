"""`gluon.nn.conv_layers`: where programs import layers of windows from."""

from minpy.gluon.block import HybridBlock
from minpy.gluon.nn.activations import Activation
from minpy.gluon.nn.convolution import Conv1D, Conv2D, Conv3D
from minpy.gluon.nn.convolution import _Conv as _Conv
from minpy.gluon.nn.global_pooling import (
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
)
from minpy.gluon.nn.padding import ReflectionPad2D
from minpy.gluon.nn.pooling import AvgPool1D, AvgPool2D, AvgPool3D, MaxPool1D, MaxPool2D, MaxPool3D
from minpy.gluon.nn.pooling import _Pooling as _Pooling
from minpy.gluon.nn.transposed_convolution import Conv1DTranspose, Conv2DTranspose, Conv3DTranspose
from minpy.namespaces import listing, missing

__all__ = [
    "Activation",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "HybridBlock",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "ReflectionPad2D",
]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.nn.conv_layers", "name", __all__)
