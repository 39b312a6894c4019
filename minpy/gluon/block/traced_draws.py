"""Random numbers of NumPy and Python that are drawn while a block is traced: a graph holds what came out once."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterable
from typing import Any

import numpy

__all__ = ["GENERATORS", "DrawDetector"]

GENERATORS: tuple[type, ...] = (
    numpy.random.Generator,
    numpy.random.RandomState,
    numpy.random.BitGenerator,
    random.Random,
)


class DrawDetector:
    """Notices what this thread draws from some generators, and from the global ones, after it was made."""

    def __init__(self, generators: Iterable[Any]) -> None:
        self._states = [(generator, _state_of(generator)) for generator in generators]
        self._global_state = _global_state()

    def drawn(self) -> str | None:
        """Return in words what has drawn; None if nothing has."""
        if _global_state() != self._global_state:
            return "draws with numpy.random or random"
        for generator, state in self._states:
            if _state_of(generator) != state:
                return f"draws with a {type(generator).__name__} of random numbers"
        return None


def _global_state() -> bytes:
    return pickle.dumps((numpy.random.get_state(), random.getstate()))


def _state_of(generator: Any) -> bytes:
    if isinstance(generator, random.SystemRandom):
        return b""  # it has none
    if isinstance(generator, random.Random):
        return pickle.dumps(generator.getstate())
    if isinstance(generator, numpy.random.RandomState):
        return pickle.dumps(generator.get_state())
    bits = generator.bit_generator if isinstance(generator, numpy.random.Generator) else generator
    return pickle.dumps(bits.state)
