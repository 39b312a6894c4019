"""Deformable convolutions: `gluon.contrib.cnn`."""

from minpy.gluon.contrib.cnn import conv_layers
from minpy.gluon.nn.deformable_convolution import DeformableConvolution, ModulatedDeformableConvolution
from minpy.namespaces import listing, missing

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution", "conv_layers"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.contrib.cnn", "name", __all__)
