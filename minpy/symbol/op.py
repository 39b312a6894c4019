"""`minpy.sym.op`: the operators of `minpy.sym`, without its other functions and classes."""

from __future__ import annotations

from minpy.namespaces import listing, missing
from minpy.symbol.functions import FUNCTIONS as _FUNCTIONS

__all__ = [name for name in _FUNCTIONS if not name.startswith("_")]
globals().update({name: _FUNCTIONS[name] for name in __all__})
__dir__ = listing(__all__)
__getattr__ = missing("minpy.sym.op", "operator", __all__)
