"""What the arrays of one `vmap` share, and how it is told that a value is one of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from minpy.differentiation.trees import leaves_of

__all__ = ["BATCHED", "LIVING", "Level", "NotBatchedError", "holds_batched", "is_batched"]

# The class of batched arrays; empty until there are any.
BATCHED: set[type] = set()
_numbers = itertools.count()
# The numbers of the levels that somebody holds, as each batched array does: without one, no value is batched.
LIVING: set[int] = set()


class Level:
    """One call of a function that `vmap` made: how many examples there are, and what became of the calls inside.

    `number`: later ones are inside of earlier ones. `notes`: (name, how) of each call, if somebody asked; `is_open`:
    whether the function is running.
    """

    __slots__ = ("batch_size", "is_open", "notes", "number")

    def __init__(self, batch_size: int, notes: list[tuple[str, str]] | None = None) -> None:
        self.number = next(_numbers)
        self.batch_size = batch_size
        self.notes = notes
        self.is_open = True
        LIVING.add(self.number)

    def __del__(self, _discard: Callable[[int], None] = LIVING.discard) -> None:  # it outlives the module's names
        _discard(self.number)

    def __deepcopy__(self, memo: Any) -> Level:
        return self

    def note(self, name: str, way: str) -> None:
        """Note how a call was computed: 'batched' or 'looped'."""
        if self.notes is not None:
            self.notes.append((name, way))


class NotBatchedError(BaseException):
    """A function asks for what many examples have no common answer to: `vmap` then calls it for each example.

    No `except Exception` of the function's is to catch it: called for one example, nothing is raised.
    """

    def __init__(self, level: Level, reason: str) -> None:
        super().__init__(reason)
        self.level = level
        self.reason = reason


def is_batched(value: Any) -> bool:
    """Tell whether a value stands for many examples, inside of `vmap`.

    >>> is_batched(1.0)
    False
    """
    return type(value) in BATCHED


def holds_batched(values: Any) -> bool:
    """Tell the same of any value in a nest of dicts, lists and tuples."""
    return bool(LIVING) and any(type(leaf) in BATCHED for leaf in leaves_of(values))
