"""What a profiler has seen, as a table, as JSON, and as a trace.

Traces are in the Trace Event Format, JSON objects, which tracers of browsers and Perfetto show.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from minpy.core.errors import ArgumentValueError, nearest
from minpy.profiler.event_log import Event, Log, Statistics

__all__ = ["as_json", "as_table", "trace"]

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
        heads = ["Total Count", unit if phase == "X" else "Last Value"]
        heads += [f"{which} {short}{' (ms)' if phase == 'X' else ''}" for which in ("Min", "Max", "Avg")]
        for category, rows in _groups(log, phase, sort_by, ascending).items():
            width = max([28, *(len(name) for name, _ in rows)])
            lines += [category if phase == "X" else f"{category}, counters", "================="]
            for texts in (heads, ["-" * len(head) for head in heads]):
                name = "Name" if texts is heads else "----"
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
        named = names.get(thread, f"thread {thread}")
        yield b",\n" + _line({"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": named}})
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
