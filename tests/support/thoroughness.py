"""How much is drawn: little, as in every run, or much, where the environment says `MINPY_THOROUGH=1`.

What is drawn first is what finds nearly every fault. The rest is for who changes what is drawn for.
"""

from __future__ import annotations

import os

__all__ = ["THOROUGH", "often"]

THOROUGH = os.environ.get("MINPY_THOROUGH", "0") not in ("", "0")


def often(few: int, many: int) -> int:
    """Return how often to draw, or how long what is made is to be."""
    return many if THOROUGH else few
