"""Layers of `gluon.contrib`."""

from minpy.gluon.contrib.nn import basic_layers
from minpy.gluon.contrib.nn.basic_layers import *
from minpy.namespaces import listing, missing

__all__ = ["basic_layers"]
__all__ += basic_layers.__all__
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.contrib.nn", "name", __all__)
