"""Threads belong to one process: a fork of it has what they were to fill, and not the threads."""

from __future__ import annotations

import os

from minpy.core.errors import WorkerError

__all__ = ["require_process"]


def require_process(function: str, pid: int) -> None:
    """Raise an error where a process waits for threads of the one that it was forked from: it would wait for ever."""
    if pid != os.getpid():
        raise WorkerError(
            f"{function}: the iterator was made in process {pid}, whose threads read for it, and is asked for a batch "
            f"in process {os.getpid()}, which was forked from that one and has none. Make the iterator in the process "
            "that reads it."
        )
