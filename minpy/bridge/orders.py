"""The orders 'A' and 'K', that of an array's memory: told as an order that does not depend on how the array lies there.

A gradient lies in memory as it likes: it is read back in the order in which its array was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.array import Array

__all__ = ["ORDERED", "in_known_order"]

# Where these functions take an order.
ORDERED: dict[Any, int] = {numpy.ravel: 1, numpy.reshape: 2}


def in_known_order(
    function: Any, arguments: Sequence[Any], keywords: dict[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return the arguments of a call of `numpy.ravel` or `numpy.reshape` with the order 'C' or 'F'."""
    place = ORDERED[function]
    order = keywords.get("order") if "order" in keywords else arguments[place] if len(arguments) > place else "C"
    if order not in ("A", "K") or not arguments or not isinstance(arguments[0], Array):
        return arguments, keywords
    array: Any = arguments[0]
    raw = array._data
    if order == "A":
        order = "F" if raw.flags.fnc else "C"
    elif function is numpy.ravel:
        axes = sorted(range(raw.ndim), key=lambda axis: -abs(raw.strides[axis]))
        array, order = numpy.transpose(array, axes), "C"
    else:
        return arguments, keywords  # which NumPy refuses
    return (array, *arguments[1:place]), {**keywords, "order": order}
