"""Where `asnumpy` and `nd.array` share memory instead of copying it: in the call to which buffers are lent.

Who lends, and when, is `minpy.custom.lending`'s business.
"""

from __future__ import annotations

import threading
from types import CodeType, FrameType

__all__ = ["local"]


class _Local(threading.local):
    # Buffers are lent to this code, where this frame calls it, and when it asks itself: what it calls is lent nothing.
    # The third says whether arrays may lie in memory in any order: sums of others than a copy's have other last bits.
    loan: tuple[CodeType, FrameType, bool] | None = None


local = _Local()
