"""The code of users' functions that are to run on proxies: what it must not have in it, and where it stores."""

from __future__ import annotations

import inspect
import types
from collections.abc import Collection
from typing import Any

from minpy.capture.places import SourceLocation
from minpy.capture.proxy_attributes import WATCHED
from minpy.capture.shadow_builtins import may_be_read
from minpy.core.gradient_rules import codes_of

__all__ = ["require_harmless", "store_location"]

_COROUTINES = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def require_harmless(shadow: Any, code: types.CodeType, is_outermost: bool) -> None:
    """Refuse a function's code, and that of functions inside it, that may look at itself, or at proxies as proxies.

    `is_outermost`: whether it is the function that is captured, which may be no generator.
    """
    for inner in () if shadow.recorder.freezes else codes_of(code):
        place = SourceLocation(inner.co_filename, inner.co_firstlineno)
        forbidden = _COROUTINES | (inspect.CO_GENERATOR if is_outermost and inner is code else 0)
        if inner.co_flags & forbidden:
            raise shadow.refuse("it is a generator or a coroutine", place)
        for part in inner.co_consts:
            if type(part) is str and "{" in part and "__" in part:  # `"{0.__class__}".format(x)`
                raise shadow.refuse("it has a text that may read what begins with two underscores", place)
        for name in inner.co_names if inner.co_flags & inspect.CO_OPTIMIZED else ():  # or the body of a class
            if not may_be_read(name):
                raise shadow.refuse(f"it reads {name}", place)
        if shadow.recorder.watched is False and not WATCHED.isdisjoint(inner.co_names):
            shadow.must_watch = True
            raise shadow.refuse("it names attributes that proxies have of their own", place)


def store_location(codes: Collection[types.CodeType], kind: str, name: str) -> SourceLocation | None:
    """Return the line of some code that stores to a name or deletes it; None if there is none.

    `kind`: as in the names of instructions: 'GLOBAL', or 'DEREF' for a variable of an enclosing function.
    """
    import dis  # only where a capture has failed already

    for code in sorted(codes, key=lambda code: code.co_firstlineno):
        starts = {start: line for start, _, line in code.co_lines()}
        line: int | None = code.co_firstlineno
        for instruction in dis.get_instructions(code):
            line = starts.get(instruction.offset, line)
            if instruction.opname in (f"STORE_{kind}", f"DELETE_{kind}") and instruction.argval == name:
                return SourceLocation(code.co_filename, line or code.co_firstlineno)
    return None
