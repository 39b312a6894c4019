"""Lines of users' programs, for messages."""

from __future__ import annotations

import itertools
import os
import sys
import traceback
import warnings
from types import FrameType

__all__ = ["line_of_program", "place_in_program", "warn_at_program"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def place_in_program(error: BaseException | None = None) -> str:
    """Return the line of the program that runs now, or in which an error was raised: the innermost outside minpy."""
    frames = traceback.extract_stack() if error is None else traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if _is_of_program(frame.filename):
            return f"{frame.filename}:{frame.lineno}" + (f", `{frame.line}`" if frame.line else "")
    return "an unknown line"


def line_of_program() -> str:
    """Return the file and the number of the line of the program that runs now: `place_in_program` without its text."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not _is_of_program(frame.f_code.co_filename):
        frame = frame.f_back
    return "an unknown line" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def warn_at_program(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the program that runs now, however many calls inside minpy lie between."""
    frame: FrameType | None = sys._getframe(1)
    for level in itertools.count(2):
        if frame is None or _is_of_program(frame.f_code.co_filename):
            warnings.warn(message, category, stacklevel=level)
            return
        frame = frame.f_back


def _is_of_program(filename: str) -> bool:
    return not filename.startswith((_PACKAGE, "<frozen", "<minpy"))  # the last: code that graphs become
