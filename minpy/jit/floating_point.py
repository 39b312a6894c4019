"""Whether NumPy is asked to do more about floating-point errors than to warn: then functions run as written."""

from __future__ import annotations

from typing import Any

import numpy

__all__ = ["is_calm"]

_QUIET = {"ignore", "warn"}

_setting: Any = None
try:
    from numpy._core.umath import _extobj_contextvar  # NumPy 2: one object for one setting
except ImportError:
    from numpy.core.umath import geterrobj  # NumPy 1: three bits for each kind of error; 0 ignores, 1 warns
else:
    _setting = _extobj_contextvar

_seen: dict[int, tuple[Any, bool]] = {}


def is_calm() -> bool:
    """Tell whether floating-point errors are ignored or warned about in this thread, and nothing else is done.

    Examples
    --------
    >>> with numpy.errstate(divide="raise"):
    ...     is_calm()
    False
    """
    if _setting is None:
        mask = geterrobj()[1]
        return not mask & 0o6666
    setting = _setting.get()
    known = _seen.get(id(setting))
    if known is None or known[0] is not setting:
        if len(_seen) > 64:
            _seen.clear()
        known = _seen[id(setting)] = (setting, _QUIET.issuperset(numpy.geterr().values()))
    return known[1]
