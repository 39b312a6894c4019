"""Lends buffers to methods of custom operators instead of copying them, where that is provably safe.

A custom operator written with NumPy copies twice: `x.asnumpy()` and `nd.array(y)` must copy, as the caller may write
to the result. Most operators do not write, and where a capture of the method proves it, the two conversions share the
buffers while that method runs, in its own code only.

A capture is valid for calls of one kind (flags, requests, shapes, dtypes), as long as what it read is unchanged. The
first `_FREE_CAPTURES` calls without a valid one are captured, later ones only if their kind comes again and again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any

from minpy.custom.method_capture import MethodCapture, capture_method
from minpy.custom.output_buffers import shape_and_dtype
from minpy.custom.prop import CustomOp

__all__ = ["method_of"]

_PARAMETERS = {
    "forward": ("is_train", "req", "in_data", "out_data", "aux"),
    "backward": ("req", "out_grad", "in_data", "out_data", "in_grad", "aux"),
}
_ASSIGN = CustomOp.assign
_instance_dict: Any = vars(CustomOp)["__dict__"].__get__  # even if a class redefines `__dict__`
_FREE_CAPTURES = 8
# Limits of the stored kinds of calls of a method, of the captures of each, and of the methods.
_MAX_KINDS, _MAX_CAPTURES, _MAX_METHODS = 128, 4, 1000


class _Kind:
    """The captures of one kind of calls of a method."""

    __slots__ = ("captures", "misses")

    def __init__(self) -> None:
        self.captures: tuple[MethodCapture, ...] = ()  # the latest first
        self.misses = 0  # calls without a valid capture


class _Method:
    """The code of a method, and its captures."""

    __slots__ = ("code", "is_positional", "kinds", "misses", "names")

    def __init__(self, code: CodeType, names: tuple[str, ...]) -> None:
        self.code, self.names = code, names
        # Whether it takes its arguments by position, in MXNet's order, and no others by keyword.
        self.is_positional = code.co_varnames[1 : code.co_argcount] == names and not code.co_kwonlyargcount
        self.kinds: dict[Any, _Kind] = {}  # kinds of calls, by the facts of their arguments: see `_facts`
        self.misses = 0  # calls without a valid capture

    def kind_of(self, facts: tuple[Any, ...]) -> _Kind:
        """Return the kind of calls with such arguments."""
        if len(self.kinds) >= _MAX_KINDS and facts not in self.kinds:
            self.kinds.clear()
        return self.kinds.setdefault(facts, _Kind())

    def is_due(self, kind: _Kind) -> bool:
        """Tell whether to capture a call without a valid capture: at once at first, then ever more rarely."""
        kind.misses += 1
        self.misses += 1
        return self.misses <= _FREE_CAPTURES or (kind.misses >= 4 and not kind.misses & (kind.misses - 1))


# By the code's identity, as the same code may make many functions.
_methods: dict[int, _Method] = {}


def method_of(
    op: CustomOp, method: str, arguments: Sequence[Any], may_lend: bool
) -> tuple[Callable[..., None], MethodCapture | None]:
    """Return (the method, to be called by position; its capture if buffers may be lent to it, else None).

    Buffers are lent if a capture of the method is valid, and if lookups in `self`, which must be `op`, give the same:
    `assign` of `CustomOp`, and values of the instance. The check runs none of the class's code, as descriptors and
    metaclasses could give one result now and another later.

    `arguments`: those of the call. `may_lend`: whether to lend at all: copying small arrays takes less time than the
    check.
    """
    bound: Any = getattr(op, method)
    function: Any = bound.__func__ if type(bound) is MethodType else None
    names = _PARAMETERS[method]
    if type(function) is not FunctionType or bound.__self__ is not op:
        return _by_position(bound, names), None
    code: CodeType = function.__code__
    known_code = _methods.get(id(code))
    if known_code is None or known_code.code is not code or known_code.names is not names:
        if len(_methods) >= _MAX_METHODS:
            _methods.clear()
        known_code = _methods[id(code)] = _Method(code, names)
    if not known_code.is_positional:
        return _by_position(bound, names), None
    if not may_lend:
        return bound, None
    cls: Any = type(op)
    own = _instance_dict(op)
    if type(cls) is not type or type(own) is not dict or "assign" in own:
        return bound, None
    for parent in cls.__mro__[:-1]:  # all but `object`
        members = parent.__dict__
        if members.get("assign", _ASSIGN) is not _ASSIGN or "__getattribute__" in members:
            return bound, None
    kind = known_code.kind_of(_facts(arguments))
    for capture in kind.captures:
        if capture.is_valid(function, op, own):
            return bound, capture
    if known_code.is_due(kind):
        new_capture = capture_method(op, function, _ASSIGN, arguments)
        if new_capture is not None:
            kind.captures = (new_capture, *kind.captures[: _MAX_CAPTURES - 1])
            if new_capture.is_valid(function, op, own):
                return bound, new_capture
    return bound, None


def _facts(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Return the facts of a method's arguments that proxies have: flags, requests, shapes and dtypes."""
    facts: list[Any] = []
    for argument in arguments:
        if isinstance(argument, list):
            facts.append(len(argument))
            facts += [value if isinstance(value, str) else shape_and_dtype(value) for value in argument]
        else:
            facts.append(argument)
    return tuple(facts)


def _by_position(bound: Any, names: tuple[str, ...]) -> Callable[..., None]:
    """Return a method to be called by position, which passes arguments by name, as MXNet does, if it accepts these."""
    code = getattr(getattr(bound, "__func__", None), "__code__", None)
    if code is not None and code.co_varnames[1 : code.co_argcount] == names:
        return bound
    try:
        inspect.signature(bound).bind(**dict.fromkeys(names))
    except (TypeError, ValueError):
        return bound
    return lambda *arguments: bound(**dict(zip(names, arguments, strict=True)))
