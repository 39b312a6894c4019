"""When minpy was imported: later changes of its files are not in this process."""

from __future__ import annotations

import time

__all__ = ["IMPORTED"]

# In nanoseconds, as the times of files are.
IMPORTED = time.time_ns()
