"""Where `asnumpy` and `nd.array` share memory instead of copying it: in the code to which buffers are lent.

Who lends, and when, is `minpy.custom.lending`'s business.
"""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType
from typing import Any

import numpy

from minpy.core.array import new_array

__all__ = ["borrows", "lent_array", "local"]


class _Local(threading.local):
    # The code that is lent the buffers which it asks for itself (what it calls is lent nothing), and who calls it.
    code: CodeType | None = None
    caller: CodeType | None = None


local = _Local()


def borrows(frame: FrameType) -> bool:
    """Tell whether buffers are lent to the code that runs in `frame`: to that call of it, and no other."""
    caller = frame.f_back
    return frame.f_code is local.code and caller is not None and caller.f_code is local.caller


def lent_array(cls: Any, source: Any, dtype: Any) -> Any:
    """Return an array of class `cls` around the memory of `source`, if the caller's caller is lent it; else None."""
    if (
        type(source) is numpy.ndarray
        and source.dtype == dtype
        and source.base is None
        and source.flags.c_contiguous
        and borrows(sys._getframe(2))
    ):
        return new_array(cls, source)
    return None
