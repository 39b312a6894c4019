"""`minpy.nd.contrib`: operators that MXNet keeps apart, as on trial, on NDArrays."""

from __future__ import annotations

from minpy.namespaces import listing, missing
from minpy.ndarray import weight_updates as _weight_updates
from minpy.ndarray.control_flow import cond, foreach, while_loop
from minpy.ndarray.finite import isfinite, isinf, isnan
from minpy.ndarray.random import uniform
from minpy.ndarray.zipfian import rand_zipfian
from minpy.ops.registry import operators_under as _operators_under

_FOUND = _operators_under("_contrib_")
_FUNCTIONS = {name: getattr(_weight_updates, name) for name in _weight_updates.__all__}
globals().update(_FOUND, **_FUNCTIONS)

__all__ = [
    "cond",
    "foreach",
    "isfinite",
    "isinf",
    "isnan",
    "rand_zipfian",
    "uniform",
    "while_loop",
    *_FOUND,
    *_FUNCTIONS,
]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.nd.contrib", "operator", __all__)
