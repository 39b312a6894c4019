"""Which is faster, a specialization or the function run eagerly: both are timed on the same calls.

A function that was captured has no effects, so it may run twice. The slower way is not run again.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

__all__ = ["Candidate", "trials"]

# Calls that are timed both ways; one is enough if it takes `_LONG` seconds and the specialization wins.
_CALLS, _LONG = 3, 0.005
# The function runs eagerly only where that is faster by this factor.
_MIN_SPEEDUP = 1.1


class _Trials:
    """Whether there are trials in this process. Without them what can be captured runs captured."""

    enabled = True


trials = _Trials()


class Candidate:
    """A specialization with its entry, and what is known of how fast it is."""

    __slots__ = (
        "_calls",
        "_captured_time",
        "_eager_time",
        "_was_settled",
        "entry",
        "is_decided",
        "runs_eagerly",
        "specialization",
    )

    def __init__(self, entry: Any, specialization: Any) -> None:
        self.entry, self.specialization = entry, specialization
        # Whether the specialization has won, or needs no trial; `runs_eagerly`: whether it has lost.
        self.is_decided = not trials.enabled or not specialization.may_run_twice
        self.runs_eagerly = self._was_settled = False
        self._calls = 0
        self._captured_time = self._eager_time = float("inf")

    def note(self, seconds: float, eager: Callable[[], Any]) -> None:
        """Note what a call took, and compare: `eager` runs the function as it is written."""
        settled, was_settled = self.specialization.is_settled, self._was_settled
        if settled is None:
            self.is_decided = True
        self._was_settled = bool(settled)
        if not was_settled:  # it is not, or became so in this very call, which has compiled it
            return
        self._captured_time = min(self._captured_time, seconds)
        began = perf_counter()
        eager()
        self._eager_time = min(self._eager_time, perf_counter() - began)
        self._calls += 1
        loses = self._captured_time > _MIN_SPEEDUP * self._eager_time
        if self._calls >= _CALLS or (seconds > _LONG and not loses):
            self.runs_eagerly, self.is_decided = loses, not loses
