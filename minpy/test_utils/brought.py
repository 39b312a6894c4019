"""Names that `from mxnet.test_utils import *` imports beside the helpers: those that MXNet's module imports itself.

Test scripts rely on them: they say `np`, `mx`, `os` or `current_context`, and import them nowhere else.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from minpy.importing import import_module

__all__ = ["NAMES", "find"]

# Modules; and where other names come from.
_MODULES = {
    "bz2": "bz2", "errno": "errno", "gzip": "gzip", "json": "json", "logging": "logging", "mx": "minpy", "np": "numpy",
    "npt": "numpy.testing", "numbers": "numbers", "os": "os", "platform": "platform", "requests": "requests",
    "rnd": "numpy.random", "ss": "scipy.stats", "struct": "struct", "sys": "sys", "time": "time",
    "traceback": "traceback", "zipfile": "zipfile",
}  # fmt: skip
_OBJECTS = {
    "Context": "minpy.context", "Features": "minpy.runtime", "OrderedDict": "collections", "Symbol": "minpy.symbol",
    "array": "minpy.ndarray", "contextmanager": "contextlib", "current_context": "minpy.context",
    "get_cuda_compute_capability": "minpy.util", "getenv": "minpy.util", "setenv": "minpy.util",
    "use_np": "minpy.util",
}  # fmt: skip


_INSTALLED = (name for name, module in _MODULES.items() if find_spec(module.partition(".")[0]) is not None)
NAMES = sorted({*_INSTALLED, *_OBJECTS, "np_symbol"})


def find(name: str) -> Any:
    """Return the module or object of such a name."""
    if name in _MODULES:
        module = _MODULES[name]
        return sys.modules[module] if module in sys.modules else import_module(module)
    if name == "np_symbol":
        return type(import_module("minpy.symbol.numpy").zeros(1))
    return getattr(import_module(_OBJECTS[name]), name)
