"""What compiling may cost beside calls as they were: never much of them, however often something new has to be made."""

from __future__ import annotations

__all__ = ["Allowance"]

# So many are free. Later ones may take this share of the time that calls without them took.
_FREE, _SHARE = 8, 0.15


class Allowance:
    """Whether there is time for one more: captures of a function, or programs of a graph for ever new shapes.

    Attributes
    ----------
    count : int
        How many were made.
    spent, as_written : float
        Seconds that they took, beyond the free ones; and that calls took which went on without.

    Examples
    --------
    >>> allowance = Allowance()
    >>> for _ in range(9):
    ...     allowance.charge(0.5)
    >>> allowance.is_free, allowance.covers
    (False, False)
    >>> allowance.as_written += 10.0
    >>> allowance.covers
    True
    """

    def __init__(self) -> None:
        self.count = 0
        self.spent = self.as_written = 0.0
        self._latest = 0.0

    @property
    def is_free(self) -> bool:
        """Whether the next one costs nothing."""
        return self.count < _FREE

    @property
    def covers(self) -> bool:
        """Whether there is time for one that takes as long as the latest."""
        return self.spent + self._latest <= _SHARE * self.as_written

    def charge(self, seconds: float) -> None:
        """Note what one has taken."""
        self.count += 1
        self._latest = seconds
        if self.count > _FREE:
            self.spent += seconds
