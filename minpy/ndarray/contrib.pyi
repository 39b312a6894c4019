"""The types of `minpy.nd.contrib`, written by tools/make_stubs.py.

An operator answers in kind (NDArrays, NumPy arrays, boxes of HIPS autograd), so its result is Any.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec

from minpy.core.operator import Operator
from minpy.ndarray.weight_updates import adamw_update as adamw_update
from minpy.ndarray.weight_updates import mp_adamw_update as mp_adamw_update
from minpy.ndarray.weight_updates import multi_adamw_update as multi_adamw_update
from minpy.ndarray.weight_updates import multi_lamb_update as multi_lamb_update
from minpy.ndarray.weight_updates import multi_mp_adamw_update as multi_mp_adamw_update
from minpy.ndarray.weight_updates import multi_mp_lamb_update as multi_mp_lamb_update

_P = ParamSpec("_P")

class _Operator(Operator, Generic[_P]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...

def _operator(function: Callable[_P, Any]) -> _Operator[_P]: ...

@_operator
def group_adagrad_update(weight: Any, grad: Any, history: Any, lr: float, rescale_grad: float = ..., clip_gradient: float = ..., epsilon: float = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
