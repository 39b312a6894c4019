"""`mx.error`: errors that are known by name."""

from minpy.base import MXNetError, register_error
from minpy.namespaces import listing

__all__ = ["InternalError", "MXNetError", "register", "register_error"]
__dir__ = listing(__all__)

register = register_error


@register
class InternalError(MXNetError):
    """A mistake of the library itself, which no program should have to catch."""
