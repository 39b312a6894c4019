"""Imports at first use, of threads one after the other.

A thread that imports a module of a package holds the module's lock, and waits for the package; another, which imports
the package, holds that lock and waits for the module: Python calls it a deadlock and raises. So whatever is imported
when it is first used is imported under one lock, which is taken before any of Python's.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from types import FrameType, ModuleType

__all__ = ["import_module", "one_at_a_time"]

# In a list: a forked child has a lock of its own, whoever held the parent's.
_locks = [RLock()]
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _locks.__setitem__(0, RLock()))


def import_module(name: str) -> ModuleType:
    """Import a module by its full name, as `importlib.import_module` does, while no other thread does so.

    >>> import_module('minpy.context').cpu()
    cpu(0)
    """
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        return module
    with one_at_a_time():
        return importlib.import_module(name)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Surround imports at first use, so that those of several threads do not wait for each other in a ring."""
    lock = _locks[0]
    # Who is importing already holds locks of Python's, for which the owner of this one may wait: it goes on without.
    is_held = lock.acquire(blocking=not _is_importing())
    try:
        yield
    finally:
        if is_held:
            lock.release()


def _is_importing() -> bool:
    """Tell whether this thread is inside of an import, whose locks it holds."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False
