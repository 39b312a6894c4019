"""`mx.contrib`: operators and tools that MXNet has on trial."""

from __future__ import annotations

from typing import Any

from minpy import ndarray as _ndarray
from minpy import symbol as _symbol
from minpy.contrib import autograd, text
from minpy.importing import import_module
from minpy.namespaces import listing, missing, missing_part

ndarray = nd = _ndarray.contrib
symbol = sym = _symbol.contrib

# Modules that stand on what imports this one; they are imported when they are looked up.
_LATE = ("amp", "io", "onnx", "svrg_optimization", "tensorboard")

__all__ = [
    "amp",
    "autograd",
    "io",
    "nd",
    "ndarray",
    "onnx",
    "svrg_optimization",
    "sym",
    "symbol",
    "tensorboard",
    "text",
]
__dir__ = listing(__all__)

_refuse = missing("minpy.contrib", "module", __all__)


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return import_module(f"minpy.contrib.{name}")
    part = missing_part(f"contrib.{name}")
    if part is not None:
        raise AttributeError(part)
    return _refuse(name)
