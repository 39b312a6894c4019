"""The exceptions by which translating ends: of one node, which is then called, or of a whole program."""

from __future__ import annotations

from minpy.capture.places import SourceLocation
from minpy.core.errors import MXNetError

__all__ = ["NotLowered", "Untranslatable"]


class NotLowered(Exception):
    """Something has no form in the step language: the node that it belongs to is called."""

    def __init__(self, reason: str, place: SourceLocation | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place


class Untranslatable(MXNetError):
    """A program has to stay one of Python's: what it does to arrays' memory cannot be told in the step language."""
