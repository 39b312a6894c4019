"""Whether programs become native code, and whether bits may change when they do.

`MINPY_COMPILE=0` in the environment, and `disabled()` in a thread, say no to native code. `MINPY_SAME_BITS=1` and
`same_bits()` say that every call is to give what the first one gave, to the last bit. What a program becomes is not
known before it has run, and its first calls are Python's: so all of them are.
"""

from __future__ import annotations

import os
from functools import partial

from minpy.core.state import ThreadValues, leaving

__all__ = ["CompileWarning", "disabled", "is_enabled", "keeps_bits", "same_bits"]


class CompileWarning(UserWarning):
    """Something stays Python that was to become native code: slower, and with the same results."""


class _Compiling(ThreadValues):
    enabled: bool
    keeps_bits: bool


_KEEPS_BITS = os.environ.get("MINPY_SAME_BITS", "0") not in ("", "0")
_compiling = _Compiling(enabled=os.environ.get("MINPY_COMPILE", "1") != "0" and not _KEEPS_BITS, keeps_bits=_KEEPS_BITS)


def is_enabled() -> bool:
    """Tell whether this thread lets programs become native code, and runs what has.

    Examples
    --------
    >>> with disabled():
    ...     is_enabled()
    False
    """
    return _compiling.enabled


def keeps_bits() -> bool:
    """Tell whether in this thread each call gives what the first one gave, to the last bit.

    Examples
    --------
    >>> with same_bits():
    ...     keeps_bits()
    True
    """
    return _compiling.keeps_bits


class _Scope:
    """A scope without native code, and with some further values of the thread."""

    __slots__ = ("_values",)

    def __init__(self, **values: bool) -> None:
        self._values = {"enabled": False, **values}

    def __enter__(self) -> None:
        values = vars(_compiling)
        before = {name: values[name] for name in (*self._values, "leave")}
        values |= {**self._values, "leave": partial(values.update, before)}

    __exit__ = leaving(_compiling)


def disabled() -> _Scope:
    """Return a scope in which nothing is compiled to native code, and what has been is not run, in this thread.

    Programs run as Python then, with the same results but for rounding.

    Examples
    --------
    >>> from minpy.backends.switches import is_enabled
    >>> with disabled():
    ...     is_enabled()
    False
    """
    return _Scope()


def same_bits() -> _Scope:
    """Return a scope in which each call gives what the first one gave, to the last bit, in this thread.

    Outside, bits may change once, when a program becomes native code, at its third call with the same shapes and
    dtypes: that adds up in another order, and has functions of its own. Inside, nothing is compiled to native code, and
    what has been is not run. It is slower: as `disabled` is, without which the promise could not be kept.

    Examples
    --------
    >>> import numpy
    >>> import minpy
    >>> total = minpy.compile(lambda x: numpy.sum(numpy.tanh(x)))
    >>> with minpy.compile.same_bits():
    ...     len({float(total(numpy.linspace(0, 1, 1000))) for _ in range(5)})
    1
    """
    return _Scope(keeps_bits=True)
