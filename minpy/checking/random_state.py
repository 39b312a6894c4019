"""Random numbers: what is checked draws the same ones at each call, and a check leaves the generators as they were."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy

__all__ = ["Draws", "register_generator"]

_GENERATORS: list[tuple[Callable[[], Any], Callable[[Any], None]]] = [
    (random.getstate, random.setstate),
    (numpy.random.get_state, numpy.random.set_state),
]


def register_generator(read: Callable[[], Any], restore: Callable[[Any], None]) -> None:
    """Let checks of random operators rewind a further generator.

    Parameters
    ----------
    read : callable
        `read()` returns its state.
    restore : callable
        `restore(state)` puts it back into a state that `read` returned.
    """
    _GENERATORS.append((read, restore))


class Draws:
    """Where all global generators stood when it was made."""

    def __init__(self) -> None:
        self._states = [(restore, read()) for read, restore in _GENERATORS]

    def rewind(self) -> None:
        """Put the generators back to there."""
        for restore, state in self._states:
            restore(state)
