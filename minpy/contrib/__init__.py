"""`mx.contrib`: operators and tools that MXNet has on trial."""

from __future__ import annotations

from typing import Any

from minpy import ndarray as _ndarray
from minpy import symbol as _symbol
from minpy.contrib import autograd, text
from minpy.namespaces import listing, missing, missing_part

ndarray = nd = _ndarray.contrib
symbol = sym = _symbol.contrib

__all__ = ["autograd", "nd", "ndarray", "sym", "symbol", "text"]
__dir__ = listing(__all__)

_refuse = missing("minpy.contrib", "module", __all__)


def __getattr__(name: str) -> Any:
    part = missing_part(f"contrib.{name}")
    if part is not None:
        raise AttributeError(part)
    return _refuse(name)
