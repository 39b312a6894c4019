"""`minpy.nd.contrib`: operators that MXNet keeps apart, as on trial, on NDArrays."""

from __future__ import annotations

from minpy.namespaces import listing, missing
from minpy.ndarray.finite import isfinite, isinf, isnan
from minpy.ndarray.zipfian import rand_zipfian
from minpy.ops.registry import operators_under as _operators_under

_FOUND = _operators_under("_contrib_")
globals().update(_FOUND)

__all__ = ["isfinite", "isinf", "isnan", "rand_zipfian", *_FOUND]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.nd.contrib", "operator", __all__)
