"""The iterators of `mx.io`, under the name of MXNet's module."""

from __future__ import annotations

from minpy.io.batches import DataBatch, DataDesc
from minpy.io.data_iter import DataIter
from minpy.io.mnist import MNISTIter
from minpy.io.mxdata_iter import MXDataIter
from minpy.io.ndarray_iter import NDArrayIter
from minpy.io.picture_iterators import (
    ImageDetRecordIter,
    ImageRecordInt8Iter,
    ImageRecordIter,
    ImageRecordIter_v1,
    ImageRecordUInt8Iter,
    ImageRecordUInt8Iter_v1,
)
from minpy.io.text_files import CSVIter, LibSVMIter
from minpy.io.wrapping_iterators import PrefetchingIter, ResizeIter
from minpy.namespaces import module_functions

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "ImageDetRecordIter",
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
    "LibSVMIter",
    "MNISTIter",
    "MXDataIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
]
__dir__, __getattr__ = module_functions(__name__, __all__)
