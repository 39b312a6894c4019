"""What is wrong with a parameter that cannot be read yet."""

from __future__ import annotations

from minpy.core.errors import MXNetError

__all__ = ["DeferredInitializationError"]


class DeferredInitializationError(MXNetError):
    """A parameter is read before its shape is known: it gets values when its block is called first."""
