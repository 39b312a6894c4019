"""Gradients of steps that are no operators: calls of NumPy's functions, and the stores and casts of captures.

The rules of the former are in `minpy.numpy_table.gradients`, those of the latter here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minpy.capture.numpy_functions import changed, filled
from minpy.capture.steps import Slot, Step, fill, power, power_of_array
from minpy.capture.storage import as_dtype, item_of, with_component, with_item
from minpy.capture.ufuncs import computed_at
from minpy.core.sums import sum_to
from minpy.differentiation.trees import leaves_of
from minpy.numpy_table.gradients import rule_of
from minpy.numpy_table.table import row_of
from minpy.ops.registry import FUNCTIONS

__all__ = ["has_step_rule", "step_gradients"]


def has_step_rule(operator: Any) -> bool:
    """Tell whether an operator is a step of which a rule is known here."""
    if not isinstance(operator, Step):
        return False
    row = row_of(operator.function)
    return operator.function in _RULES if row is None else row.gradient != ""


def step_gradients(operator: Step, output: Any, arrays: Sequence[Any], gradient: Any) -> list[Any] | None:
    """Return the gradients of a step in its arrays, in their order; None, if that is not known.

    `operator`: one that `has_step_rule`. `arrays`: what the step's slots stand for. `gradient`: of the result.
    """
    row = row_of(operator.function)
    if row is not None and row.gradient == "zero":
        return [np.zeros_like(array) for array in arrays]
    rule = _RULES[operator.function] if row is None else rule_of(row)
    parts = rule(output, gradient, *fill(operator.arguments, arrays), **fill(operator.keywords, arrays))
    if parts is None:
        return None
    leaves = [leaf for leaf in leaves_of((operator.arguments, operator.keywords)) if not isinstance(leaf, str)]
    result: list[Any] = [None] * len(arrays)
    for leaf, part in zip(leaves, parts, strict=False):
        if isinstance(leaf, Slot) and part is not None:
            sum_so_far = result[leaf.index]
            result[leaf.index] = part if sum_so_far is None else sum_so_far + part
    return result


# -- steps that captures make ------------------------------------------------------------------------------------------


def _item_gradient(ans: Any, g: Any, array: Any, index: Any) -> Any:
    from minpy.numpy_table.gradients.rearranging import placed

    return [placed(array, index, g), *(None for _ in leaves_of(index))]


def _with_item_gradient(ans: Any, g: Any, array: Any, index: Any, value: Any) -> Any:
    g_array = np.copy(g)
    g_array[index] = 0
    part = g[index]
    if any(
        np.ndim(leaf) for leaf in leaves_of(index) if not isinstance(leaf, slice)
    ):  # the last value written to a place stays
        numbers = np.reshape(np.arange(np.size(part)), np.shape(part))
        owners = np.full_like(g, -1, dtype=np.int64)
        owners[index] = numbers
        part = np.where(owners[index] == numbers, part, g.dtype.type(0))
    return [g_array, *(None for _ in leaves_of(index)), sum_to(part, np.shape(value))]


def _with_component_gradient(ans: Any, g: Any, array: Any, part: Any, is_real: bool) -> Any:
    g_array, g_part = (1j * np.imag(g), np.real(g)) if is_real else (np.real(g) + 0j, -np.imag(g))
    return [g_array.astype(g.dtype), sum_to(g_part, np.shape(part))]


def _changed_gradient(ans: Any, g: Any, function: Any, target: Any, arguments: Any, keywords: Any) -> Any:
    from minpy.numpy_table.gradients.rearranging import placed

    place = 0 if function in (np.copyto, np.fill_diagonal) else 1
    if len(arguments) <= place:
        return None
    value = arguments[place]
    if isinstance(value, (list, tuple)):
        if not all(isinstance(leaf, (bool, int, float)) for leaf in leaves_of(value)):
            return None
        value = np.asarray(value)  # numbers have no gradient: theirs is dropped
    # The same change tells which value went where.
    numbers = np.reshape(np.arange(np.size(value)), np.shape(value))
    sources = np.full_like(g, -1, dtype=np.int64)
    function(sources, *arguments[:place], numbers, *arguments[place + 1 :], **keywords)
    g_array = np.where(sources < 0, g, g.dtype.type(0))
    if not np.ndim(value):
        return [None, g_array, *(None for _ in leaves_of(arguments[:place])), np.sum(g - g_array)]
    last = np.zeros_like(g, shape=(np.size(value) + 1,))
    flat = placed(last, (np.reshape(sources, (-1,)),), np.reshape(g, (-1,)))[:-1]
    return [None, g_array, *(None for _ in leaves_of(arguments[:place])), np.reshape(flat, np.shape(value))]


def _added_at_gradient(ans: Any, g: Any, ufunc: Any, target: Any, index: Any, values: Any) -> Any:
    if ufunc is not np.add or len(values) != 1:
        return None
    return [None, g, *(None for _ in leaves_of(index)), sum_to(g[index], np.shape(values[0]))]


def _power_gradient(ans: Any, g: Any, base: Any, exponent: Any) -> Any:
    rules = FUNCTIONS[np.power].rules
    of_base = None if isinstance(base, (int, float)) else rules[0](ans, base, exponent)(g)
    of_exponent = None if isinstance(exponent, (int, float)) else rules[1](ans, base, exponent)(g)
    return [
        part if part is None else sum_to(part, np.shape(value))
        for part, value in ((of_base, base), (of_exponent, exponent))
    ]


_RULES: dict[Any, Callable[..., Any]] = {
    as_dtype: lambda ans, g, array, dtype: [g],
    changed: _changed_gradient,
    computed_at: _added_at_gradient,
    filled: lambda ans, g, value, shape, dtype: [sum_to(g, np.shape(value))],
    item_of: _item_gradient,
    np.ndarray.flatten: lambda ans, g, array, order="C": [np.reshape(g, np.shape(array), order=order)],
    power: _power_gradient,
    power_of_array: _power_gradient,
    with_component: _with_component_gradient,
    with_item: _with_item_gradient,
}
