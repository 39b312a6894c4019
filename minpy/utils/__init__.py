"""MinPy's helpers, for programs that import them: loggers, a profiler of functions, a check of gradients.

MXNet's are in `minpy.util`.
"""

from typing import Any

from minpy.importing import import_module
from minpy.namespaces import listing, missing

__all__ = ["common", "gradient_checker", "log", "minprof"]
__dir__ = listing(__all__)


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"minpy.utils.{name}")
    return missing("minpy.utils", "module", __all__)(name)
