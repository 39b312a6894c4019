"""`minpy.sym.linalg`: linear algebra, as functions of symbols."""

from minpy.namespaces import listing
from minpy.ops.registry import names_under as _names_under
from minpy.symbol.operator_functions import late_functions as _late_functions

__all__ = [*_names_under("_linalg_")]
__dir__ = listing(__all__)
__getattr__ = _late_functions(__name__, "minpy.sym.linalg", "_linalg_", __all__)
