"""One lock for what threads must not do at the same time to programs: it is free in a forked child, whoever held it."""

from __future__ import annotations

import os
import threading

__all__ = ["lock"]

_locks = [threading.RLock()]
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _locks.__setitem__(0, threading.RLock()))


def lock() -> threading.RLock:  # type: ignore[valid-type, unused-ignore]
    """Return the lock, to be held only while nothing of users' runs."""
    return _locks[0]
