"""Which backends run programs in a thread, and whether bits may change when a better one takes over.

`MINPY_COMPILE=0` in the environment, and `disabled()` in a thread, say no to native code. `MINPY_SAME_BITS=1` and
`same_bits()` say that every call is to give what the first one gave, to the last bit. What a program becomes is not
known before it has run, and its first calls are Python's: so all of them are.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from minpy.backends import registry
from minpy.core.state import ThreadValues, leaving

__all__ = ["FALLBACK", "CompileWarning", "disabled", "is_enabled", "keeps_bits", "same_bits", "selection", "using"]

# The backend that is there in any case, and that rounds as eager calls do.
FALLBACK = "python"


class CompileWarning(UserWarning):
    """Something stays Python that was to become native code: slower, and with the same results."""


class _Selection(ThreadValues):
    enabled: bool
    keeps_bits: bool
    backends: tuple[str, ...]  # the best one first; equal selections are one object


_KEEPS_BITS = os.environ.get("MINPY_SAME_BITS", "0") not in ("", "0")
_ENABLED = os.environ.get("MINPY_COMPILE", "1") != "0" and not _KEEPS_BITS
_ONLY_FALLBACK = (FALLBACK,)
_ALL = ("native", FALLBACK)
_selections: dict[tuple[str, ...], tuple[str, ...]] = {names: names for names in (_ONLY_FALLBACK, _ALL)}
selection = _Selection(enabled=_ENABLED, keeps_bits=_KEEPS_BITS, backends=_ALL if _ENABLED else _ONLY_FALLBACK)


def is_enabled() -> bool:
    """Tell whether this thread lets programs become native code, and runs what has.

    Examples
    --------
    >>> with disabled():
    ...     is_enabled()
    False
    """
    return selection.enabled


def keeps_bits() -> bool:
    """Tell whether in this thread each call gives what the first one gave, to the last bit.

    Examples
    --------
    >>> with same_bits():
    ...     keeps_bits()
    True
    """
    return selection.keeps_bits


class _Scope:
    """A scope with other values of the thread."""

    __slots__ = ("_values",)

    def __init__(self, **values: Any) -> None:
        self._values = values

    def __enter__(self) -> None:
        values = vars(selection)
        before = {name: values[name] for name in (*self._values, "leave")}
        values |= {**self._values, "leave": partial(values.update, before)}

    __exit__ = leaving(selection)


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
    return _Scope(enabled=False, backends=_ONLY_FALLBACK)


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
    return _Scope(enabled=False, keeps_bits=True, backends=_ONLY_FALLBACK)


def using(*names: str) -> _Scope:
    """Return a scope in which programs are run by some backends, in this thread: by the first one that takes them.

    What none of them takes is run step by step, as the first call of any program is.

    Parameters
    ----------
    names : str
        Of backends that are registered, the best one first.

    Raises
    ------
    ArgumentError
        If there is no backend of a name.

    Examples
    --------
    >>> with using("native", "python"):
    ...     is_enabled()
    True
    >>> using("c")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    minpy.core.errors.ArgumentError: there is no backend 'c'; there are 'native', 'python'...
    """
    registered = registry.names()
    for name in names:
        if name not in registered:
            registry.backend(name)
    return _Scope(enabled=names != _ONLY_FALLBACK, backends=_selections.setdefault(names, names))
