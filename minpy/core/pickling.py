"""Operators pickle as functions do: by reference, so that unpickling returns the existing operator."""

from __future__ import annotations

import sys
from typing import Any

from minpy.core.errors import PicklingError

__all__ = ["reference"]


def reference(operator: Any) -> str:
    """Return the name under which an operator is found in its module, which is what its `__reduce__` returns.

    Raises
    ------
    PicklingError
        If it is not found there: it was made in a function, by a lambda, or has another name now.
    """
    name: str = operator.__qualname__
    holder: Any = sys.modules.get(operator.__module__)
    for part in name.split("."):
        holder = getattr(holder, part, None)
    if holder is operator:
        return name
    there = "nothing" if holder is None else "something else"
    raise PicklingError(
        f"the operator {operator.__name__!r} cannot be pickled: operators pickle by reference, as functions do, and "
        f"under {operator.__module__}.{name} there is {there}. Define it with @customop above a def at the top of a "
        "module, and keep that name for it."
    )
