"""`minpy.attribute`: attributes that symbols get by where they are made."""

from minpy.namespaces import listing
from minpy.symbol.naming import AttrScope

__all__ = ["AttrScope"]
__dir__ = listing(__all__)
