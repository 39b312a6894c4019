"""Buffers lent instead of copied, where it can be proved that nobody will notice.

A custom operator written with NumPy copies at every border: `x.asnumpy()` and `nd.array(y)` must, as the caller may
write to what it gets. Most operators do not, and where a capture of the method proves it (`purity`), the two
conversions share the buffers while that method runs, in its own code only.

A capture is good for calls of one kind (flags, requests, shapes, dtypes), as long as what it read is what it was. The
first `_FREE` calls that none is good for are captured, and after that those whose kind comes again and again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any

from minpy.custom.prop import CustomOp
from minpy.custom.purity import MethodCapture, capture_method

__all__ = ["method_of"]

_PARAMETERS = {
    "forward": ("is_train", "req", "in_data", "out_data", "aux"),
    "backward": ("req", "out_grad", "in_data", "out_data", "in_grad", "aux"),
}
_ASSIGN = CustomOp.assign
_instance_dict: Any = vars(CustomOp)["__dict__"].__get__  # whatever a class calls `__dict__`
_FREE = 8
# How many kinds of calls are known of a method, how many captures of each, and how many methods.
_KINDS, _CAPTURES, _METHODS = 128, 4, 1000


class _Method:
    """The code of a method, and what captures have found out about it.

    Attributes
    ----------
    is_fit : bool
        Whether it takes its arguments by position, in MXNet's order, and no others by keyword.
    captures : dict
        By kind of call: the captures, the latest first.
    latest : tuple
        The kind of the latest call, and the captures of it.
    """

    __slots__ = ("attempts", "captures", "code", "is_fit", "latest", "misses", "names")

    def __init__(self, code: CodeType, names: tuple[str, ...]) -> None:
        self.code, self.names = code, names
        self.is_fit = code.co_varnames[1 : code.co_argcount] == names and not code.co_kwonlyargcount
        self.captures: dict[Any, tuple[MethodCapture, ...]] = {}
        self.latest: tuple[list[Any], tuple[MethodCapture, ...]] = ([], ())
        self.misses: dict[Any, int] = {}
        self.attempts = 0

    def is_due(self, kind: Any) -> bool:
        """Tell whether a call that no capture is valid for is to be captured: some at once, then ever more rarely."""
        if len(self.misses) >= _KINDS:
            self.misses.clear()
        count = self.misses[kind] = self.misses.get(kind, 0) + 1
        self.attempts += 1
        return self.attempts <= _FREE or (count >= 4 and not count & (count - 1))

    def add(self, kind: Any, capture: MethodCapture) -> None:
        """Keep a capture."""
        if len(self.captures) >= _KINDS:
            self.captures.clear()
        captures = self.captures[kind] = (capture, *self.captures.get(kind, ())[: _CAPTURES - 1])
        self.latest = ([*kind], captures)


# By the code's identity, as functions are made anew from the same code.
_methods: dict[int, _Method] = {}


def method_of(
    op: CustomOp, method: str, arguments: Sequence[Any], kind: list[Any] | None
) -> tuple[Callable[..., None], CodeType | None]:
    """Return (the method, to be called by position; its code if buffers may be lent to it, else None).

    Buffers are lent if a capture of the method is valid, and if it finds what it looks for in `self`, which must be
    `op`: `assign` in `CustomOp`, and values in the instance. None of the class's code runs to find that out, as
    descriptors and metaclasses could tell one thing now and another later.

    Parameters
    ----------
    op : CustomOp
    method : {'forward', 'backward'}
    arguments : sequence
        What it is about to be called with: `capture_method` makes proxies of them.
    kind : list or None
        All that proxies would tell of the arguments: flags, requests, shapes and dtypes. None: nothing is lent.
    """
    bound: Any = getattr(op, method)
    function: Any = bound.__func__ if type(bound) is MethodType else None
    names = _PARAMETERS[method]
    if type(function) is not FunctionType or bound.__self__ is not op:
        return _by_position(bound, names), None
    code: CodeType = function.__code__
    known = _methods.get(id(code))
    if known is None or known.code is not code or known.names is not names:
        known = _new_method(code, names)
    if not known.is_fit or kind is None:
        return _by_position(bound, names), None
    cls: Any = type(op)
    own = _instance_dict(op)
    if type(cls) is not type or type(own) is not dict or "assign" in own:
        return bound, None
    classes = cls.__mro__[:-1]  # all but `object`
    for parent in classes:
        members = parent.__dict__
        if members.get("assign", _ASSIGN) is not _ASSIGN or "__getattribute__" in members:
            return bound, None
    latest = known.latest
    if kind != latest[0]:
        latest = known.latest = (kind, known.captures.get(tuple(kind), ()))
    for capture in latest[1]:
        if capture.is_valid(function, own, classes):
            return bound, code
    kind = tuple(kind)
    if known.is_due(kind):
        capture = capture_method(op, function, arguments)
        if capture is not None:
            known.add(kind, capture)
            if capture.is_valid(function, own, classes):
                return bound, code
    return bound, None


def _new_method(code: CodeType, names: tuple[str, ...]) -> _Method:
    if len(_methods) >= _METHODS:
        _methods.clear()
    made = _methods[id(code)] = _Method(code, names)
    return made


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
