"""What the plain C libraries saw of their host: calls, faults, memory and states that are still out.

watched = Watched(build("operators.c"))
with watched.calls() as calls:
    nd.raw_affine(x)
assert calls == ["parseAttrs raw_affine", ...]
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["Watched"]


class Watched:
    """A library made with `raw.h`, as it sees its host.

    Parameters
    ----------
    path : Path
        Of the library, under the name that the host has opened or will open.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._library = ctypes.CDLL(str(path))
        for name in ("raw_log_line", "raw_fault"):
            getattr(self._library, name).restype = ctypes.c_char_p
        for name in ("raw_states_made", "raw_states_destroyed"):
            getattr(self._library, name).restype = ctypes.c_long

    @contextmanager
    def calls(self) -> Iterator[list[str]]:
        """Give a list that has the calls, trampoline and operator, once the block is left."""
        found: list[str] = []
        self._library.raw_log(1)
        try:
            yield found
        finally:
            lines = [self._library.raw_log_line(index) for index in range(self._library.raw_log_size())]
            self._library.raw_log(0)
            found += [line.decode() for line in lines]

    @property
    def faults(self) -> list[str]:
        """What the host has done that it must never do, since the library was opened."""
        return [self._library.raw_fault(index).decode() for index in range(self._library.raw_faults())]

    @property
    def blocks(self) -> int:
        """How many blocks of memory the host has yet to give back."""
        return self._library.raw_blocks()

    @property
    def states(self) -> int:
        """How many states are alive."""
        return self._library.raw_states()

    @property
    def states_made(self) -> int:
        """How many states there have been."""
        return self._library.raw_states_made()

    @property
    def states_destroyed(self) -> int:
        """How many of them are no more."""
        return self._library.raw_states_destroyed()

    @property
    def arrivals(self) -> int:
        """How many calls have come to `raw_meet`."""
        return self._library.raw_arrivals()

    def forget_arrivals(self) -> None:
        """Let the next meeting begin."""
        self._library.raw_forget_arrivals()

    def told_version(self) -> int:
        """Return the version of MXNet that `initialize` was told, -1 before it was."""
        return self._library.raw_told_version()
