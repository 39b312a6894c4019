"""`minpy.name`: how symbols get their names."""

from minpy.namespaces import module_functions
from minpy.symbol.naming import NameManager, Prefix

__all__ = ["NameManager", "Prefix"]
__dir__, __getattr__ = module_functions(__name__, __all__)
