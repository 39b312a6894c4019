"""When minpy was imported: what is changed in its files later is not what this process runs."""

from __future__ import annotations

import time

__all__ = ["IMPORTED"]

# In nanoseconds, as the times of files are.
IMPORTED = time.time_ns()
