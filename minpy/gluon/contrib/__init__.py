"""Layers and cells of `gluon.contrib`."""

from minpy.gluon.contrib import cnn
from minpy.namespaces import listing, missing

__all__ = ["cnn"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.contrib", "name", __all__)
