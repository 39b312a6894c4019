"""Attributes that proxies have, and what they stand for has not: users' code that asks for them finds none.

Hardly any code names them, and to look at each read of an attribute would make all captures slower. So the first code
that does ends the capture, which begins anew with proxies that look who asks.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from minpy.capture.recorder import Recorder

__all__ = ["WATCHED", "watched"]

# The names.
WATCHED: set[str] = set()


def watched(proxy: type, represented: Callable[[Any], tuple[Recorder, type]], *classes: type) -> Any:
    """Return a class of proxies that look who asks for attributes, for captures of code that names such ones.

    Noted are the names of `proxy` that one of the `classes` which it may stand for has not. `represented` returns the
    recorder of a proxy and the class of what that stands for, given what reads its attributes.
    """
    own_names = (name for name in dir(proxy) if not (name.startswith("__") and name.endswith("__")))
    WATCHED.update(name for name in own_names if not all(hasattr(cls, name) for cls in classes))

    def getattribute(self: Any, name: str) -> Any:
        if name in WATCHED:
            recorder, cls = represented(functools.partial(object.__getattribute__, self))
            if sys._getframe(1).f_code in recorder.codes and not recorder.ended and not hasattr(cls, name):
                raise recorder.refuse(f"it asks for {name!r}, which {cls.__module__}.{cls.__name__} has not")
        return object.__getattribute__(self, name)

    return type(f"Watched{proxy.__name__}", (proxy,), {"__slots__": (), "__getattribute__": getattribute})
