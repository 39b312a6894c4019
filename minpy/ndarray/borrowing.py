"""Buffers lent instead of copied, where it can be proved that nobody will notice.

A custom operator written with NumPy copies at every border: `x.asnumpy()` and `nd.array(y)` must, as the caller may
write to what it gets. Most operators do not. `lends_safely` reads a function's code, and answers True only if it
stores nothing outside its own local variables, changes nothing in place, and calls nothing but NumPy's and minpy's
functions. While such a function runs, the two conversions share the buffers.
"""

from __future__ import annotations

import builtins
import dis
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy

from minpy.core.array import Array

__all__ = ["Lending", "lends_safely", "lent_view", "take_buffer"]


class _Local(threading.local):
    lending: Lending | None = None


local = _Local()


class Lending:
    """A scope in which `asnumpy` and `nd.array` share buffers. On exit, what is still shared is copied."""

    __slots__ = ("_previous", "_taken")

    def __init__(self) -> None:
        self._taken: list[Array] = []

    def __enter__(self) -> Lending:
        self._previous = local.lending
        local.lending = self
        return self

    def __exit__(self, *exception: object) -> None:
        local.lending = self._previous
        for array in self._taken:
            if sys.getrefcount(array._data) > _SOLE:
                array._data = array._data.copy()

    def take(self, array: Array) -> None:
        """Remember that `array` has a buffer which the function may still refer to."""
        self._taken.append(array)


class Copying:
    """The scope for functions that may notice: conversions copy, also inside a lending function's call."""

    __slots__ = ("_previous",)

    def __enter__(self) -> Copying:
        self._previous = local.lending
        local.lending = None
        return self

    def __exit__(self, *exception: object) -> None:
        local.lending = self._previous


def lent_view(array: Array) -> numpy.ndarray:
    """Return the buffer of `array` for reading, if this thread lends; else a copy."""
    return array._data.copy() if local.lending is None else array._data.view()


def lend(source: Any, dtype: Any) -> numpy.ndarray | None:
    """Return `source` itself where `nd.array(source, dtype=dtype)` may share it, else None."""
    if (
        local.lending is not None
        and type(source) is numpy.ndarray
        and source.dtype == dtype
        and source.base is None
        and source.flags.c_contiguous
    ):
        return source
    return None


def take_buffer(target: Array, source: Array) -> bool:
    """Give the buffer of `source`, a temporary, to `target`, if nobody else can see it; tell whether it was done."""
    data = source._data
    old = target._data
    if data.dtype != old.dtype or data.shape != old.shape or data.base is not None or not data.flags.c_contiguous:
        return False
    lending = local.lending
    if lending is not None:
        lending.take(target)
    elif sys.getrefcount(data) > _SOLE + 1:
        return False
    target._data = data
    return True


def _count_sole() -> int:
    holder = Array()
    holder._data = numpy.zeros(1)
    return sys.getrefcount(holder._data)


_SOLE = _count_sole()

# -- what a function's code says --------------------------------------------------------------------------------------

_MUTATING = {
    "at", "byteswap", "copyto", "dump", "fill", "fill_diagonal", "itemset", "partition", "place", "put",
    "put_along_axis", "putmask", "resize", "setfield", "setflags", "shuffle", "sort", "tofile",
}  # fmt: skip
_SAFE_ATTRIBUTES = (
    set(dir(numpy)) | set(dir(numpy.ndarray)) | {"asnumpy", "assign", "asscalar", "nd", "array", "np", "numpy"}
) - _MUTATING
_SAFE_GLOBALS = {"abs", "enumerate", "float", "int", "len", "max", "min", "range", "sum", "tuple", "zip"}
_SAFE_MODULES = {"numpy", "minpy", "math"}
_PLAIN_VALUES = (int, float, str, tuple, numpy.generic, type(None))
_STORES = {
    "DELETE_ATTR", "DELETE_GLOBAL", "DELETE_SUBSCR", "IMPORT_NAME", "LIST_APPEND", "MAKE_FUNCTION", "STORE_ATTR",
    "STORE_DEREF", "STORE_GLOBAL", "STORE_SLICE", "STORE_SUBSCR",
}  # fmt: skip

_answers: dict[types.CodeType, tuple[bool, frozenset[str]]] = {}


def lends_safely(function: Callable[..., Any], instance: Any) -> bool:
    """Tell whether a method, run on `instance`, can be lent buffers without anybody noticing."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    answer = _answers.get(code)
    if answer is None:
        answer = _answers[code] = _read(code, getattr(function, "__globals__", {}))
    safe, names = answer
    if not safe or not all(_safe_value(cell.cell_contents) for cell in function.__closure__ or ()):
        return False
    for name in names:  # what it reads off `self` must be plain data
        value = getattr(instance, name, None)
        if not isinstance(value, _PLAIN_VALUES):
            return False
    return True


def _read(code: types.CodeType, scope: dict[str, Any]) -> tuple[bool, frozenset[str]]:
    unsafe = (False, frozenset[str]())
    if code.co_cellvars:  # an inner function could keep what it sees
        return unsafe
    first = code.co_varnames[0] if code.co_argcount else None
    of_instance = set()
    previous: Any = None
    for instruction in dis.get_instructions(code):
        name, value = instruction.opname, instruction.argval
        if name in _STORES or name.startswith(("INPLACE_", "YIELD", "SEND")):
            return unsafe
        if name == "BINARY_OP" and instruction.argrepr.endswith("="):
            return unsafe
        if name in ("LOAD_GLOBAL", "LOAD_NAME") and not _safe_global(value, scope):
            return unsafe
        if name in ("LOAD_ATTR", "LOAD_METHOD") and value not in _SAFE_ATTRIBUTES:
            loads_instance = previous is not None and "LOAD_FAST" in previous.opname and previous.argval == first
            if not loads_instance or name == "LOAD_METHOD":
                return unsafe
            of_instance.add(value)
        previous = instruction
    if any(constant == "out" or (isinstance(constant, tuple) and "out" in constant) for constant in code.co_consts):
        return unsafe
    return True, frozenset(of_instance)


def _safe_global(name: str, scope: dict[str, Any]) -> bool:
    if name not in scope:
        return name in _SAFE_GLOBALS and hasattr(builtins, name)
    return _safe_value(scope[name])


def _safe_value(value: Any) -> bool:
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] in _SAFE_MODULES
    return isinstance(value, _PLAIN_VALUES)
