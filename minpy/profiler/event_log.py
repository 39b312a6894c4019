"""What a profiler has seen: a list of events, and the times of the same name added up."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any, NamedTuple

from minpy.core.state import ThreadValues, leaving

__all__ = ["LOG", "Event", "Log", "Statistics", "scope"]


class Event(NamedTuple):
    """Something that happened."""

    phase: str  # as in traces: 'X', what has a duration; 'C', a counter that was set; 'i', a moment
    category: str
    name: str
    start: int  # in nanoseconds of `time.perf_counter_ns`, as the duration
    duration: int
    thread: int
    details: dict[str, Any] | None  # what a trace says beside it: the node of a step, the value of a counter


class Statistics:
    """How often something happened, and the sum, the smallest and the greatest of its durations or values."""

    __slots__ = ("count", "greatest", "last", "smallest", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.smallest = self.greatest = self.last = 0.0

    def add(self, value: float) -> None:
        """Take one more value."""
        self.smallest = min(self.smallest, value) if self.count else value
        self.greatest = max(self.greatest, value) if self.count else value
        self.count += 1
        self.total += value
        self.last = value

    @property
    def average(self) -> float:
        """The mean."""
        return self.total / self.count if self.count else 0.0


class Log:
    """Events of all threads, in the order in which they ended; `running` says whether they are taken."""

    def __init__(self) -> None:
        self.running = False
        self.events: list[Event] = []
        self._counted = 0  # events that are in the statistics
        self._statistics: dict[tuple[str, str, str], Statistics] = {}
        self._lock = threading.Lock()
        # What has to be added to the time of events for that of the calendar.
        self.epoch = time.time_ns() - time.perf_counter_ns()

    def add(
        self, category: str, name: str, start: int, end: int, details: dict[str, Any] | None = None, phase: str = "X"
    ) -> None:
        """Note an event of this thread."""
        self.events.append(
            Event(phase, category, _scope.prefix + name, start, end - start, threading.get_ident(), details)
        )

    def statistics(self) -> dict[tuple[str, str, str], Statistics]:
        """Return what is known of all (phase, category, name)."""
        with self._lock:
            end = len(self.events)
            for event in self.events[self._counted : end]:
                totals = self._statistics.setdefault(event[:3], Statistics())
                totals.add(_value(event))
            self._counted = end
            return dict(self._statistics)

    def reset_statistics(self) -> None:
        """Begin to add up anew."""
        self.statistics()
        self._statistics.clear()

    def clear(self) -> None:
        """Forget the events; the statistics stay."""
        self.statistics()
        with self._lock:
            self.events.clear()
            self._counted = 0


def _value(event: Event) -> float:
    """Return what is added up of an event: a counter's value, or milliseconds: its own, where others lie inside."""
    details = event.details or {}
    if event.phase == "C":
        return float(details["value"])
    return float(details.get("own nanoseconds", event.duration)) / 1e6


LOG = Log()


class _Scope(ThreadValues):
    prefix: str


_scope = _Scope(prefix="")


class scope:
    """A `with` statement in which the names of events of this thread begin with a text of one's own.

    Parameters
    ----------
    name : str
        Such as 'encoder:'. Scopes nest.

    Examples
    --------
    >>> from minpy import nd, profiler
    >>> profiler.set_state('run')
    >>> with profiler.scope('encoder:'):
    ...     y = nd.exp(nd.ones(2))
    >>> profiler.set_state('stop')
    >>> 'encoder:exp' in profiler.dumps(reset=True)
    True
    """

    def __init__(self, name: str = "<unk>:") -> None:
        self._name = str(name)

    def __enter__(self) -> None:
        values = vars(_scope)
        before = values.copy()
        values |= {"prefix": before["prefix"] + self._name, "leave": partial(values.update, before)}

    __exit__ = leaving(_scope)
