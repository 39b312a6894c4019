"""Gradients of functions that sum up along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["RULES"]


def _sum(ans: Any, g: Any, a: Any, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
    return None if options.keys() - {"dtype"} else [np.broadcast_to(_spread(g, a, axis, keepdims), np.shape(a))]


def _nansum(ans: Any, g: Any, a: Any, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
    if options:
        return None
    return [np.where(np.isnan(a), g.dtype.type(0), _spread(g, a, axis, keepdims))]


def _spread(g: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    """Return the gradient of a reduction with its axes back, of length 1."""
    if keepdims or axis is None:
        return g
    axes = {position % np.ndim(a) for position in (axis if isinstance(axis, tuple) else (axis,))}
    return np.reshape(g, [1 if position in axes else length for position, length in enumerate(np.shape(a))])


def _norm(ans: Any, g: Any, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    is_vector = isinstance(axis, (int, np.integer)) or (axis is None and np.ndim(x) == 1)
    ans = np.where(ans == 0, g.dtype.type(1), ans)  # where all is 0, the gradient is 0
    if ord is None or (ord == "fro" and not is_vector) or (ord == 2 and is_vector):
        return [_spread(g / ans, x, axis, keepdims) * (np.conj(x) if np.result_type(x).kind == "c" else x)]
    if not is_vector or isinstance(ord, str) or not np.isfinite(ord) or ord == 0 or np.result_type(x).kind == "c":
        return None
    # The p-norm: https://en.wikipedia.org/wiki/Norm_(mathematics)#p-norm
    return [_spread(g / ans ** (ord - 1), x, axis, keepdims) * np.sign(x) * np.abs(x) ** (ord - 1)]


def _var(ans: Any, g: Any, a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False, **options: Any) -> Any:
    if options or np.result_type(a).kind != "f":
        return None
    count = np.size(a) // max(np.size(ans), 1) - ddof
    return [_spread(g * (2 / count), a, axis, keepdims) * (a - np.mean(a, axis=axis, keepdims=True))]


def _std(ans: Any, g: Any, a: Any, axis: Any = None, **options: Any) -> Any:
    root = np.where(ans == 0, g.dtype.type(1), ans)  # where all are equal, the gradient is 0
    return _var(ans, g / (2 * root), a, axis, **options)


def _trapezoid(ans: Any, g: Any, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    if x is not None:
        if np.ndim(y) != 1 or np.ndim(x) != 1 or isinstance(x, (list, tuple)):
            return None
        steps, means = x[1:] - x[:-1], (y[1:] + y[:-1]) / 2
        return [
            g * (np.pad(steps, (0, 1)) + np.pad(steps, (1, 0))) / 2,
            g * (np.pad(means, (1, 0)) - np.pad(means, (0, 1))),
        ]
    weights = np.full(np.shape(y)[axis], dx, g.dtype)
    weights[0], weights[-1] = weights[0] / 2, weights[-1] / 2
    shape = [1] * np.ndim(y)
    shape[axis] = -1
    return [np.expand_dims(g, axis) * np.reshape(weights, shape)]


# By name: see `minpy.numpy_table.gradients`.
RULES: dict[str, Callable[..., Any]] = {
    "sum": _sum,
    "nansum": _nansum,
    "linalg.norm": _norm,
    "var": _var,
    "std": _std,
    "trapezoid": _trapezoid,
    "trapz": _trapezoid,
}
