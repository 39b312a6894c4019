"""The iterators of `mx.io`, under the name of MXNet's module."""

from __future__ import annotations

from minpy.io.base import DataIter
from minpy.io.batches import DataBatch, DataDesc
from minpy.io.ndarray_iter import NDArrayIter
from minpy.namespaces import listing, missing

__all__ = ["DataBatch", "DataDesc", "DataIter", "NDArrayIter"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.io.io", "name", __all__)
