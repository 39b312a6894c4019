"""What compiling may cost beside calls as they were: never much of them, however often something new has to be made."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

__all__ = ["Allowance"]

# So many are free. Later ones may take this share of the time that calls without them took.
_FREE, _SHARE = 8, 0.15
# Without time of its own, something new is made for calls of a kind that was seen so often; the latest are remembered.
_OFTEN, _MOST_SEEN = 3, 4096


class Allowance:
    """Whether there is time for one more: captures of a function, or programs of a graph for ever new shapes.

    Examples
    --------
    >>> allowance = Allowance()
    >>> for _ in range(9):
    ...     _ = allowance.charge(0.5)
    >>> allowance.is_free, allowance.covers()
    (False, False)
    >>> allowance.eager_seconds += 10.0
    >>> allowance.covers(), allowance.covers(times=4)
    (True, False)
    """

    def __init__(self) -> None:
        self.count = 0  # how many were made
        # Seconds that they took, beyond the free ones; that calls took which went on without; that all of them took.
        self.spent = self.eager_seconds = self._total = 0.0
        self._seen: OrderedDict[Any, int] = OrderedDict()  # how often there was a call of a kind, and none was made

    @property
    def is_free(self) -> bool:
        """Whether the next one costs nothing."""
        return self.count < _FREE

    def covers(self, times: int = 1) -> bool:
        """Tell whether there is time for one that takes as long as one took on average, or so many times as long."""
        return self.spent + times * self._total / max(self.count, 1) <= _SHARE * self.eager_seconds

    def times_seen(self, key: Any) -> int:
        """Count a call of a kind for which there is none, and return how many such calls there were."""
        times = self._seen[key] = self._seen.pop(key, 0) + 1
        while len(self._seen) > _MOST_SEEN:
            self._seen.popitem(last=False)
        return times

    def allows_another(self, times: int, price: int = 1) -> bool:
        """Tell whether one may be made for a kind of calls that was seen so often, for a multiple of the usual time."""
        return times >= _OFTEN and self.covers(price)

    def charge(self, seconds: float) -> bool:
        """Note what one has taken, and tell whether that was free."""
        is_free = self.is_free
        self.count += 1
        self.charge_more(seconds, is_free)
        return is_free

    def charge_more(self, seconds: float, is_free: bool) -> None:
        """Note what one that was free, or was not, has taken beside what was noted."""
        self._total += seconds
        if not is_free:
            self.spent += seconds
