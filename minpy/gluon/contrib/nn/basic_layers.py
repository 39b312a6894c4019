"""The layers of `gluon.contrib.nn` under the module's name that MXNet has."""

from minpy.gluon.contrib.nn.concurrent import Concurrent, HybridConcurrent
from minpy.gluon.contrib.nn.sparse_embedding import SparseEmbedding
from minpy.gluon.nn.functions import Identity
from minpy.gluon.nn.normalization import SyncBatchNorm
from minpy.gluon.nn.pixel_shuffle import PixelShuffle1D, PixelShuffle2D, PixelShuffle3D
from minpy.namespaces import module_functions

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SparseEmbedding",
    "SyncBatchNorm",
]
__dir__, __getattr__ = module_functions(__name__, __all__)
