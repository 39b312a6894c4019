"""Functions looked up by name: losses, rules of first values and of updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.core.errors import ArgumentError, nearest

__all__ = ["function_named"]


def function_named(module: Any, name: str, what: str) -> Callable[..., Any]:
    """Return a public function of a module."""
    names = module.__all__
    if name not in names:
        raise ArgumentError(f"{what} {name!r} is not known; there are {', '.join(names)}.{nearest(name, names)}")
    function: Callable[..., Any] = getattr(module, name)
    return function
