"""The rows of `op.check`'s report: those of checks that succeed, fail, or do not apply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minpy.core.errors import is_quitting
from minpy.core.reports import FAILED, OK, SKIPPED, Report, Row

__all__ = ["FAILED", "OK", "SKIPPED", "Report", "Row", "attempt", "failure", "skip"]


def attempt(what: str, check: Callable[[], Row | Sequence[Row]]) -> list[Row]:
    """Return the rows of one check; an exception inside it is a failure, and keeps its text and traceback."""
    try:
        rows = check()
    except Exception as error:
        if is_quitting(error):
            raise
        return [failure(what, f"{type(error).__name__}", f"{what}: {error}", cause=error)]
    return [rows] if isinstance(rows, Row) else list(rows)


def failure(what: str, note: str, detail: str, error: float | None = None, cause: Any = None) -> Row:
    """Return the row of a failed check."""
    return Row(what, FAILED, error, note, detail, cause)


def skip(what: str, note: str) -> Row:
    """Return the row of a check that does not apply."""
    return Row(what, SKIPPED, None, note)
