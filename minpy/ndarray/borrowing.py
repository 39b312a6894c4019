"""Where `asnumpy` and `nd.array` share memory instead of copying it: in the code to which buffers are lent.

Who lends, and when, is `minpy.custom.lending`'s business.
"""

from __future__ import annotations

import sys
import threading
import types
from typing import Any

import numpy

from minpy.core.array import Array

__all__ = ["lends", "lent_view", "local"]


class _Local(threading.local):
    # The code that is lent the buffers which it asks for itself; what it calls is lent nothing.
    code: types.CodeType | None = None


local = _Local()


def lent_view(array: Array) -> numpy.ndarray:
    """Return the buffer of `array` for reading, if the caller's caller is lent it; else a copy."""
    code = local.code
    if code is None or sys._getframe(2).f_code is not code:
        return array._data.copy()
    return array._data.view()


def lends(source: Any, dtype: Any) -> bool:
    """Tell whether `nd.array(source, dtype=dtype)` may share the memory of `source`."""
    code = local.code
    return (
        code is not None
        and type(source) is numpy.ndarray
        and source.dtype == dtype
        and source.base is None
        and source.flags.c_contiguous
        and sys._getframe(2).f_code is code
    )
