"""Limits on captures, so that a function called with ever new shapes is never much slower than run eagerly."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from typing import Any

from minpy.backends.switches import keeps_bits
from minpy.graph.allowance import Allowance

__all__ = ["Budget", "budget_of", "forget"]

# After this many misses in a row calls skip the lookup: a few at first, then twice as many each time.
_MAX_MISSES, _FIRST_PAUSE, _LONGEST_PAUSE = 16, 8, 256
# After this many unused captures in a row, a kind of call that returns is taken for one that only looks the same.
_MAX_UNUSED = 8
# The price of the next capture is doubled at most this often.
_MAX_DOUBLINGS = 30


class Budget(Allowance):
    """The captures of one code object, which several functions may share: a lambda in a loop is one code."""

    def __init__(self) -> None:
        super().__init__()
        self.misses = 0  # how many calls ran as written since the last one for which there was a specialization
        self.lookups_to_skip = 0  # calls left that look for none; threads may count below zero
        # Captures since a specialization was last used; each doubles the price of the next one that is not free.
        self.unused_captures = 0

    def allows(self, key: Any, is_known: bool) -> bool:
        """Tell whether a call may be captured for which no specialization holds; it is counted.

        If not, it runs as written. After 16 such calls in a row, the next ones do not look for a specialization: a few
        calls if the kind has been seen before, since it may be captured soon, and twice as many each time (256 at most)
        if calls are of ever new kinds, or of one for which nothing ever holds.

        `key`: the kind of call; None if it has none. `is_known`: whether there are specializations for that kind, so
        that what was read is another each time.
        """
        if key is not None:
            if self.is_free or keeps_bits():  # a call as written might give other bits than those before it
                return True
            times = self.times_seen(key)
            if self.allows_another(times, 1 << min(self.unused_captures, _MAX_DOUBLINGS)):
                return True
            may_follow = times > 1 and not is_known and self.unused_captures < _MAX_UNUSED
            if may_follow and self.misses >= _MAX_MISSES:
                self.misses = _MAX_MISSES - 1
        self.misses += 1
        if self.misses >= _MAX_MISSES:
            self.misses = min(self.misses, _MAX_MISSES + _MAX_DOUBLINGS)
            self.lookups_to_skip = min(_FIRST_PAUSE << (self.misses - _MAX_MISSES), _LONGEST_PAUSE)
        return False

    def charge(self, seconds: float) -> bool:
        """Note what a capture has taken, and tell whether that was free."""
        self.unused_captures += 1
        return super().charge(seconds)

    def note_use(self) -> None:
        """Note that a specialization holds for a call."""
        self.misses = self.unused_captures = 0

    def skip_lookups(self) -> None:
        """Note that a specialization is slower than the call as written: the next 256 calls do not look for one."""
        self.lookups_to_skip = _LONGEST_PAUSE


_budgets: weakref.WeakKeyDictionary[types.CodeType, Budget] = weakref.WeakKeyDictionary()
# The same, found faster: by the ids of code objects, each with a reference that removes it when the code is gone.
_by_id: dict[int, tuple[Budget, Any]] = {}


def budget_of(function: Callable[..., Any]) -> Budget:
    """Return the budget of a function's code; one of its own for what has none."""
    code = getattr(function, "__code__", None)
    budget_and_code = _by_id.get(id(code))
    if budget_and_code is not None:
        return budget_and_code[0]
    if not isinstance(code, types.CodeType):
        return Budget()
    budget = _budgets.get(code)  # equal code of another object: made by `exec` in a loop, say
    if budget is None:
        budget = _budgets.setdefault(code, Budget())
    key = id(code)
    _by_id[key] = budget, weakref.ref(code, lambda _: _by_id.pop(key, None))
    return budget


def forget() -> None:
    """Begin all budgets anew, of functions that are compiled from now on."""
    _budgets.clear()
    _by_id.clear()
