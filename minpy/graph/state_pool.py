"""Sets of states that operators keep from one call of a graph to the next: native operators, in static blocks.

As in MXNet's CachedOp: each call in flight has a set of states of its own. The first one that is free serves the next
call, and is begun anew if that is recorded and the latest one was not, or the other way round, or if its arrays have
other shapes or dtypes.
"""

from __future__ import annotations

import itertools
from typing import Any

__all__ = ["StatePool", "StateSet"]


class StateSet:
    """A set of states, for one call at a time."""

    __slots__ = ("_home", "mode", "number", "states")

    def __init__(self, number: int = 0) -> None:
        self._home: StatePool | None = None  # only while it is in use, so that nothing refers to itself
        self.number = number
        self.mode: Any = None  # of the latest call
        self.states: dict[Any, Any] = {}  # by what operators know their place in the graph as

    def release(self) -> None:
        """Let it serve further calls."""
        home, self._home = self._home, None
        if home is not None:
            home.idle.append(self)


class StatePool:
    """The sets of states of one graph. Sets may come back at any time, also while one is looked for."""

    def __init__(self) -> None:
        self.idle: list[StateSet] = []
        self._number = itertools.count().__next__

    def acquire(self, mode: Any) -> StateSet:
        """Return a set that no call uses, for one in a mode: the first of them, which forgets those of another mode."""
        while True:
            idle = [*self.idle]
            if not idle:
                state_set = StateSet(self._number())
                break
            state_set = min(idle, key=lambda idle_set: idle_set.number)
            try:
                self.idle.remove(state_set)
                break
            except ValueError:  # another thread has it
                continue
        state_set._home = self
        if state_set.mode != mode:
            state_set.states = {}
            state_set.mode = mode
        return state_set
