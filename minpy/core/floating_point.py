"""Whether floating-point errors may be an exception, or a call of a user's: then functions run as they are written."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

__all__ = ["is_calm"]

_QUIET = {"ignore", "warn"}

_setting: Any = None
try:
    from numpy._core.umath import _extobj_contextvar  # NumPy 2: one object for one setting
except ImportError:
    from numpy.core.umath import geterrobj  # NumPy 1: three bits for each kind of error, as a small integer
else:
    _setting = _extobj_contextvar

# As of the last call: NumPy's setting; the filters of warnings, their number, the first of them; the result.
_latest: tuple[Any, Any, int, Any, bool] = (None, None, 0, None, True)


def is_calm() -> bool:
    """Tell whether floating-point errors are ignored in this thread, or warned about and nothing else.

    Examples
    --------
    >>> with numpy.errstate(divide="raise"):
    ...     is_calm()
    False
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", RuntimeWarning)
    ...     is_calm()
    False
    """
    global _latest
    setting = geterrobj()[1] if _setting is None else _setting.get()
    before, filters, count, first, calm = _latest
    is_known = setting is before and warnings.filters is filters and len(filters) == count
    if is_known and (not count or filters[0] is first):
        return calm
    filters = warnings.filters
    actions = set(numpy.geterr().values())
    calm = actions <= _QUIET and ("warn" not in actions or not _are_errors(filters))
    _latest = (setting, filters, len(filters), filters[0] if filters else None, calm)
    return calm


def _are_errors(filters: Any) -> bool:
    """Tell whether a filter makes exceptions of NumPy's warnings: one that names them.

    One that names all warnings speaks of those that are given, and a graph gives none.
    """
    for action, message, category, module, line in list(filters):
        if category is RuntimeWarning:
            if action == "error":
                return True
            if message is None and module is None and not line:  # it says what becomes of all of them
                return False
    return False
