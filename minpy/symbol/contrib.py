"""`minpy.sym.contrib`: operators that MXNet keeps apart, as on trial, as functions of symbols."""

from __future__ import annotations

from minpy.namespaces import listing, missing
from minpy.symbol.functions import function_of as _function_of
from minpy.symbol.functions import functions_under as _functions_under

_FOUND = _functions_under("_contrib_", __name__)
_FOUND |= {name: _function_of(f"_{name}", name, __name__) for name in ("adamw_update", "mp_adamw_update")}
globals().update(_FOUND)

__all__ = [*_FOUND]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.sym.contrib", "operator", __all__)
