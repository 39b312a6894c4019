"""`minpy.sym.contrib`: operators that MXNet keeps apart, as on trial, as functions of symbols."""

from __future__ import annotations

from minpy.namespaces import listing, missing
from minpy.symbol.functions import functions_under as _functions_under
from minpy.symbol.zipfian import rand_zipfian

_FOUND = _functions_under("_contrib_", __name__)
globals().update(_FOUND)

__all__ = ["rand_zipfian", *_FOUND]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.sym.contrib", "operator", __all__)
