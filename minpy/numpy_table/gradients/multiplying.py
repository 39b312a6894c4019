"""Gradients of sums of products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["RULES"]


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


def _inner(answer: Any, g: Any, a: Any, b: Any) -> Any:
    return _tensordot(answer, g, a, b, (-1, -1)) if np.ndim(a) and np.ndim(b) else None


def _outer(answer: Any, g: Any, a: Any, b: Any) -> Any:
    first, second = np.reshape(a, (-1,)), np.reshape(b, (-1,))
    return [np.reshape(np.dot(g, second), np.shape(a)), np.reshape(np.dot(first, g), np.shape(b))]


# By name: see `minpy.numpy_table.gradients`.
RULES: dict[str, Callable[..., Any]] = {
    "einsum": _einsum,
    "tensordot": _tensordot,
    "inner": _inner,
    "outer": _outer,
}
