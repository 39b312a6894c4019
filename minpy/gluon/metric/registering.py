"""Names of metrics, where they mean other classes than in `mx.metric`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from minpy.metric import EvalMetric

__all__ = ["CLASSES", "named"]

_C = TypeVar("_C", bound=type)

# Where a name means another class than in `mx.metric`; for all others that registry is asked.
CLASSES: dict[str, type[EvalMetric]] = {}


def named(*names: str) -> Callable[[_C], _C]:
    """Return a decorator that gives a class its own name in lower case, and further ones."""

    def decorate(cls: _C) -> _C:
        CLASSES.update(dict.fromkeys((cls.__name__.lower(), *names), cls))
        return cls

    return decorate
