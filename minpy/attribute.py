"""`minpy.attribute`: attributes that symbols get by where they are made."""

from minpy.namespaces import listing, missing
from minpy.symbol.naming import AttrScope

__all__ = ["AttrScope"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.attribute", "name", __all__)
