"""`minpy.attribute`: attributes that symbols get by where they are made."""

from minpy.namespaces import module_functions
from minpy.symbol.naming import AttrScope

__all__ = ["AttrScope"]
__dir__, __getattr__ = module_functions(__name__, __all__)
