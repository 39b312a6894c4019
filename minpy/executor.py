"""`minpy.executor`: what runs a bound symbol."""

from typing import TYPE_CHECKING, Any

from minpy.importing import import_module
from minpy.namespaces import listing, missing

if TYPE_CHECKING:
    from minpy.symbol.executor import Executor

__all__ = ["Executor"]
__dir__ = listing(__all__)


def __getattr__(name: str) -> Any:
    if name == "Executor":  # it is large: the first one who asks imports it
        return globals().setdefault(name, import_module("minpy.symbol.executor").Executor)
    return missing("minpy.executor", "attribute", __all__)(name)
