"""`minpy.attribute`: attributes that symbols get by where they are made."""

from minpy.symbol.naming import AttrScope

__all__ = ["AttrScope"]
