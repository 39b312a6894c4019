"""Timers that programs create: domains, tasks, frames, events, counters and markers."""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, MXNetError, describe, nearest
from minpy.profiler.event_log import LOG

__all__ = ["Counter", "Domain", "Event", "Frame", "Marker", "Task"]


class Domain:
    """A group of tasks, frames, counters and markers, by which traces and tables are ordered.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> from minpy import profiler
    >>> loading = profiler.Domain('loading').new_task('read')
    >>> profiler.set_state('run')
    >>> loading.start()
    >>> loading.stop()
    >>> profiler.set_state('stop')
    >>> 'read' in profiler.dumps(reset=True)
    True
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """Return a task of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """Return a frame of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: float | None = None) -> Counter:
        """Return a counter of this domain, which is set at once if a value is given."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """Return a marker of this domain."""
        return Marker(self, name)


class _Span:
    """A timed interval. One that begins or ends while no profiler runs is not recorded."""

    def __init__(self, category: str, name: str, overlaps: bool) -> None:
        self.name = name
        self._category = category
        self._details = {"overlaps": True} if overlaps else None
        self._start: int | None = None

    def __str__(self) -> str:
        return self.name

    def start(self) -> None:
        """Begin; if called twice, the second time counts."""
        self._start = perf_counter_ns()

    def stop(self) -> None:
        """End.

        Raises
        ------
        MXNetError
            If it has not begun.
        """
        end = perf_counter_ns()
        if self._start is None:
            raise MXNetError(
                f"profiler: {type(self).__name__} {self.name!r} is stopped, and was not started. Call start()."
            )
        if LOG.running:
            LOG.add(self._category, self.name, self._start, end, self._details)
        self._start = None


class Task(_Span):
    """Work that may begin and end in different functions or threads.

    Parameters
    ----------
    domain : Domain
    name : str
    """

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(str(domain), name, overlaps=True)


class Frame(_Span):
    """One turn of work that repeats, such as a batch.

    Parameters
    ----------
    domain : Domain
    name : str
    """

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(f"{domain},frame", name, overlaps=True)


class Event(_Span):
    """Work that begins and ends in one thread, inside of what is around it, and belongs to no domain.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name: str) -> None:
        super().__init__("event", name, overlaps=False)


class Counter:
    """A number that changes, drawn over time.

    Parameters
    ----------
    domain : Domain
    name : str
    value : number, optional
        The first value.

    Examples
    --------
    >>> from minpy import profiler
    >>> samples = profiler.Domain('loading').new_counter('samples', 0)
    >>> samples += 32
    >>> samples.value
    32
    """

    def __init__(self, domain: Domain, name: str, value: float | None = None) -> None:
        self.name = name
        self.value: float = 0
        self._category = str(domain)
        if value is not None:
            self.set_value(value)

    def __str__(self) -> str:
        return self.name

    def set_value(self, value: float) -> None:
        """Set the number.

        Raises
        ------
        ArgumentError
            If it is none.
        """
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ArgumentError(
                f"profiler: the value of Counter {self.name!r} must be a number, got {describe(value)}."
            )
        self.value = value
        if LOG.running:
            now = perf_counter_ns()
            LOG.add(self._category, self.name, now, now, {"value": value}, "C")

    def increment(self, delta: float = 1) -> None:
        """Add to the number."""
        self.set_value(self.value + delta)

    def decrement(self, delta: float = 1) -> None:
        """Subtract from the number."""
        self.set_value(self.value - delta)

    def __iadd__(self, delta: float) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: float) -> Counter:
        self.decrement(delta)
        return self


_SCOPES: dict[str, Any] = {"global": "g", "process": "p", "thread": "t", "task": "t", "marker": "t"}


class Marker:
    """A moment.

    Parameters
    ----------
    domain : Domain
    name : str
    """

    def __init__(self, domain: Domain, name: str) -> None:
        self.name = name
        self._category = f"{domain},instant_marker"

    def __str__(self) -> str:
        return self.name

    def mark(self, scope: str = "process") -> None:
        """Record this moment.

        Parameters
        ----------
        scope : str
            The extent of the line that traces draw: 'global', 'process', 'thread', 'task', 'marker'.

        Raises
        ------
        ArgumentValueError
            For another scope.
        """
        if scope not in _SCOPES:
            raise ArgumentValueError(
                f"profiler: the scope of Marker {self.name!r} is {scope!r}, expected one of "
                f"{', '.join(map(repr, _SCOPES))}.{nearest(str(scope), _SCOPES)}"
            )
        if LOG.running:
            now = perf_counter_ns()
            LOG.add(self._category, self.name, now, now, {"scope": _SCOPES[scope]}, "i")
