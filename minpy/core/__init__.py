"""The core: operators, the tape, dispatch, errors and devices. It imports nothing but NumPy.

MinPy's users import `grad`, `grad_and_loss`, `Function` and some more from here: these are
extensions, imported when they are used.
"""

from typing import Any

from minpy.core.array import Array
from minpy.core.beginning import IMPORTED
from minpy.core.customop import customop
from minpy.core.extensions import extension, is_provided
from minpy.core.operator import Operator
from minpy.core.state import Scope, state

__all__ = ["IMPORTED", "Array", "Operator", "Scope", "customop", "state"]


def __getattr__(name: str) -> Any:
    if is_provided(f"minpy.core.{name}"):
        return extension(f"minpy.core.{name}")
    raise AttributeError(f"module 'minpy.core' has no attribute {name!r}")
