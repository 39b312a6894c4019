"""`gluon.contrib.cnn.conv_layers`: where programs import the layers from."""

from minpy.gluon.block import HybridBlock
from minpy.gluon.nn.activations import Activation
from minpy.gluon.nn.deformable_convolution import DeformableConvolution, ModulatedDeformableConvolution
from minpy.namespaces import listing, missing

__all__ = ["Activation", "DeformableConvolution", "HybridBlock", "ModulatedDeformableConvolution"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.contrib.cnn.conv_layers", "name", __all__)
