"""One thread beside the caller's, for loops that take long: `share` cuts a range between the two.

It is ours alone: a pool of OpenMP's would have its threads wait, running, beside those of NumPy's BLAS, and slow both.
Asleep it costs nothing; a few microseconds after a job is left for it, it works. A forked child gets a helper of its
own with its first long loop. When the interpreter ends, the helper sleeps, and ends with the process.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from minpy.backends.native.machine import helper_thread_ir, llvm
from minpy.core.errors import ArgumentValueError

__all__ = ["VARIABLE", "Helper", "count", "find"]

# The environment variable that says how many threads a loop may run in.
VARIABLE = "MINPY_COMPILE_THREADS"
_MOST = 2


@dataclass(frozen=True)
class Helper:
    """What generated code needs to share work with the helper thread: two addresses, valid until the process ends.

    `share` is that of `void share(ptr desk, ptr task, ptr block, i64 begin, i64 end, i64 pieces)`, `desk` its first
    argument. It calls `void task(ptr block, i64 begin, i64 end, i64 who)` for consecutive ranges that make up [begin,
    end), at most `pieces` of them, in this thread (who is 0) and in the helper's (1), and returns when all are done.
    Where the helper is taken by another caller, it calls `task` once, for the whole range. It may be called with and
    without Python's lock; `task` must not touch objects of Python.
    """

    share: int
    desk: int


def count() -> int:
    """Return in how many threads a loop may run: 1 or 2.

    It is 2 where the process may use two processors, and the environment variable MINPY_COMPILE_THREADS does not say 1.

    Raises
    ------
    ArgumentValueError
        If the variable is no number from 1 on.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if text:
        if not text.isascii() or not text.isdigit() or int(text) < 1:
            raise ArgumentValueError(
                f"{VARIABLE} must be how many threads a compiled loop may run in: 1 or 2, got {text!r}."
            )
        if int(text) == 1:
            return 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, _MOST)


def find() -> Helper | None:
    """Return the helper of this process; None where loops run in one thread."""
    if count() == 1:
        return None
    with _lock:
        if not _helpers:
            _helpers.append(_start())
        return _helpers[0]


_lock = threading.Lock()
_helpers: list[Helper | None] = []
# The thread runs in it to the very end, when `llvm` leaves all code where it is.
_code: list[llvm.Loaded] = []


def _start() -> Helper | None:
    desk = helper_thread_ir.desk()
    if desk is None:
        return None
    loaded = llvm.compile(helper_thread_ir.SOURCE)
    _code.append(loaded)
    return Helper(loaded.address("share"), desk)


if hasattr(os, "register_at_fork"):  # a child of several threads must not find it locked by one that it does not have
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
