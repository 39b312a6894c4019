"""Attributes that proxies have, and what they stand for has not: users' code that asks for them finds none.

Hardly any code names them, and to look at each read of an attribute would make all captures slower. So the first code
that does ends the capture, which begins anew with proxies that look who asks.
"""

from __future__ import annotations

import types
from typing import Any

from minpy.capture.recorder import Recorder

__all__ = ["WATCHED", "note_own", "watch"]

# The names.
WATCHED: set[str] = set()


def note_own(proxy: type, *classes: type) -> None:
    """Note the names of a class of proxies that one of the classes which it stands for has not."""
    own = (name for name in dir(proxy) if not (name.startswith("__") and name.endswith("__")))
    WATCHED.update(name for name in own if not all(hasattr(cls, name) for cls in classes))


def watch(recorder: Recorder, cls: Any, name: str, caller: types.FrameType) -> None:
    """Refuse that a user's code reads an attribute of a proxy which instances of a class have not.

    Raises
    ------
    CaptureRefused
    """
    if caller.f_code in recorder.codes and not recorder.ended and not hasattr(cls, name):
        raise recorder.refuse(f"it asks for {name!r}, which {cls.__module__}.{cls.__name__} has not")
