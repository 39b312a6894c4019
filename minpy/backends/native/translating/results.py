"""What becomes of a call of an operator: a result, or the exception that says why it has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from minpy.backends.native.language import Array
from minpy.capture.places import SourceLocation
from minpy.core.errors import MXNetError

__all__ = ["CALLED", "LOWERED", "TRACED", "NotLowered", "Result", "Untranslatable"]

LOWERED, TRACED, CALLED = "lowered", "traced", "called"


class Result(NamedTuple):
    """What a call of an operator was lowered to."""

    value: Any  # an Array, or all that the operator gives, with what callers do not see
    how: str  # 'lowered', 'traced', or 'called'
    updates: Sequence[tuple[int, Array]] = ()  # the operands that are states, by position, and what they are then


class NotLowered(Exception):
    """Something has no form in the step language: the node that it belongs to is called."""

    def __init__(self, reason: str, place: SourceLocation | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place


class Untranslatable(MXNetError):
    """A program has to stay one of Python's: what it does to arrays' memory cannot be told in the step language."""
