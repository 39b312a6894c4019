"""The core: operators, the tape, dispatch, errors and devices. It imports nothing but NumPy."""

from minpy.core.array import Array
from minpy.core.customop import customop
from minpy.core.operator import Operator
from minpy.core.state import Scope, state

__all__ = ["Array", "Operator", "Scope", "customop", "state"]
