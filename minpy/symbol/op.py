"""`minpy.sym.op`: the operators of `minpy.sym`, without its other functions and classes."""

from minpy.late import late_names
from minpy.namespaces import listing, missing
from minpy.symbol.operator_functions import FUNCTIONS as _FUNCTIONS

__all__ = [name for name in _FUNCTIONS if not name.startswith("_")]
__dir__ = listing(__all__)
__getattr__ = late_names(__name__, __all__, _FUNCTIONS.__getitem__, missing("minpy.sym.op", "operator", __all__))
