"""`minpy.nd.op`: the operators of `minpy.nd`, without its functions and classes."""

from __future__ import annotations

from minpy.namespaces import listing, missing
from minpy.ops.registry import OPERATORS as _OPERATORS

__all__ = [name for name in _OPERATORS if not name.startswith("_")]
globals().update({name: _OPERATORS[name] for name in __all__})
__dir__ = listing(__all__)
__getattr__ = missing("minpy.nd.op", "operator", __all__)
