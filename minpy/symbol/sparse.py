"""`minpy.sym.sparse`: operators that MXNet has for sparse arrays, too; as arrays are dense, those of `minpy.sym`."""

from minpy.late import late_names
from minpy.namespaces import listing, missing
from minpy.ndarray.sparse import NAMES as _NAMES
from minpy.symbol.operator_functions import FUNCTIONS as _FUNCTIONS

__all__ = [name for name in _NAMES if name in _FUNCTIONS]
__dir__ = listing(__all__)
__getattr__ = late_names(__name__, __all__, _FUNCTIONS.__getitem__, missing("minpy.sym.sparse", "operator", __all__))
