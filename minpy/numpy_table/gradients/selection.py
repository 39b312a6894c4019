"""Gradients of functions that choose among arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.sums import sum_to

__all__ = ["RULES"]


def _select(ans: Any, g: Any, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    shares: list[Any] = []
    none_before: Any = None
    zero = g.dtype.type(0)
    for condition, choice in zip(condlist, choicelist, strict=True):
        is_chosen = condition if none_before is None else np.logical_and(none_before, condition)
        is_false = np.logical_not(condition)
        none_before = is_false if none_before is None else np.logical_and(none_before, is_false)
        shares.append((choice, np.where(is_chosen, g, zero)))
    shares.append((default, np.where(none_before, g, zero)))
    return [None] * len(condlist) + [sum_to(part, np.shape(branch)) for branch, part in shares]


def _choose(ans: Any, g: Any, a: Any, choices: Any, mode: str = "raise", **unused: Any) -> Any:
    if mode != "raise" or not isinstance(choices, (list, tuple)):
        return None
    zero = g.dtype.type(0)
    shares = [sum_to(np.where(np.equal(a, place), g, zero), np.shape(choice)) for place, choice in enumerate(choices)]
    return [None, *shares]


# By name: see `minpy.numpy_table.gradients`.
RULES: dict[str, Callable[..., Any]] = {
    "choose": _choose,
    "select": _select,
}
