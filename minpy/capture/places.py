"""The exception by which a capture ends, and where in the user's code that was."""

from __future__ import annotations

import linecache
from typing import NamedTuple

__all__ = ["CaptureRefused", "SourceLocation"]


class SourceLocation(NamedTuple):
    """A line of source."""

    file: str
    line: int

    @property
    def text(self) -> str:
        """The line itself; empty if there is no source."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class CaptureRefused(BaseException):
    """A function does what cannot be noted as steps: it is called as it is.

    It is no `Exception`, so that an `except Exception` in the function that is captured does not answer it.
    """

    def __init__(self, reason: str, place: SourceLocation | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place

    def __str__(self) -> str:
        return self.reason if self.place is None else f"{self.place}: {self.reason}"
