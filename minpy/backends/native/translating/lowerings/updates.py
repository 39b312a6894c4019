"""Updates of several weights in one call: an update of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.backends.native.language import Array
from minpy.backends.native.translating.results import LOWERED, NotLowered, Result
from minpy.ops.optimizer.multi_updates import MultiUpdate

__all__ = ["update_several"]


def update_several(
    operators: Any, operator: MultiUpdate, operands: Sequence[Array], attributes: dict[str, Any]
) -> Result:
    """Lower an update of several weights: see `MultiUpdate`."""
    attributes = {**operator.defaults, **attributes}
    number, stride = attributes[operator.count], len(operator.own)
    last = dict(zip(operator.shared, operands[number * stride :], strict=True))
    if any(key in last for key in operator.lists):
        raise NotLowered("the rates are in arrays, which are looked at")
    common = {key: value for key, value in attributes.items() if key not in operator.lists and key != operator.count}
    numbers = [last[key] for key in operator.shared if key in operator.single.numbers]
    values, updates = [], []
    for index in range(number):
        start = index * stride
        own = {name: attributes[key][index] for key, name in operator.lists.items()}
        result = operators.lower(operator.single, [*operands[start : start + stride], *numbers], {**common, **own})
        values.append(result.value)
        updates += [(start + position, array) for position, array in result.updates]
    return Result(values, LOWERED, updates)
