"""Layers and cells of `gluon.contrib`."""

from minpy.gluon.contrib import cnn, data, estimator, nn, rnn
from minpy.namespaces import module_functions

__all__ = ["cnn", "data", "estimator", "nn", "rnn"]
__dir__, __getattr__ = module_functions(__name__, __all__)
