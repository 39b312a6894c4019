"""The core: operators, the tape, dispatch, errors and devices. It imports only numpy and autograd."""

from minpy.core.array import Array
from minpy.core.customop import customop
from minpy.core.operator import Operator
from minpy.core.protocols import NumPyProtocols
from minpy.core.registry import FUNCTIONS, OPERATORS, find_operator, operator
from minpy.core.state import Scope, state

__all__ = [
    "FUNCTIONS",
    "OPERATORS",
    "Array",
    "NumPyProtocols",
    "Operator",
    "Scope",
    "customop",
    "find_operator",
    "operator",
    "state",
]
