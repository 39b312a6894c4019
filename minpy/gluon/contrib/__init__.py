"""Layers and cells of `gluon.contrib`."""

from minpy.gluon.contrib import cnn, data, estimator, nn, rnn
from minpy.namespaces import listing, missing

__all__ = ["cnn", "data", "estimator", "nn", "rnn"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.contrib", "name", __all__)
