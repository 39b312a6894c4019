"""Deformable convolutions: `gluon.contrib.cnn`."""

from minpy.gluon.contrib.cnn import conv_layers
from minpy.gluon.nn.deformable_convolution import DeformableConvolution, ModulatedDeformableConvolution
from minpy.namespaces import module_functions

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution", "conv_layers"]
__dir__, __getattr__ = module_functions(__name__, __all__)
