"""Whether programs become native code: `MINPY_COMPILE=0` in the environment, and `disabled()` in a thread, say no."""

from __future__ import annotations

import os
from functools import partial

from minpy.core.state import ThreadValues, leaving

__all__ = ["CompileWarning", "disabled", "is_enabled"]


class CompileWarning(UserWarning):
    """Something stays Python that was to become native code: slower, and with the same results."""


class _Compiling(ThreadValues):
    enabled: bool


_compiling = _Compiling(enabled=os.environ.get("MINPY_COMPILE", "1") != "0")


def is_enabled() -> bool:
    """Tell whether this thread lets programs become native code, and runs what has.

    Examples
    --------
    >>> with disabled():
    ...     is_enabled()
    False
    """
    return _compiling.enabled


class _Disabled:
    def __enter__(self) -> None:
        values = vars(_compiling)
        leave = partial(values.update, {"enabled": values["enabled"], "leave": values["leave"]})
        values |= {"enabled": False, "leave": leave}

    __exit__ = leaving(_compiling)


def disabled() -> _Disabled:
    """Return a scope in which nothing is compiled to native code, and what has been is not run, in this thread.

    Programs run as Python then, with the same results but for rounding.

    Examples
    --------
    >>> from minpy.graph.native.enabling import is_enabled
    >>> with disabled():
    ...     is_enabled()
    False
    """
    return _Disabled()
