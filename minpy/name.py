"""`minpy.name`: how symbols get their names."""

from minpy.symbol.naming import NameManager, Prefix

__all__ = ["NameManager", "Prefix"]
