"""MinPy's helpers, for programs that import them: loggers, a profiler of functions, a check of gradients.

MXNet's are in `minpy.util`.
"""

from minpy.namespaces import listing, missing

__all__ = ["common", "gradient_checker", "log", "minprof"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.utils", "module", __all__)
