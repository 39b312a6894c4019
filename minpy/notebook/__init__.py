"""`mx.notebook`: training watched in notebooks."""

from __future__ import annotations

from minpy.namespaces import public
from minpy.notebook import callback

__all__ = ["callback"]
__dir__, __getattr__ = public("minpy.notebook", "name", __all__)
