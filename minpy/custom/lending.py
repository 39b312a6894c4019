"""Buffers lent instead of copied, where it can be proved that nobody will notice.

A custom operator written with NumPy copies at every border: `x.asnumpy()` and `nd.array(y)` must, as the caller may
write to what it gets. Most operators do not, and where a method's source proves it (`purity`), the two conversions
share the buffers while that method runs, in its own code only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType
from typing import Any

from minpy.custom.prop import CustomOp
from minpy.custom.purity import is_plain, read_by
from minpy.ndarray.creation import array as make_array

__all__ = ["method_of"]

_CONVERTERS = (make_array,)
_PARAMETERS = {
    "forward": ("is_train", "req", "in_data", "out_data", "aux"),
    "backward": ("req", "out_grad", "in_data", "out_data", "in_grad", "aux"),
}
_TARGET = {"forward": "out_data", "backward": "in_grad"}
_ASSIGN = CustomOp.assign
_instance_dict: Any = vars(CustomOp)["__dict__"].__get__  # whatever a class calls `__dict__`


def method_of(op: CustomOp, method: str) -> tuple[Callable[..., None], CodeType | None]:
    """Return (the method, to be called by position; its code if buffers may be lent to it, else None).

    Buffers are lent if the code is pure, and if it finds what it looks for in `self`, which must be `op`: `assign` in
    `CustomOp`, and plain values in the instance. None of the class's code runs to find that out, as descriptors and
    metaclasses could tell one thing now and another later.
    """
    bound: Any = getattr(op, method)
    function: Any = bound.__func__ if type(bound) is MethodType else None
    names = _PARAMETERS[method]
    if type(function) is not FunctionType or bound.__self__ is not op:
        return _by_position(bound, names), None
    read = read_by(function, names, _TARGET[method], _CONVERTERS)
    if read is None:
        return _by_position(bound, names), None
    cls: Any = type(op)
    own = _instance_dict(op)
    if type(cls) is not type or type(own) is not dict or "assign" in own:
        return bound, None
    for name in read:
        if name not in own or not is_plain(own[name]):
            return bound, None
    for parent in cls.__mro__[:-1]:  # all but `object`
        members = parent.__dict__
        if members.get("assign", _ASSIGN) is not _ASSIGN or "__getattribute__" in members:
            return bound, None
        if read and not read.isdisjoint(members):
            return bound, None
    return bound, function.__code__


def _by_position(bound: Any, names: tuple[str, ...]) -> Callable[..., None]:
    """Return a method to be called by position; it gets its arguments by name, as in MXNet, if it takes these."""
    code = getattr(getattr(bound, "__func__", None), "__code__", None)
    if code is not None and code.co_varnames[1 : code.co_argcount] == names:
        return bound
    try:
        inspect.signature(bound).bind(**dict.fromkeys(names))
    except (TypeError, ValueError):
        return bound
    return lambda *arguments: bound(**dict(zip(names, arguments, strict=True)))
