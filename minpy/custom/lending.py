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
_TARGET = {"forward": 4, "backward": 5}  # the position of `out_data`, or `in_grad`
_ASSIGN = CustomOp.assign
_instance_dict: Any = vars(CustomOp)["__dict__"].__get__  # whatever a class calls `__dict__`


def method_of(op: CustomOp, method: str) -> tuple[Callable[..., None], CodeType | None]:
    """Return (the method, to be called by position; its code if buffers may be lent to it, else None).

    MXNet passes the arguments by name; parameters of other names get them by position.
    """
    bound: Any = getattr(op, method)
    names = _PARAMETERS[method]
    function: Any = bound.__func__ if type(bound) is MethodType else None
    code = function.__code__ if type(function) is FunctionType else None
    if code is None or code.co_varnames[1 : code.co_argcount] != names:
        if _takes_names(bound, names):
            return lambda *arguments: bound(**dict(zip(names, arguments, strict=True))), None
        return bound, None
    # The proof is about `self`: it must be this object, and know these attributes and this `assign`.
    if bound.__self__ is not op:
        return bound, None
    read = read_by(function, _TARGET[method], _CONVERTERS)
    cls: Any = type(op)
    own = _instance_dict(op)
    # Nothing of the class runs to find this out: descriptors and metaclasses could tell one thing now, another later.
    if read is None or type(cls) is not type or type(own) is not dict or "assign" in own:
        return bound, None
    for name in read:
        if name not in own or not is_plain(own[name]):
            return bound, None
    for parent in cls.__mro__:
        members = parent.__dict__
        if members.get("assign", _ASSIGN) is not _ASSIGN or not read.isdisjoint(members):
            return bound, None
        if "__getattribute__" in members and parent is not object:
            return bound, None
    return bound, code


def _takes_names(function: Any, names: tuple[str, ...]) -> bool:
    try:
        inspect.signature(function).bind(**dict.fromkeys(names))
    except (TypeError, ValueError):
        return False
    return True
