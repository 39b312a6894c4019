"""Counts the changes that graphs may depend on: of blocks' attributes, parameters' dtypes, and operators' meaning."""

from __future__ import annotations

import itertools
from typing import Any

__all__ = ["CHANGES"]


class _Changes:
    """A counter of all changes: as long as it stands still, no guard has to be checked."""

    def __init__(self) -> None:
        self.count = 0
        # How often what operators do has changed as a whole: no graph from before holds.
        self.meanings = 0
        self._next = itertools.count(1).__next__

    def note(self, owner: Any) -> None:
        """Note a change of an owner's attributes, there as well: so those that have not changed are not looked at."""
        vars(owner)["_changes"] = count = self._next()
        self.count = count

    def note_meaning(self) -> None:
        """Note that operators compute otherwise from now on, as in mixed precision: every block is traced again."""
        self.meanings += 1
        self.count = self._next()


CHANGES = _Changes()
