"""`minpy.executor`: what runs a bound symbol."""

from minpy.symbol.executor import Executor

__all__ = ["Executor"]
