"""Warnings that show the user's line, however deep inside the library they are raised."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

__all__ = ["warn_caller"]


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the place of the nearest caller outside of the library."""
    level, frame = 2, sys._getframe(1)
    while _is_ours(frame) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "minpy"
