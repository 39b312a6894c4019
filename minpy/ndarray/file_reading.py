"""The values of many arrays read from one file: each straight into its memory, large ones by several threads.

Most of the time of reading a large file that the system has in memory goes into the pages of the new arrays, which it
clears as they are touched for the first time. Threads do that side by side; Python's lock is free meanwhile.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy

__all__ = ["LARGE", "Part", "can_fill", "fill"]

LARGE = 1 << 18  # bytes from which an array is worth a call of its own
_SEVERAL = 1 << 23  # bytes in all from which threads are worth their start
_MOST_THREADS = 4


class Part(NamedTuple):
    """A contiguous array, where its values begin in the file, and what messages call them."""

    data: numpy.ndarray
    offset: int
    name: str


def can_fill(stream: BinaryIO) -> bool:
    """Tell whether a file can be read at any place by any thread."""
    return hasattr(os, "preadv") and isinstance(stream, io.BufferedReader)


def fill(stream: BinaryIO, parts: Sequence[Part]) -> Part | None:
    """Read the values of all arrays; return the first that the file is too short for, or None."""
    file = stream.fileno()
    threads = min(_MOST_THREADS, _processors(), len(parts))
    if threads < 2 or sum(part.data.nbytes for part in parts) < _SEVERAL:
        complete = [_read(file, part) for part in parts]
    else:
        from concurrent.futures import ThreadPoolExecutor  # only for files of several large arrays

        with ThreadPoolExecutor(threads, "minpy-load") as pool:
            complete = list(pool.map(lambda part: _read(file, part), parts))
    return next((part for part, whole in zip(parts, complete, strict=True) if not whole), None)


def _processors() -> int:
    count: Any = getattr(os, "sched_getaffinity", None)
    return len(count(0)) if count is not None else os.cpu_count() or 1


def _read(file: int, part: Part) -> bool:
    """Read an array's values; False if the file ends before."""
    unread = memoryview(part.data.reshape(-1).view(numpy.uint8))  # type: ignore[arg-type]
    offset = part.offset
    while unread:
        count = os.preadv(file, [unread], offset)
        if not count:
            return False
        unread, offset = unread[count:], offset + count
    return True
