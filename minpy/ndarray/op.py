"""`minpy.nd.op`: the operators of `minpy.nd`, without its functions and classes."""

from __future__ import annotations

from minpy.namespaces import listing, missing
from minpy.ndarray.functions import reset_arrays
from minpy.ops.registry import OPERATORS as _OPERATORS

_FOUND = {name: made for name, made in _OPERATORS.items() if not name.startswith("_")}
globals().update(_FOUND)

__all__ = ["reset_arrays", *_FOUND]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.nd.op", "operator", __all__)
