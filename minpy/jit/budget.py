"""What may be captured: so that a function called with ever new shapes is never much slower than as it is written."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from typing import Any

from minpy.backends.switches import keeps_bits
from minpy.graph.allowance import Allowance

__all__ = ["Budget", "budget_of", "forget"]

# After so many misses in a row calls rest: so many at first, and then twice as many each time.
_TIRED, _REST, _LONGEST_REST = 16, 8, 256
# So many captures in a row that were of no use: what comes back is taken for something that only looks the same.
_IN_VAIN = 8
# The next one is at most so many times doubled in price.
_DEAREST = 30


class Budget(Allowance):
    """The captures of one code object, which several functions may share: a lambda in a loop is one code."""

    def __init__(self) -> None:
        super().__init__()
        self.misses = 0  # how many calls ran as written since the last one for which there was a specialization
        self.resting = 0  # for how many calls none is looked for; threads that call at once may count below zero
        # How many captures there were since a specialization held for a call. Each makes the next one, where it is not
        # free, twice as dear.
        self.in_vain = 0

    def allows(self, key: Any, is_known: bool) -> bool:
        """Tell whether a call may be captured for which no specialization holds; it is counted.

        If it may not, it is to run as written. After 16 such calls in a row calls rest: the next ones do not look for a
        specialization. That is few calls if the kind of call has been seen before, since it may be captured soon, and
        twice as many each time (256 at most) if calls are of ever new kinds, or of one for which nothing ever holds.

        `key`: the kind of call; None if it has none. `is_known`: whether there are specializations for that kind, so
        that what was read is another each time.
        """
        if key is not None:
            if self.is_free or keeps_bits():  # a call as written might give other bits than those before it
                return True
            times = self.times_seen(key)
            if self.allows_another(times, 1 << min(self.in_vain, _DEAREST)):
                return True
            may_follow = times > 1 and not is_known and self.in_vain < _IN_VAIN
            if may_follow and self.misses >= _TIRED:
                self.misses = _TIRED - 1
        self.misses += 1
        if self.misses >= _TIRED:
            self.misses = min(self.misses, _TIRED + _DEAREST)
            self.resting = min(_REST << (self.misses - _TIRED), _LONGEST_REST)
        return False

    def charge(self, seconds: float) -> bool:
        """Note what a capture has taken, and tell whether that was free."""
        self.in_vain += 1
        return super().charge(seconds)

    def note_use(self) -> None:
        """Note that a specialization holds for a call."""
        self.misses = self.in_vain = 0

    def rest(self) -> None:
        """Note that a specialization is slower than the call as written: the next 256 calls do not look for one."""
        self.resting = _LONGEST_REST


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
