"""`minpy.sym._internal`: operators on symbols, under the names that MXNet keeps to itself."""

from minpy.late import late_names
from minpy.namespaces import listing, missing
from minpy.ops.registry import inner_names as _inner_names
from minpy.symbol.operator_functions import FUNCTIONS as _FUNCTIONS

__all__ = _inner_names()
__dir__ = listing(__all__)
__getattr__ = late_names(__name__, __all__, _FUNCTIONS.__getitem__, missing("minpy.sym._internal", "operator", __all__))
