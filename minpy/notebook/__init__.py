"""`mx.notebook`: training watched in notebooks."""

from __future__ import annotations

from minpy.namespaces import listing, missing
from minpy.notebook import callback

__all__ = ["callback"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.notebook", "name", __all__)
