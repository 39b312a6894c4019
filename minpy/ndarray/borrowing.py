"""Where `asnumpy` and `nd.array` share memory instead of copying it: in the call to which buffers are lent.

Who lends, and when, is `minpy.custom.lending`'s business.
"""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType
from typing import Any

import numpy

from minpy.core.array import Array, create

__all__ = ["lent_array", "local"]


class _Local(threading.local):
    # Buffers are lent to this code, where this frame calls it, and when it asks itself: what it calls is lent nothing.
    code: CodeType | None = None
    frame: FrameType | None = None


local = _Local()


def lent_array(cls: Any, source: Any, dtype: Any) -> Any:
    """Return an array of class `cls` around the memory of `source`, if the caller's caller is lent it; else None."""
    if type(source) is numpy.ndarray and source.dtype == dtype and source.base is None and source.flags.c_contiguous:
        caller: Any = sys._getframe(2)
        if caller.f_code is local.code and caller.f_back is local.frame:
            array: Array = create(cls)
            array._data = source
            array._node = None
            return array
    return None
