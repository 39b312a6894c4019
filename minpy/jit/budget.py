"""What may be captured: so that a function called with ever new shapes is never much slower than as it is written."""

from __future__ import annotations

import types
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from minpy.backends.switches import keeps_bits
from minpy.graph.allowance import Allowance

__all__ = ["Budget", "budget_of", "forget"]

# Without time of its own, a key is captured once it has been seen so often, and there is credit.
_OFTEN = 3
_TIRED, _LONGEST_REST = 16, 256
# Keys that were seen and not captured are remembered, the latest ones.
_MOST_SEEN = 4096


class Budget(Allowance):
    """The captures of one code object, which several functions may share: a lambda in a loop is one code.

    Attributes
    ----------
    count, spent, as_written
        How many there were, and seconds: see `Allowance`.
    misses : int
        How many calls ran as written since the last one for which there was a specialization.
    resting : int
        For how many calls none is looked for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.misses = self.resting = 0
        self._seen: OrderedDict[Any, int] = OrderedDict()

    def allows(self, key: Any) -> bool:
        """Tell whether a call of a kind may be captured now; it is counted."""
        if self.is_free or keeps_bits():  # a call as written might give other bits than those before it
            return True
        times = self._seen.pop(key, 0) + 1
        self._seen[key] = times
        while len(self._seen) > _MOST_SEEN:
            self._seen.popitem(last=False)
        return times >= _OFTEN and self.covers

    def tire(self) -> None:
        """Note a call as written for which there was no specialization.

        After 16 of them in a row, calls rest: the next quarter as many (256 at most) do not look for one.
        """
        self.misses += 1
        if self.misses >= _TIRED:
            self.resting = min(self.misses // 4, _LONGEST_REST)

    def rest(self) -> None:
        """Note that a specialization is slower than the call as written: the next 256 calls do not look for one."""
        self.resting = _LONGEST_REST


_budgets: weakref.WeakKeyDictionary[types.CodeType, Budget] = weakref.WeakKeyDictionary()


def budget_of(function: Callable[..., Any]) -> Budget:
    """Return the budget of a function's code; one of its own for what has none."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType):
        return Budget()
    budget = _budgets.get(code)
    if budget is None:
        budget = _budgets.setdefault(code, Budget())
    return budget


def forget() -> None:
    """Begin all budgets anew, of functions that are compiled from now on."""
    _budgets.clear()
