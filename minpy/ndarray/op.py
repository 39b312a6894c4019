"""`minpy.nd.op`: the operators of `minpy.nd`, without its functions and classes."""

from __future__ import annotations

from minpy.late import late_names
from minpy.namespaces import listing, missing
from minpy.ndarray.array_functions import reset_arrays
from minpy.ops.registry import OPERATORS as _OPERATORS

__all__ = ["reset_arrays", *(name for name in _OPERATORS if not name.startswith("_"))]
__dir__ = listing(__all__)
__getattr__ = late_names(__name__, __all__, _OPERATORS.__getitem__, missing("minpy.nd.op", "operator", __all__))
