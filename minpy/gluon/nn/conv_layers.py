"""`gluon.nn.conv_layers`: where programs import layers of windows from."""

from minpy.gluon.block import HybridBlock
from minpy.gluon.nn import convolution, global_pooling, padding, pooling, transposed_convolution
from minpy.gluon.nn.activations import Activation
from minpy.gluon.nn.convolution import *
from minpy.gluon.nn.convolution import _Conv as _Conv
from minpy.gluon.nn.global_pooling import *
from minpy.gluon.nn.padding import *
from minpy.gluon.nn.pooling import *
from minpy.gluon.nn.pooling import _Pooling as _Pooling
from minpy.gluon.nn.transposed_convolution import *
from minpy.namespaces import module_functions

__all__ = ["Activation", "HybridBlock"]
__all__ += convolution.__all__
__all__ += global_pooling.__all__
__all__ += padding.__all__
__all__ += pooling.__all__
__all__ += transposed_convolution.__all__
__dir__, __getattr__ = module_functions(__name__, __all__)
