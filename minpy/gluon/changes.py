"""Counts the changes of attributes of blocks, and of dtypes of parameters: graphs may depend on them."""

from __future__ import annotations

__all__ = ["CHANGES"]


class _Changes:
    """How many changes there were, anywhere: as long as there are none, nothing is looked at."""

    count = 0


CHANGES = _Changes()
