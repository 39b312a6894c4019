"""Layers: `gluon.nn`."""

from minpy.gluon.block import Block, HybridBlock
from minpy.gluon.nn.activations import Activation
from minpy.gluon.nn.containers import HybridSequential, Sequential
from minpy.gluon.nn.dense import Dense
from minpy.namespaces import listing, missing

__all__ = ["Activation", "Block", "Dense", "HybridBlock", "HybridSequential", "Sequential"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.nn", "name", __all__)
