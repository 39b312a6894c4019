"""What becomes of a call of an operator, and what tells how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minpy.backends.native.language import Array

__all__ = ["CALLED", "LOWERED", "TRACED", "Answer"]

LOWERED, TRACED, CALLED = "lowered", "traced", "called"


@dataclass
class Answer:
    """What became of a call."""

    value: Any  # several are all that the operator gives, with those that callers do not see
    how: str  # 'lowered', 'traced', or 'called'
    updates: Sequence[tuple[int, Array]] = ()  # the operands that are states, by position, and what they are then
