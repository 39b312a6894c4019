"""Gradients of steps that are calls of NumPy's functions and no operators: what compositions of functions are made of.

The rules are those of `minpy.numpy_table.gradients`, and the ones of the steps that captures make themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minpy.capture.steps import Slot, Step, fill
from minpy.capture.storage import item_of
from minpy.differentiation.trees import leaves_of
from minpy.numpy_table.gradients import has_rule, rule_of
from minpy.numpy_table.table import row_of

__all__ = ["has_step_rule", "step_gradients"]


def has_step_rule(operator: Any) -> bool:
    """Tell whether an operator is a step of which a rule is known here."""
    return isinstance(operator, Step) and (operator.function is item_of or has_rule(row_of(operator.function)))


def step_gradients(operator: Step, answer: Any, arrays: Sequence[Any], gradient: Any) -> list[Any] | None:
    """Return the gradients of a step in its arrays, in their order; None, if that is not known.

    Parameters
    ----------
    operator : Step
        One that `has_step_rule`.
    answer : array
    arrays : sequence of array
        What the step's slots stand for.
    gradient : array
        Of the answer.
    """
    parts = _rule(operator.function)(
        answer, gradient, *fill(operator.arguments, arrays), **fill(operator.keywords, arrays)
    )
    if parts is None:
        return None
    leaves = [leaf for leaf in leaves_of((operator.arguments, operator.keywords)) if not isinstance(leaf, str)]
    result: list[Any] = [None] * len(arrays)
    for leaf, part in zip(leaves, parts, strict=False):
        if isinstance(leaf, Slot) and part is not None:
            known = result[leaf.index]
            result[leaf.index] = part if known is None else known + part
    return result


def _rule(function: Any) -> Callable[..., Any]:
    row = row_of(function)
    return _item if row is None else rule_of(row)


def _item(answer: Any, g: Any, array: Any, index: Any) -> Any:
    from minpy.numpy_table.gradients.moving import placed

    return [placed(array, index, g), *(None for _ in leaves_of(index))]
