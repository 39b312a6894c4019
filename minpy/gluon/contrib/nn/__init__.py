"""Layers of `gluon.contrib`."""

from minpy.gluon.contrib.nn import basic_layers
from minpy.gluon.contrib.nn.concurrent import Concurrent, HybridConcurrent
from minpy.gluon.contrib.nn.sparse_embedding import SparseEmbedding
from minpy.gluon.nn.functions import Identity
from minpy.gluon.nn.normalization import SyncBatchNorm
from minpy.gluon.nn.pixel_shuffle import PixelShuffle1D, PixelShuffle2D, PixelShuffle3D
from minpy.namespaces import listing, missing

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SparseEmbedding",
    "SyncBatchNorm",
    "basic_layers",
]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.contrib.nn", "name", __all__)
