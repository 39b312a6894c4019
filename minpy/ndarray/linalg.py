"""`minpy.nd.linalg`: linear algebra, on NDArrays."""

from __future__ import annotations

from minpy.late import late_names
from minpy.namespaces import listing, missing
from minpy.ops.registry import find_operator as _find_operator
from minpy.ops.registry import names_under as _names_under

_NAMES = _names_under("_linalg_")

__all__ = [*_NAMES]
__dir__ = listing(__all__)
__getattr__ = late_names(
    __name__, _NAMES, lambda name: _find_operator(_NAMES[name]), missing("minpy.nd.linalg", "operator", __all__)
)
