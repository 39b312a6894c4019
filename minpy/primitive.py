"""`customop` where MinPy had it: `from minpy.primitive import customop`."""

from minpy.core.customop import customop
from minpy.namespaces import listing

__all__ = ["customop"]
__dir__ = listing(__all__)
