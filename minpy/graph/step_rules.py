"""Gradients of steps that are calls of NumPy's functions and no operators: what compositions of functions are made of.

Each rule is written with NumPy's functions, and is traced as the rules of operators are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minpy.capture.steps import Slot, Step, fill
from minpy.capture.storage import item_of
from minpy.core.sums import sum_to
from minpy.differentiation.trees import leaves_of

__all__ = ["has_step_rule", "step_gradients"]

# By function: `rule(answer, gradient, *arguments, **keywords)` returns the gradients of the first arguments, of arrays
# and numbers in lists each, in their order; None for those without one. Or None, for a call of which it knows nothing.
_RULES: dict[Any, Callable[..., Any]] = {}


def _rule(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        _RULES.update(dict.fromkeys(functions, rule))
        return rule

    return enter


def has_step_rule(operator: Any) -> bool:
    """Tell whether an operator is a step of which a rule is known here."""
    return isinstance(operator, Step) and operator.function in _RULES


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
    found = _RULES[operator.function](
        answer, gradient, *fill(operator.arguments, arrays), **fill(operator.keywords, arrays)
    )
    if found is None:
        return None
    leaves = [leaf for leaf in leaves_of((operator.arguments, operator.keywords)) if not isinstance(leaf, str)]
    result: list[Any] = [None] * len(arrays)
    for leaf, part in zip(leaves, found, strict=False):
        if isinstance(leaf, Slot) and part is not None:
            known = result[leaf.index]
            result[leaf.index] = part if known is None else known + part
    return result


# -- what is joined ----------------------------------------------------------------------------------------------------


def _cut(gradient: Any, arrays: Sequence[Any], axis: int, lengths: Sequence[int]) -> list[Any]:
    """Return the parts of a gradient that so long pieces along an axis have, in the shapes of the arrays."""
    ends = [0, *itertools.accumulate(lengths)]
    lead = (slice(None),) * (axis % gradient.ndim)
    return [
        np.reshape(gradient[(*lead, slice(start, stop))], np.shape(array))
        for start, stop, array in zip(ends, ends[1:], arrays, strict=False)
    ]


@_rule(np.concatenate)
def _concatenate(answer: Any, g: Any, arrays: Any, axis: int | None = 0, **unused: Any) -> Any:
    if not isinstance(arrays, (list, tuple)):
        return None
    lengths = [np.size(one) if axis is None else np.shape(one)[axis] for one in arrays]
    return _cut(g, arrays, axis or 0, lengths)


@_rule(np.stack)
def _stack(answer: Any, g: Any, arrays: Any, axis: int = 0, **unused: Any) -> Any:
    return _cut(g, arrays, axis, [1] * len(arrays)) if isinstance(arrays, (list, tuple)) else None


@_rule(np.vstack)
def _vstack(answer: Any, g: Any, tup: Any, **unused: Any) -> Any:
    if not isinstance(tup, (list, tuple)):
        return None
    return _cut(g, tup, 0, [np.shape(one)[0] if np.ndim(one) > 1 else 1 for one in tup])


@_rule(np.hstack)
def _hstack(answer: Any, g: Any, tup: Any, **unused: Any) -> Any:
    if not isinstance(tup, (list, tuple)):
        return None
    axis = 1 if g.ndim > 1 else 0
    return _cut(g, tup, axis, [np.shape(one)[axis] if np.ndim(one) else 1 for one in tup])


@_rule(np.dstack)
def _dstack(answer: Any, g: Any, tup: Any) -> Any:
    if not isinstance(tup, (list, tuple)):
        return None
    return _cut(g, tup, 2, [np.shape(one)[2] if np.ndim(one) > 2 else 1 for one in tup])


@_rule(np.column_stack)
def _column_stack(answer: Any, g: Any, tup: Any) -> Any:
    if not isinstance(tup, (list, tuple)):
        return None
    return _cut(g, tup, 1, [np.shape(one)[1] if np.ndim(one) > 1 else 1 for one in tup])


@_rule(np.append)
def _append(answer: Any, g: Any, arr: Any, values: Any, axis: int | None = None) -> Any:
    arrays = (arr, values)
    if axis is not None:
        return _cut(g, arrays, axis, [np.shape(one)[axis] for one in arrays])
    return _cut(g, arrays, 0, [np.size(one) for one in arrays])


# -- what is moved -----------------------------------------------------------------------------------------------------


def _placed(array: Any, index: Any, gradient: Any) -> Any:
    """Return zeros like an array with a gradient added where a key takes elements."""
    parts = index if isinstance(index, tuple) else (index,)
    zeros = np.zeros_like(array, dtype=gradient.dtype)
    if all(part is None or part is Ellipsis or isinstance(part, (int, np.integer, slice)) for part in parts):
        zeros[index] = gradient
    else:
        np.add.at(zeros, index, gradient)
    return zeros


@_rule(item_of)
def _item(answer: Any, g: Any, array: Any, index: Any) -> Any:
    return [_placed(array, index, g), *(None for _ in leaves_of(index))]


@_rule(np.take)
def _take(answer: Any, g: Any, a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    if mode != "raise":
        return None
    places = np.asarray(indices) if isinstance(indices, (list, tuple, int)) else indices
    if axis is None:
        flat = _placed(np.reshape(a, (-1,)), (places,), g)
        return [np.reshape(flat, np.shape(a)), None]
    return [_placed(a, (*(slice(None),) * (axis % np.ndim(a)), places), g), None]


@_rule(np.take_along_axis)
def _take_along_axis(answer: Any, g: Any, arr: Any, indices: Any, axis: int | None = -1) -> Any:
    if axis is None or np.ndim(arr) != np.ndim(indices):
        return None
    grid: list[Any] = list(np.ogrid[tuple(slice(length) for length in np.shape(arr))])
    grid[axis] = indices
    return [_placed(arr, tuple(grid), g), None]


@_rule(np.pad)
def _pad(answer: Any, g: Any, array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    shape = np.shape(array)
    widths = np.broadcast_to(np.asarray(pad_width), (len(shape), 2)).tolist()
    if mode == "constant":
        return [g[tuple(slice(before, before + length) for length, (before, _) in zip(shape, widths, strict=True))]]
    if mode not in ("edge", "reflect", "symmetric", "wrap") or options:
        return None
    sources = np.pad(np.arange(math.prod(shape)).reshape(shape), widths, mode=mode)
    flat = np.zeros(math.prod(shape), g.dtype)
    return [np.reshape(_placed(np.reshape(array, flat.shape), (sources.reshape(-1),), np.reshape(g, (-1,))), shape)]


@_rule(np.array_split)
def _array_split(answer: Any, g: Any, ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    return [np.concatenate(g, axis)]


@_rule(np.array)
def _array(answer: Any, g: Any, value: Any, **unused: Any) -> Any:
    return [g] if np.shape(g) == np.shape(value) else None


@_rule(np.rot90)
def _rot90(answer: Any, g: Any, m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    return [np.rot90(g, -k, axes)]


@_rule(np.triu)
def _triu(answer: Any, g: Any, m: Any, k: int = 0) -> Any:
    return [np.triu(g, k)] if np.ndim(m) > 1 else None


@_rule(np.tril)
def _tril(answer: Any, g: Any, m: Any, k: int = 0) -> Any:
    return [np.tril(g, k)] if np.ndim(m) > 1 else None


@_rule(np.diag)
def _diag(answer: Any, g: Any, v: Any, k: int = 0) -> Any:
    if np.ndim(v) == 1:
        return [np.diagonal(g, k)]
    count = np.shape(answer)[0]
    along = np.arange(count)
    return [_placed(v, (along + max(-k, 0), along + max(k, 0)), g)]


@_rule(np.diagonal)
def _diagonal(answer: Any, g: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    along = np.arange(np.shape(answer)[-1])
    axis1, axis2 = axis1 % np.ndim(a), axis2 % np.ndim(a)
    order = [axis for axis in range(np.ndim(a)) if axis not in (axis1, axis2)] + [axis1, axis2]
    shape = tuple(np.shape(a)[axis] for axis in order)
    found = _placed(np.zeros_like(g, shape=shape), (..., along + max(-offset, 0), along + max(offset, 0)), g)
    return [np.transpose(found, [order.index(axis) for axis in range(len(order))])]


@_rule(np.trace)
def _trace(answer: Any, g: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, **options: Any) -> Any:
    if np.ndim(a) != 2 or options or (axis1, axis2) != (0, 1):
        return None
    rows, columns = np.shape(a)
    return [np.eye(rows, columns, k=offset, dtype=g.dtype) * g]


@_rule(np.diff)
def _diff(answer: Any, g: Any, a: Any, n: int = 1, axis: int = -1, **options: Any) -> Any:
    if options:
        return None
    for _ in range(n):
        before, after = ([(0, 0)] * np.ndim(a) for _ in range(2))
        before[axis], after[axis] = (1, 0), (0, 1)
        g = np.pad(g, before) - np.pad(g, after)
    return [g]


@_rule(np.select)
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


@_rule(np.sum)
def _sum(answer: Any, g: Any, a: Any, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
    return None if options.keys() - {"dtype"} else [np.broadcast_to(_spread(g, a, axis, keepdims), np.shape(a))]


@_rule(np.nansum)
def _nansum(answer: Any, g: Any, a: Any, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
    if options:
        return None
    return [np.where(np.isnan(a), g.dtype.type(0), _spread(g, a, axis, keepdims))]


def _spread(g: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    """Return the gradient of a reduction with its axes back, of length 1."""
    if keepdims or axis is None:
        return g
    axes = {one % np.ndim(a) for one in (axis if isinstance(axis, tuple) else (axis,))}
    return np.reshape(g, [1 if one in axes else length for one, length in enumerate(np.shape(a))])


@_rule(np.linalg.norm)
def _norm(answer: Any, g: Any, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    is_vector = isinstance(axis, (int, np.integer)) or (axis is None and np.ndim(x) == 1)
    answer = np.where(answer == 0, g.dtype.type(1), answer)  # where all is 0, the gradient is 0
    if ord is None or (ord == "fro" and not is_vector) or (ord == 2 and is_vector):
        return [_spread(g / answer, x, axis, keepdims) * (np.conj(x) if np.result_type(x).kind == "c" else x)]
    if not is_vector or isinstance(ord, str) or not np.isfinite(ord) or ord == 0 or np.result_type(x).kind == "c":
        return None
    # The p-norm: https://en.wikipedia.org/wiki/Norm_(mathematics)#p-norm
    return [_spread(g / answer ** (ord - 1), x, axis, keepdims) * np.sign(x) * np.abs(x) ** (ord - 1)]


# -- sums of products --------------------------------------------------------------------------------------------------


@_rule(np.einsum)
def _einsum(answer: Any, g: Any, subscripts: str, *operands: Any, **options: Any) -> Any:
    text = subscripts.replace(" ", "")
    if "." in text or options.keys() - {"optimize"}:
        return None
    inputs, _, output = text.partition("->")
    labels = inputs.split(",")
    if "->" not in text:
        output = "".join(sorted(label for label in set(inputs) - {","} if inputs.count(label) == 1))
    if any(len(set(one)) < len(one) for one in (*labels, output)):
        return None  # diagonals
    lengths = {
        label: max(length, 1)
        for one, operand in zip(labels, operands, strict=True)
        for label, length in zip(one, np.shape(operand), strict=True)
    }
    if any(
        lengths[label] != length
        for one, operand in zip(labels, operands, strict=True)
        for label, length in zip(one, np.shape(operand), strict=True)
    ):
        return None  # axes of length 1 that are broadcast
    found = []
    for position, own in enumerate(labels):
        others = [one for index, one in enumerate(labels) if index != position]
        rest = [one for index, one in enumerate(operands) if index != position]
        kept = "".join(label for label in own if any(label in one for one in (output, *others)))
        part = np.einsum(f"{','.join([output, *others])}->{kept}", g, *rest)
        if kept != own:  # what was summed up alone
            part = np.reshape(part, [lengths[label] if label in kept else 1 for label in own])
            part = np.broadcast_to(part, [lengths[label] for label in own])
        found.append(part)
    return found


def _product_axes(a: Any, b: Any, axes: Any) -> tuple[list[int], list[int]]:
    """Return the axes of both arrays that `numpy.tensordot` sums over."""
    if isinstance(axes, (int, np.integer)):
        return list(range(np.ndim(a) - int(axes), np.ndim(a))), list(range(int(axes)))
    first, second = ([one] if isinstance(one, (int, np.integer)) else list(one) for one in axes)
    return [int(one) % np.ndim(a) for one in first], [int(one) % np.ndim(b) for one in second]


@_rule(np.tensordot)
def _tensordot(answer: Any, g: Any, a: Any, b: Any, axes: Any = 2) -> Any:
    first, second = _product_axes(a, b, axes)
    free_a = [axis for axis in range(np.ndim(a)) if axis not in first]
    free_b = [axis for axis in range(np.ndim(b)) if axis not in second]
    count = len(free_a)
    # The axes of each gradient: the free ones, and those that were summed over, in the order of the other array.
    ordered = sorted(range(len(first)), key=second.__getitem__)
    part_a = np.tensordot(g, b, (list(range(count, count + len(free_b))), free_b))
    order_a = free_a + [first[one] for one in ordered]
    ordered = sorted(range(len(second)), key=first.__getitem__)
    part_b = np.tensordot(a, g, (free_a, list(range(count))))
    order_b = [second[one] for one in ordered] + free_b
    return [
        np.transpose(part, [order.index(axis) for axis in range(len(order))])
        for part, order in ((part_a, order_a), (part_b, order_b))
    ]


@_rule(np.inner)
def _inner(answer: Any, g: Any, a: Any, b: Any) -> Any:
    return _tensordot(answer, g, a, b, (-1, -1)) if np.ndim(a) and np.ndim(b) else None


@_rule(np.outer)
def _outer(answer: Any, g: Any, a: Any, b: Any) -> Any:
    first, second = np.reshape(a, (-1,)), np.reshape(b, (-1,))
    return [np.reshape(np.dot(g, second), np.shape(a)), np.reshape(np.dot(first, g), np.shape(b))]
