"""Counts the changes of attributes of blocks, and of dtypes of parameters: graphs may depend on them."""

from __future__ import annotations

import itertools
from typing import Any

__all__ = ["CHANGES"]


class _Changes:
    """How many changes there were, anywhere: as long as there are none, nothing is looked at."""

    def __init__(self) -> None:
        self.count = 0
        self._next = itertools.count(1).__next__

    def note(self, owner: Any) -> None:
        """Note a change of an owner's attributes, there as well: so those that have not changed are not looked at."""
        vars(owner)["_changes"] = count = self._next()
        self.count = count


CHANGES = _Changes()
