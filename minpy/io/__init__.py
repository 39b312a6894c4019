"""`mx.io`: iterators over data, batch by batch.

`batches` has what they give, `base` what each answers, `ndarray_iter` batches of arrays in memory, `wrapping` iterators
over iterators. Over files are `text_files` and `mnist`; `mxdata_iter` is their face, and `rounds` says which instances a
batch has.
"""

from __future__ import annotations

from minpy.io import io, utils
from minpy.io.io import (
    CSVIter,
    DataBatch,
    DataDesc,
    DataIter,
    LibSVMIter,
    MNISTIter,
    MXDataIter,
    NDArrayIter,
    PrefetchingIter,
    ResizeIter,
)
from minpy.namespaces import listing, missing

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "LibSVMIter",
    "MNISTIter",
    "MXDataIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
    "io",
    "utils",
]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.io", "name", __all__)
