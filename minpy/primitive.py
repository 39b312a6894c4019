"""`customop` where MinPy had it: `from minpy.primitive import customop`."""

from minpy.core.customop import customop

__all__ = ["customop"]
