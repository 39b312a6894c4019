"""A limit on the time that compiling takes: a small share of that of eager calls, whatever has to be compiled."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

__all__ = ["Allowance"]

# The first ones are free. Later ones may take this share of the time that eager calls took.
_FREE, _SHARE = 8, 0.15
# A kind of call is compiled once it was seen so often; the latest kinds are remembered.
_OFTEN, _MOST_SEEN = 3, 4096


class Allowance:
    """Tells whether there is time for one more capture of a function, or one more program of a graph.

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
        # Seconds: of those that were not free, of eager calls, and of all.
        self.spent = self.eager_seconds = self._total = 0.0
        self._seen: OrderedDict[Any, int] = OrderedDict()  # how often each kind of call came without one

    @property
    def is_free(self) -> bool:
        """Whether the next one costs nothing."""
        return self.count < _FREE

    def covers(self, times: int = 1) -> bool:
        """Tell whether there is time for one of average length, or one `times` as long."""
        return self.spent + times * self._total / max(self.count, 1) <= _SHARE * self.eager_seconds

    def times_seen(self, key: Any) -> int:
        """Count a call of a kind that is not compiled, and return how many there were."""
        times = self._seen[key] = self._seen.pop(key, 0) + 1
        while len(self._seen) > _MOST_SEEN:
            self._seen.popitem(last=False)
        return times

    def allows_another(self, times: int, price: int = 1) -> bool:
        """Tell whether a kind seen `times` may be compiled, at `price` times the average length."""
        return times >= _OFTEN and self.covers(price)

    def charge(self, seconds: float) -> bool:
        """Note how long one took, and tell whether it was free."""
        is_free = self.is_free
        self.count += 1
        self.charge_more(seconds, is_free)
        return is_free

    def charge_more(self, seconds: float, is_free: bool) -> None:
        """Note further time that one took."""
        self._total += seconds
        if not is_free:
            self.spent += seconds
