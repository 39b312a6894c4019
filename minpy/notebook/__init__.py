"""`mx.notebook`: training watched in notebooks."""

from __future__ import annotations

from minpy.namespaces import module_functions
from minpy.notebook import callback

__all__ = ["callback"]
__dir__, __getattr__ = module_functions(__name__, __all__)
