"""The core: operators, the tape, dispatch, errors and devices. It imports nothing but NumPy.

MinPy's users import `grad`, `grad_and_loss`, `Function` and some more from here: these names lead to the modules above
that have them, once somebody asks.
"""

from typing import Any

from minpy.core.array import Array
from minpy.core.beginning import IMPORTED
from minpy.core.customop import customop
from minpy.core.operator import Operator
from minpy.core.state import Scope, state

__all__ = ["IMPORTED", "Array", "Operator", "Scope", "customop", "state"]

_IN_LEGACY = (
    "Function",
    "MXNetSymbolError",
    "convert_args",
    "function",
    "grad",
    "grad_and_loss",
    "minpy_to_numpy",
    "numpy_to_minpy",
    "return_numpy",
)


def __getattr__(name: str) -> Any:
    if name in _IN_LEGACY:
        from minpy import legacy

        return getattr(legacy, name)
    raise AttributeError(f"module 'minpy.core' has no attribute {name!r}")
