"""Lines of users' programs, for messages."""

from __future__ import annotations

import os
import traceback

__all__ = ["place_in_program"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


def place_in_program(error: BaseException | None = None) -> str:
    """Return the line of the program that runs now, or in which an error was raised: the innermost outside minpy."""
    frames = traceback.extract_stack() if error is None else traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if not frame.filename.startswith(_PACKAGE) and not frame.filename.startswith("<frozen"):
            return f"{frame.filename}:{frame.lineno}" + (f", `{frame.line}`" if frame.line else "")
    return "an unknown line"
