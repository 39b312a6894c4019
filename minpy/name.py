"""`minpy.name`: how symbols get their names."""

from minpy.namespaces import listing, missing
from minpy.symbol.naming import NameManager, Prefix

__all__ = ["NameManager", "Prefix"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.name", "name", __all__)
