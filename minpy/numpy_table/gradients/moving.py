"""Gradients of functions that move elements, or take some of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["RULES", "placed"]


def placed(array: Any, index: Any, gradient: Any) -> Any:
    """Return zeros like an array with a gradient added where a key takes elements."""
    parts = index if isinstance(index, tuple) else (index,)
    zeros = np.zeros_like(array, dtype=gradient.dtype)
    if all(part is None or part is Ellipsis or isinstance(part, (int, np.integer, slice)) for part in parts):
        zeros[index] = gradient
    else:
        np.add.at(zeros, index, gradient)
    return zeros


def _take(answer: Any, g: Any, a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    if mode != "raise":
        return None
    places = np.asarray(indices) if isinstance(indices, (list, tuple, int)) else indices
    if axis is None:
        flat = placed(np.reshape(a, (-1,)), (places,), g)
        return [np.reshape(flat, np.shape(a)), None]
    return [placed(a, (*(slice(None),) * (axis % np.ndim(a)), places), g), None]


def _take_along_axis(answer: Any, g: Any, arr: Any, indices: Any, axis: int | None = -1) -> Any:
    if axis is None or np.ndim(arr) != np.ndim(indices):
        return None
    grid: list[Any] = list(np.ogrid[tuple(slice(length) for length in np.shape(arr))])
    grid[axis] = indices
    return [placed(arr, tuple(grid), g), None]


def _pad(answer: Any, g: Any, array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    shape = np.shape(array)
    widths = np.broadcast_to(np.asarray(pad_width), (len(shape), 2)).tolist()
    if mode == "constant":
        return [g[tuple(slice(before, before + length) for length, (before, _) in zip(shape, widths, strict=True))]]
    if mode not in ("edge", "reflect", "symmetric", "wrap") or options:
        return None
    sources = np.pad(np.arange(math.prod(shape)).reshape(shape), widths, mode=mode)
    flat = np.zeros(math.prod(shape), g.dtype)
    return [np.reshape(placed(np.reshape(array, flat.shape), (sources.reshape(-1),), np.reshape(g, (-1,))), shape)]


def _array(answer: Any, g: Any, value: Any, **unused: Any) -> Any:
    return [g] if np.shape(g) == np.shape(value) else None


def _rot90(answer: Any, g: Any, m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    return [np.rot90(g, -k, axes)]


def _triu(answer: Any, g: Any, m: Any, k: int = 0) -> Any:
    return [np.triu(g, k)] if np.ndim(m) > 1 else None


def _tril(answer: Any, g: Any, m: Any, k: int = 0) -> Any:
    return [np.tril(g, k)] if np.ndim(m) > 1 else None


def _diag(answer: Any, g: Any, v: Any, k: int = 0) -> Any:
    if np.ndim(v) == 1:
        return [np.diagonal(g, k)]
    count = np.shape(answer)[0]
    along = np.arange(count)
    return [placed(v, (along + max(-k, 0), along + max(k, 0)), g)]


def _diagonal(answer: Any, g: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    along = np.arange(np.shape(answer)[-1])
    axis1, axis2 = axis1 % np.ndim(a), axis2 % np.ndim(a)
    order = [axis for axis in range(np.ndim(a)) if axis not in (axis1, axis2)] + [axis1, axis2]
    shape = tuple(np.shape(a)[axis] for axis in order)
    found = placed(np.zeros_like(g, shape=shape), (..., along + max(-offset, 0), along + max(offset, 0)), g)
    return [np.transpose(found, [order.index(axis) for axis in range(len(order))])]


def _trace(answer: Any, g: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, **options: Any) -> Any:
    if np.ndim(a) != 2 or options or (axis1, axis2) != (0, 1):
        return None
    rows, columns = np.shape(a)
    return [np.eye(rows, columns, k=offset, dtype=g.dtype) * g]


def _diff(answer: Any, g: Any, a: Any, n: int = 1, axis: int = -1, **options: Any) -> Any:
    if options:
        return None
    for _ in range(n):
        before, after = ([(0, 0)] * np.ndim(a) for _ in range(2))
        before[axis], after[axis] = (1, 0), (0, 1)
        g = np.pad(g, before) - np.pad(g, after)
    return [g]


# By name: see `minpy.numpy_table.gradients`.
RULES: dict[str, Callable[..., Any]] = {
    "take": _take,
    "take_along_axis": _take_along_axis,
    "pad": _pad,
    "array": _array,
    "rot90": _rot90,
    "triu": _triu,
    "tril": _tril,
    "diag": _diag,
    "diagonal": _diagonal,
    "trace": _trace,
    "diff": _diff,
}
