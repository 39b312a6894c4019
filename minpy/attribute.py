"""`minpy.attribute`: attributes that symbols get by where they are made."""

from minpy.namespaces import public
from minpy.symbol.naming import AttrScope

__all__ = ["AttrScope"]
__dir__, __getattr__ = public("minpy.attribute", "name", __all__)
