"""What operators keep from one call of a graph to the next: the states of native operators, in blocks that are static.

As in MXNet's CachedOp: each call in flight has a set of states of its own. The first one that is free serves the next
call, and is begun anew if that is recorded and the latest one was not, or the other way round, or if its arrays have
other shapes or dtypes.
"""

from __future__ import annotations

import itertools
from typing import Any

__all__ = ["Keeping", "Kept"]


class Kept:
    """A set of states, for one call at a time.

    Attributes
    ----------
    number : int
    mode : object
        Of the latest call.
    states : dict
        By what operators know their place in the graph as.
    """

    __slots__ = ("_home", "mode", "number", "states")

    def __init__(self, number: int = 0) -> None:
        self._home: Keeping | None = None  # only while it is in use, so that nothing refers to itself
        self.number = number
        self.mode: Any = None
        self.states: dict[Any, Any] = {}

    def give_back(self) -> None:
        """Let it serve further calls."""
        home, self._home = self._home, None
        if home is not None:
            home.idle.append(self)


class Keeping:
    """The sets of states of one graph. Sets may come back at any time, also while one is looked for.

    Attributes
    ----------
    idle : list of Kept
    """

    def __init__(self) -> None:
        self.idle: list[Kept] = []
        self._number = itertools.count().__next__

    def take(self, mode: Any) -> Kept:
        """Return a set that no call uses, for one in a mode: the first of them, which forgets those of another mode."""
        while True:
            idle = [*self.idle]
            if not idle:
                kept = Kept(self._number())
                break
            kept = min(idle, key=lambda one: one.number)
            try:
                self.idle.remove(kept)
                break
            except ValueError:  # another thread has it
                continue
        kept._home = self
        if kept.mode != mode:
            kept.states = {}
            kept.mode = mode
        return kept
