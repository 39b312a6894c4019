"""`minpy.executor`: what runs a bound symbol."""

from minpy.namespaces import listing
from minpy.symbol.executor import Executor

__all__ = ["Executor"]
__dir__ = listing(__all__)
