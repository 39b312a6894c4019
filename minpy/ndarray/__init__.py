"""`minpy.nd`: NDArrays and the operators on them, by MXNet's names."""

from __future__ import annotations

from typing import Any

from minpy.core.registry import OPERATORS as _OPERATORS
from minpy.ndarray.creation import arange, array, empty, eye, full, linspace, ones, waitall, zeros
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray import methods as _methods

from minpy.ndarray.custom import Custom

globals().update({name: operator for name, operator in _OPERATORS.items() if name not in globals()})

__all__ = [
    "Custom",
    "NDArray",
    "arange",
    "array",
    "empty",
    "eye",
    "full",
    "linspace",
    "ones",
    "waitall",
    "zeros",
    *(name for name in _OPERATORS if not name.startswith("_")),
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from minpy.core.errors import nearest

    raise AttributeError(f"minpy.nd has no operator {name!r}.{nearest(name, __all__)}")
