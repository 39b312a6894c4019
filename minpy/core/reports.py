"""Reports on operators: of checks, printed as a table, and of tracing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from minpy.core.errors import CheckError

__all__ = ["FAILED", "OK", "SKIPPED", "Report", "Row", "TraceReport"]

OK, SKIPPED, FAILED = "ok", "skipped", "failed"


@dataclass(frozen=True, slots=True)
class Row:
    """One check: `result` is 'ok', 'skipped' or 'failed'; `detail` is its part of a failure's message."""

    what: str
    result: str
    error: float | None = None
    note: str = ""
    detail: str = ""
    cause: BaseException | None = field(default=None, repr=False, compare=False)


@dataclass(slots=True)
class Report:
    """The rows of one check, in order. It prints as a table.

    Examples
    --------
    >>> print(Report('cube(x)', [Row('gradient of x', 'ok', 2e-12), Row('float16', 'skipped', note='no kernel')]))
    cube(x)
    check          result   worst error  note
    gradient of x  ok           2.0e-12
    float16        skipped               no kernel
    """

    title: str
    rows: list[Row] = field(default_factory=list)

    @property
    def failures(self) -> list[Row]:
        """The rows that failed."""
        return [row for row in self.rows if row.result == FAILED]

    def __getitem__(self, what: str) -> Row:
        """Return the row of that name."""
        for row in self.rows:
            if row.what == what:
                return row
        raise KeyError(f"no check {what!r}; the report has {', '.join(repr(row.what) for row in self.rows)}")

    def __str__(self) -> str:
        cells = [("check", "result", "worst error", "note")]
        cells += [
            (row.what, row.result, "" if row.error is None else f"{row.error:.1e}", row.note) for row in self.rows
        ]
        first, second, third = (max(len(line[column]) for line in cells) for column in range(3))
        lines = [f"{a:{first}}  {b:{second}}  {c:>{third}}  {d}".rstrip() for a, b, c, d in cells]
        return "\n".join([self.title, *lines])

    __repr__ = __str__

    def require_success(self, name: str) -> Report:
        """Return the report, or raise `CheckError` if there is a failure."""
        failures = self.failures
        if not failures:
            return self
        count = f" ({len(failures)} checks failed)" if len(failures) > 1 else ""
        details = "\n".join(row.detail or f"{row.what}: {row.note}" for row in failures)
        error = CheckError(f"{name}.check{count}: {details}\n\n{self}")
        error.report = self
        raise error from failures[0].cause


class TraceReport(Protocol):
    """What `Operator.trace_report` returns, part by part; `str()` is its text."""

    @property
    def traced(self) -> bool:
        """Whether every part is."""
        ...

    def __getitem__(self, name: str) -> Any:
        """Return the part of that name: 'forward', or 'gradient of x'."""
        ...
