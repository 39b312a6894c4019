"""`mx.error`: errors that are known by name."""

from minpy.base import MXNetError, register_error
from minpy.core.errors import InternalError
from minpy.namespaces import listing

__all__ = ["InternalError", "MXNetError", "register", "register_error"]
__dir__ = listing(__all__)

register = register_error
