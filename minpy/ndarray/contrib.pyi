"""The types of `minpy.nd.contrib`, written by tools/make_stubs.py.

An operator answers in kind (NDArrays, NumPy arrays, boxes of HIPS autograd), so its result is Any.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec

from minpy.core.operator import Operator
from minpy.ndarray.control_flow import cond as cond
from minpy.ndarray.control_flow import foreach as foreach
from minpy.ndarray.control_flow import while_loop as while_loop

_P = ParamSpec("_P")

class _Operator(Operator, Generic[_P]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...

def _operator(function: Callable[_P, Any]) -> _Operator[_P]: ...


