"""`minpy.name`: how symbols get their names."""

from minpy.namespaces import public
from minpy.symbol.naming import NameManager, Prefix

__all__ = ["NameManager", "Prefix"]
__dir__, __getattr__ = public("minpy.name", "name", __all__)
