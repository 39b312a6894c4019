"""`gluon.contrib.cnn.conv_layers`: where programs import the layers from."""

from minpy.gluon.block import HybridBlock
from minpy.gluon.nn.activations import Activation
from minpy.gluon.nn.deformable_convolution import DeformableConvolution, ModulatedDeformableConvolution
from minpy.namespaces import module_functions

__all__ = ["Activation", "DeformableConvolution", "HybridBlock", "ModulatedDeformableConvolution"]
__dir__, __getattr__ = module_functions(__name__, __all__)
