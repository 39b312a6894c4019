"""Layers of `gluon.contrib`."""

from minpy.gluon.contrib.nn import basic_layers
from minpy.gluon.contrib.nn.basic_layers import *
from minpy.namespaces import module_functions

__all__ = ["basic_layers"]
__all__ += basic_layers.__all__
__dir__, __getattr__ = module_functions(__name__, __all__)
