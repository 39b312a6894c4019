"""`minpy.name`: how symbols get their names."""

from minpy.namespaces import listing
from minpy.symbol.naming import NameManager, Prefix

__all__ = ["NameManager", "Prefix"]
__dir__ = listing(__all__)
