"""`minpy.sym._internal`: operators on symbols, under the names that MXNet keeps to itself."""

from __future__ import annotations

from minpy.namespaces import listing, missing
from minpy.ops.registry import inner_operators as _inner_operators
from minpy.symbol.functions import FUNCTIONS as _FUNCTIONS

__all__ = [*_inner_operators()]
globals().update({name: _FUNCTIONS[name] for name in __all__})
__dir__ = listing(__all__)
__getattr__ = missing("minpy.sym._internal", "operator", __all__)
