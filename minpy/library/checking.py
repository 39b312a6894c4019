"""What native operators add to `op.check`: the random generators that they draw from."""

from __future__ import annotations

from minpy.checking.case import register_generator
from minpy.library.resources import GENERATORS

__all__: list[str] = []

register_generator(GENERATORS.read, GENERATORS.restore)
