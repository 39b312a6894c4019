"""`mx.io`: iterators over data, batch by batch.

`batches` has what they give, `base` what each answers, `ndarray_iter` batches of arrays in memory.
"""

from __future__ import annotations

from minpy.io import io, utils
from minpy.io.base import DataIter
from minpy.io.batches import DataBatch, DataDesc
from minpy.io.ndarray_iter import NDArrayIter
from minpy.namespaces import listing, missing

__all__ = ["DataBatch", "DataDesc", "DataIter", "NDArrayIter", "io", "utils"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.io", "name", __all__)
