"""Gradients of sums of products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.sums import sum_to

__all__ = ["RULES"]


def _einsum(ans: Any, g: Any, subscripts: str, *operands: Any, **options: Any) -> Any:
    text = subscripts.replace(" ", "")
    if "." in text or options.keys() - {"optimize"}:
        return None
    inputs, _, output = text.partition("->")
    labels = inputs.split(",")
    if "->" not in text:
        output = "".join(sorted(label for label in set(inputs) - {","} if inputs.count(label) == 1))
    if any(len(set(operand_labels)) < len(operand_labels) for operand_labels in (*labels, output)):
        return None  # diagonals
    lengths = {
        label: max(length, 1)
        for operand_labels, operand in zip(labels, operands, strict=True)
        for label, length in zip(operand_labels, np.shape(operand), strict=True)
    }
    if any(
        lengths[label] != length
        for operand_labels, operand in zip(labels, operands, strict=True)
        for label, length in zip(operand_labels, np.shape(operand), strict=True)
    ):
        return None  # axes of length 1 that are broadcast
    gradients = []
    for position, operand_labels in enumerate(labels):
        other_labels = [*labels[:position], *labels[position + 1 :]]
        other_operands = [*operands[:position], *operands[position + 1 :]]
        elsewhere = "".join([output, *other_labels])
        kept_labels = "".join(label for label in operand_labels if label in elsewhere)
        part = np.einsum(f"{','.join([output, *other_labels])}->{kept_labels}", g, *other_operands)
        if kept_labels != operand_labels:  # axes that were summed over before any product
            part = np.reshape(part, [lengths[label] if label in kept_labels else 1 for label in operand_labels])
            part = np.broadcast_to(part, [lengths[label] for label in operand_labels])
        gradients.append(part)
    return gradients


def _product_axes(a: Any, b: Any, axes: Any) -> tuple[list[int], list[int]]:
    """Return the axes of both arrays that `numpy.tensordot` sums over."""
    if isinstance(axes, (int, np.integer)):
        return list(range(np.ndim(a) - int(axes), np.ndim(a))), list(range(int(axes)))
    first, second = ([axis] if isinstance(axis, (int, np.integer)) else list(axis) for axis in axes)
    return [int(axis) % np.ndim(a) for axis in first], [int(axis) % np.ndim(b) for axis in second]


def _tensordot(ans: Any, g: Any, a: Any, b: Any, axes: Any = 2) -> Any:
    axes_a, axes_b = _product_axes(a, b, axes)
    free_a = [axis for axis in range(np.ndim(a)) if axis not in axes_a]
    free_b = [axis for axis in range(np.ndim(b)) if axis not in axes_b]
    count = len(free_a)
    # The axes of each gradient: the free ones, and those that were summed over, in the order of the other array.
    ordered = sorted(range(len(axes_a)), key=axes_b.__getitem__)
    part_a = np.tensordot(g, b, (list(range(count, count + len(free_b))), free_b))
    order_a = free_a + [axes_a[position] for position in ordered]
    ordered = sorted(range(len(axes_b)), key=axes_a.__getitem__)
    part_b = np.tensordot(a, g, (free_a, list(range(count))))
    order_b = [axes_b[position] for position in ordered] + free_b
    return [
        np.transpose(part, [order.index(axis) for axis in range(len(order))])
        for part, order in ((part_a, order_a), (part_b, order_b))
    ]


def _outer(ans: Any, g: Any, a: Any, b: Any) -> Any:
    first, second = np.reshape(a, (-1,)), np.reshape(b, (-1,))
    return [np.reshape(np.dot(g, second), np.shape(a)), np.reshape(np.dot(first, g), np.shape(b))]


def _kron(ans: Any, g: Any, a: Any, b: Any) -> Any:
    count = max(np.ndim(a), np.ndim(b))
    shapes = [(1,) * (count - np.ndim(array)) + tuple(np.shape(array)) for array in (a, b)]
    pairs = np.reshape(g, [length for pair in zip(*shapes, strict=True) for length in pair])
    of_a = np.reshape(a, [length for n in shapes[0] for length in (n, 1)])
    of_b = np.reshape(b, [length for n in shapes[1] for length in (1, n)])
    even, odd = tuple(range(0, 2 * count, 2)), tuple(range(1, 2 * count, 2))
    return [
        np.reshape(np.sum(pairs * of_b, axis=odd), np.shape(a)),
        np.reshape(np.sum(pairs * of_a, axis=even), np.shape(b)),
    ]


def _cross(ans: Any, g: Any, a: Any, b: Any, **options: Any) -> Any:
    if options or np.shape(a)[-1] != 3 or np.shape(b)[-1] != 3:
        return None
    return [sum_to(np.cross(b, g), np.shape(a)), sum_to(np.cross(g, a), np.shape(b))]


def _vecdot(ans: Any, g: Any, x1: Any, x2: Any, **options: Any) -> Any:
    if options or np.result_type(x1, x2).kind == "c":
        return None
    g = np.expand_dims(g, -1)
    return [sum_to(g * x2, np.shape(x1)), sum_to(g * x1, np.shape(x2))]


def _convolve(ans: Any, g: Any, a: Any, v: Any, mode: str = "full") -> Any:
    if np.ndim(a) != 1 or np.ndim(v) != 1 or np.result_type(a, v).kind == "c":
        return None
    longest, shortest = sorted((np.shape(a)[0], np.shape(v)[0]))[::-1]
    before = {"full": 0, "same": (shortest - 1) // 2, "valid": shortest - 1}[mode]
    whole = np.pad(g, (before, longest + shortest - 1 - before - np.shape(g)[0]))
    return [np.correlate(whole, v, "valid"), np.correlate(whole, a, "valid")]


def _correlate(ans: Any, g: Any, a: Any, v: Any, mode: str = "valid") -> Any:
    if np.shape(a) < np.shape(v):  # numpy.correlate then reverses its result
        return None
    gradients = _convolve(ans, g, a, v[::-1], mode)
    return None if gradients is None else [gradients[0], gradients[1][::-1]]


def _vander(ans: Any, g: Any, x: Any, N: int | None = None, increasing: bool = False) -> Any:
    powers = np.arange(np.shape(ans)[-1])
    powers = powers if increasing else powers[::-1]
    slopes = np.reshape(x, (-1, 1)) ** np.maximum(powers - 1, 0)
    return [np.sum(g * slopes * powers.astype(g.dtype), axis=-1)]


def _polyval(ans: Any, g: Any, p: Any, x: Any) -> Any:
    count = len(p)
    if count > 32 or isinstance(x, (list, tuple)):
        return None
    of_p: list[Any] = [None] * count if isinstance(p, (list, tuple)) else [None]
    if not isinstance(p, (list, tuple)):
        of_p = [np.stack([np.sum(g * x**power) for power in range(count)[::-1]])]
    slope: Any = 0
    for position in range(count - 1):
        slope = slope * x + p[position] * (count - 1 - position)
    return [*of_p, g * slope]


# By name: see `minpy.numpy_table.gradients`.
RULES: dict[str, Callable[..., Any]] = {
    "einsum": _einsum,
    "tensordot": _tensordot,
    "inner": lambda ans, g, a, b: _tensordot(ans, g, a, b, (-1, -1)) if np.ndim(a) and np.ndim(b) else None,
    "outer": _outer,
    "kron": _kron,
    "cross": _cross,
    "linalg.cross": _cross,
    "linalg.vecdot": _vecdot,
    "linalg.outer": _outer,
    "linalg.tensordot": _tensordot,
    "convolve": _convolve,
    "correlate": _correlate,
    "vander": _vander,
    "polyval": _polyval,
}
