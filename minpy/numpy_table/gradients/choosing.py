"""Gradients of functions that choose among arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.sums import sum_to

__all__ = ["RULES"]


def _select(answer: Any, g: Any, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    found: list[Any] = []
    rest: Any = None
    zero = g.dtype.type(0)
    for condition, choice in zip(condlist, choicelist, strict=True):
        chosen = condition if rest is None else np.logical_and(rest, condition)
        missing = np.logical_not(condition)
        rest = missing if rest is None else np.logical_and(rest, missing)
        found.append((choice, np.where(chosen, g, zero)))
    found.append((default, np.where(rest, g, zero)))
    return [None] * len(condlist) + [sum_to(part, np.shape(one)) for one, part in found]


def _choose(answer: Any, g: Any, a: Any, choices: Any, mode: str = "raise", **unused: Any) -> Any:
    if mode != "raise" or not isinstance(choices, (list, tuple)):
        return None
    zero = g.dtype.type(0)
    parts = [sum_to(np.where(np.equal(a, place), g, zero), np.shape(one)) for place, one in enumerate(choices)]
    return [None, *parts]


# By name: see `minpy.numpy_table.gradients`.
RULES: dict[str, Callable[..., Any]] = {
    "choose": _choose,
    "select": _select,
}
