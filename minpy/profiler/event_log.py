"""A profiler's list of events, and their statistics by name; as a table, JSON, and a trace.

Traces are in the Trace Event Format, JSON objects, which tracers of browsers and Perfetto show.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from minpy.core.errors import ArgumentValueError, nearest
from minpy.core.state import ThreadValues, leaving

__all__ = ["LOG", "Event", "Log", "Statistics", "as_json", "as_table", "scope", "trace"]


class Event(NamedTuple):
    """An event."""

    phase: str  # as in traces: 'X', a duration; 'C', a counter that was set; 'i', a moment
    category: str
    name: str
    start: int  # in nanoseconds of `time.perf_counter_ns`, as the duration
    duration: int
    thread: int
    details: dict[str, Any] | None  # further facts for traces: the node of a step, the value of a counter


class Statistics:
    """The count of an event, and the sum, the smallest and the greatest of its durations or values."""

    __slots__ = ("count", "greatest", "last", "smallest", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.smallest = self.greatest = self.last = 0.0

    def add(self, value: float) -> None:
        """Add a value."""
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
    """Events of all threads, in the order in which they ended; `running` is whether they are recorded."""

    def __init__(self) -> None:
        self.running = False
        self.events: list[Event] = []
        self._num_added = 0  # events that are in the statistics
        self._statistics: dict[tuple[str, str, str], Statistics] = {}
        self._lock = threading.Lock()
        # The difference between the time of the calendar and that of events.
        self.epoch = time.time_ns() - time.perf_counter_ns()

    def add(
        self, category: str, name: str, start: int, end: int, details: dict[str, Any] | None = None, phase: str = "X"
    ) -> None:
        """Record an event of this thread."""
        self.events.append(
            Event(phase, category, _scope.prefix + name, start, end - start, threading.get_ident(), details)
        )

    def statistics(self) -> dict[tuple[str, str, str], Statistics]:
        """Return the statistics by (phase, category, name)."""
        with self._lock:
            end = len(self.events)
            for event in self.events[self._num_added : end]:
                totals = self._statistics.setdefault(event[:3], Statistics())
                totals.add(_added_value(event))
            self._num_added = end
            return dict(self._statistics)

    def reset_statistics(self) -> None:
        """Remove the statistics of all events so far."""
        self.statistics()
        self._statistics.clear()

    def clear(self) -> None:
        """Remove the events; the statistics stay."""
        self.statistics()
        with self._lock:
            self.events.clear()
            self._num_added = 0


def _added_value(event: Event) -> float:
    """Return an event's value in statistics: a counter's value, or milliseconds, without those of nested events."""
    details = event.details or {}
    if event.phase == "C":
        return float(details["value"])
    return float(details.get("own nanoseconds", event.duration)) / 1e6


LOG = Log()


class _Scope(ThreadValues):
    prefix: str


_scope = _Scope(prefix="")


class scope:
    """A `with` statement in which the names of this thread's events get a prefix.

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


_ORDERS: dict[str, Callable[[Statistics], float]] = {
    "total": lambda statistics: statistics.total,
    "avg": lambda statistics: statistics.average,
    "min": lambda statistics: statistics.smallest,
    "max": lambda statistics: statistics.greatest,
    "count": lambda statistics: statistics.count,
}

_Groups = dict[str, list[tuple[str, Statistics]]]


def _groups(log: Log, phase: str, sort_by: str, ascending: bool) -> _Groups:
    """Return the statistics of each category, in order."""
    if sort_by not in _ORDERS:
        raise ArgumentValueError(
            f"profiler.dumps: sort_by is {sort_by!r}, expected one of {', '.join(map(repr, _ORDERS))}."
            + nearest(str(sort_by), _ORDERS)
        )
    key = _ORDERS[sort_by]
    groups: _Groups = {}
    for (kind, category, name), statistics in log.statistics().items():
        if kind == phase:
            groups.setdefault(category, []).append((name, statistics))
    for rows in groups.values():
        rows.sort(key=lambda row: key(row[1]), reverse=not ascending)
    return dict(sorted(groups.items()))


def as_table(log: Log, sort_by: str, ascending: bool) -> str:
    """Return the statistics as text: a table for each category, times in milliseconds."""
    lines = ["", "Profile Statistics:"]
    for phase, unit in (("X", "Time (ms)"), ("C", "Value")):
        short = unit.partition(" (")[0]
        headings = ["Total Count", unit if phase == "X" else "Last Value"]
        headings += [f"{quantity} {short}{' (ms)' if phase == 'X' else ''}" for quantity in ("Min", "Max", "Avg")]
        for category, rows in _groups(log, phase, sort_by, ascending).items():
            width = max([28, *(len(name) for name, _ in rows)])
            lines += [category if phase == "X" else f"{category}, counters", "================="]
            for texts in (headings, ["-" * len(head) for head in headings]):
                name = "Name" if texts is headings else "----"
                lines.append(f"{name:<{width}}" + "".join(f"{text:>17}" for text in texts))
            for name, statistics in rows:
                first = statistics.total if phase == "X" else statistics.last
                values = (first, statistics.smallest, statistics.greatest, statistics.average)
                lines.append(f"{name:<{width}}{statistics.count:>17}" + "".join(f"{value:>17.4f}" for value in values))
            lines.append("")
    return "\n".join([*lines, ""])


def as_json(log: Log, sort_by: str, ascending: bool) -> str:
    """Return the statistics as JSON: times in milliseconds."""

    def described(phase: str, total: str, of: Callable[[Statistics], float]) -> dict[str, Any]:
        return {
            category: {
                name: {
                    "Count": statistics.count,
                    total: of(statistics),
                    "Min": statistics.smallest,
                    "Max": statistics.greatest,
                    "Avg": statistics.average,
                }
                for name, statistics in rows
            }
            for category, rows in _groups(log, phase, sort_by, ascending).items()
        }

    return json.dumps(
        {
            "Time": described("X", "Total", lambda statistics: statistics.total),
            "Memory": {},
            "Counters": described("C", "Last", lambda statistics: statistics.last),
            "Unit": {"Time": "ms", "Memory": "kB"},
        },
        indent=4,
    )


def trace(log: Log) -> Iterator[bytes]:
    """Yield the file of a trace, piece by piece."""
    process = os.getpid()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    events = log.events.copy()
    yield b'{"displayTimeUnit": "ms", "traceEvents": [\n'
    yield _line({"ph": "M", "name": "process_name", "pid": process, "args": {"name": "minpy"}})
    for thread in sorted({event.thread for event in events}):
        title = names.get(thread, f"thread {thread}")
        yield b",\n" + _line({"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": title}})
    for number, event in enumerate(events):
        for entry in _entries(event, number, process, log.epoch):
            yield b",\n" + _line(entry)
    yield b"\n]}\n"


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry).encode()


def _entries(event: Event, number: int, process: int, epoch: int) -> Iterable[dict[str, Any]]:
    entry: dict[str, Any] = {
        "name": event.name,
        "cat": event.category,
        "ph": event.phase,
        "ts": (event.start + epoch) / 1000,
        "pid": process,
        "tid": event.thread,
    }
    details = event.details or {}
    if event.phase == "C":
        return [{**entry, "args": {event.name: details["value"]}}]
    if event.phase == "i":
        return [{**entry, "s": details["scope"]}]
    if details.get("overlaps"):  # tasks may begin and end across each other: each is a track of its own
        end = {**entry, "ph": "e", "id": number, "ts": (event.start + event.duration + epoch) / 1000}
        return [{**entry, "ph": "b", "id": number}, end]
    return [{**entry, "dur": event.duration / 1000, **({"args": details} if details else {})}]
