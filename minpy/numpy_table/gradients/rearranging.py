"""Gradients of functions that move elements, or take some of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["RULES", "placed"]


def placed(array: Any, index: Any, gradient: Any) -> Any:
    """Return zeros like an array with a gradient added where a key takes elements."""
    subscripts = index if isinstance(index, tuple) else (index,)
    zeros = np.zeros_like(array, dtype=gradient.dtype)
    if all(part is None or part is Ellipsis or isinstance(part, (int, np.integer, slice)) for part in subscripts):
        zeros[index] = gradient
    else:
        np.add.at(zeros, index, gradient)
    return zeros


def _take(ans: Any, g: Any, a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    if mode != "raise":
        return None
    positions = np.asarray(indices) if isinstance(indices, (list, tuple, int)) else indices
    if axis is None:
        flat = placed(np.reshape(a, (-1,)), (positions,), g)
        return [np.reshape(flat, np.shape(a)), None]
    return [placed(a, (*(slice(None),) * (axis % np.ndim(a)), positions), g), None]


def _take_along_axis(ans: Any, g: Any, arr: Any, indices: Any, axis: int | None = -1) -> Any:
    if axis is None or np.ndim(arr) != np.ndim(indices):
        return None
    grid: list[Any] = list(np.ogrid[tuple(slice(length) for length in np.shape(arr))])
    grid[axis] = indices
    return [placed(arr, tuple(grid), g), None]


def _pad(ans: Any, g: Any, array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    shape = np.shape(array)
    widths = np.broadcast_to(np.asarray(pad_width), (len(shape), 2)).tolist()
    if mode == "constant":
        return [g[tuple(slice(before, before + length) for length, (before, _) in zip(shape, widths, strict=True))]]
    if mode not in ("edge", "reflect", "symmetric", "wrap") or options:
        return None
    sources = np.pad(np.arange(math.prod(shape)).reshape(shape), widths, mode=mode)
    flat = np.zeros(math.prod(shape), g.dtype)
    return [np.reshape(placed(np.reshape(array, flat.shape), (sources.reshape(-1),), np.reshape(g, (-1,))), shape)]


def _array(ans: Any, g: Any, value: Any, **unused: Any) -> Any:
    return [g] if np.shape(g) == np.shape(value) and not isinstance(value, (list, tuple)) else None


def _diag(ans: Any, g: Any, v: Any, k: int = 0) -> Any:
    if np.ndim(v) == 1:
        return [np.diagonal(g, k)]
    count = np.shape(ans)[0]
    positions = np.arange(count)
    return [placed(v, (positions + max(-k, 0), positions + max(k, 0)), g)]


def _diagonal(ans: Any, g: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    positions = np.arange(np.shape(ans)[-1])
    axis1, axis2 = axis1 % np.ndim(a), axis2 % np.ndim(a)
    order = [axis for axis in range(np.ndim(a)) if axis not in (axis1, axis2)] + [axis1, axis2]
    shape = tuple(np.shape(a)[axis] for axis in order)
    gradient = placed(np.zeros_like(g, shape=shape), (..., positions + max(-offset, 0), positions + max(offset, 0)), g)
    return [np.transpose(gradient, [order.index(axis) for axis in range(len(order))])]


def _trace(ans: Any, g: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, **options: Any) -> Any:
    if options:
        return None
    if np.ndim(a) == 2 and (axis1, axis2) == (0, 1):
        rows, columns = np.shape(a)
        return [np.eye(rows, columns, k=offset, dtype=g.dtype) * g]
    lengths = np.shape(a)[axis1] + min(offset, 0), np.shape(a)[axis2] - max(offset, 0)
    positions = np.broadcast_to(np.expand_dims(g, -1), (*np.shape(g), max(min(lengths), 0)))
    return _diagonal(positions, positions, a, offset, axis1, axis2)


def _diff(ans: Any, g: Any, a: Any, n: int = 1, axis: int = -1, **options: Any) -> Any:
    if options:
        return None
    for _ in range(n):
        before, after = ([(0, 0)] * np.ndim(a) for _ in range(2))
        before[axis], after[axis] = (1, 0), (0, 1)
        g = np.pad(g, before) - np.pad(g, after)
    return [g]


def _rollaxis(ans: Any, g: Any, a: Any, axis: int, start: int = 0) -> Any:
    axis, start = axis % np.ndim(a), start + np.ndim(a) if start < 0 else start
    return [np.moveaxis(g, start - 1 if axis < start else start, axis)]


def _reshaped(ans: Any, g: Any, *arrays: Any) -> Any:
    cotangents = g if isinstance(g, tuple) else (g,)
    return [np.reshape(part, np.shape(array)) for part, array in zip(cotangents, arrays, strict=True)]


def _trace_of_matrices(ans: Any, g: Any, x: Any, *, offset: int = 0, **options: Any) -> Any:
    rows, columns = np.shape(x)[-2:]
    diagonals = np.eye(rows, columns, k=offset, dtype=g.dtype)
    return None if options else [diagonals * np.reshape(g, (*np.shape(g), 1, 1))]


def _tile(ans: Any, g: Any, A: Any, reps: Any) -> Any:
    times = (reps,) if isinstance(reps, (int, np.integer)) else tuple(reps)
    lengths = np.shape(A)
    count = max(len(times), len(lengths))
    times, lengths = (1,) * (count - len(times)) + times, (1,) * (count - len(lengths)) + lengths
    pairs = [length for pair in zip(times, lengths, strict=True) for length in pair]
    return [np.reshape(np.sum(np.reshape(g, pairs), axis=tuple(range(0, 2 * count, 2))), np.shape(A))]


def _repeat(ans: Any, g: Any, a: Any, repeats: Any, axis: int | None = None) -> Any:
    if not isinstance(repeats, (int, np.integer)):
        return _scatter_back(a, g, np.repeat(_positions(a), repeats, axis))
    shape = (np.size(a),) if axis is None else np.shape(a)
    cut = 1 if axis is None else axis % len(shape) + 1
    return [np.reshape(np.sum(np.reshape(g, (*shape[:cut], repeats, *shape[cut:])), axis=cut), np.shape(a))]


def _positions(array: Any) -> np.ndarray:
    return np.arange(math.prod(np.shape(array))).reshape(np.shape(array))


def _scatter_back(array: Any, g: Any, sources: Any) -> list[Any]:
    """Return the gradient of an array of which a result holds the elements at the positions `sources`."""
    flat = placed(np.reshape(array, (-1,)), (np.reshape(sources, (-1,)),), np.reshape(g, (-1,)))
    return [np.reshape(flat, np.shape(array))]


def _ediff1d(ans: Any, g: Any, ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    before = 0 if to_begin is None else math.prod(np.shape(to_begin))
    after = np.shape(g)[0] - (0 if to_end is None else math.prod(np.shape(to_end)))
    steps = g[before:after]
    gradients: list[Any] = [np.reshape(np.pad(steps, (1, 0)) - np.pad(steps, (0, 1)), np.shape(ary))]
    for edge, part in ((to_end, g[after:]), (to_begin, g[:before])):
        if isinstance(edge, (list, tuple)):
            return None
        gradients.append(None if edge is None else np.reshape(part, np.shape(edge)))
    return gradients


# By name: see `minpy.numpy_table.gradients`.
RULES: dict[str, Callable[..., Any]] = {
    "take": _take,
    "take_along_axis": _take_along_axis,
    "pad": _pad,
    "array": _array,
    "rot90": lambda ans, g, m, k=1, axes=(0, 1): [np.rot90(g, -k, axes)],
    "triu": lambda ans, g, m, k=0: [np.triu(g, k)] if np.ndim(m) > 1 else None,
    "tril": lambda ans, g, m, k=0: [np.tril(g, k)] if np.ndim(m) > 1 else None,
    "diag": _diag,
    "diagonal": _diagonal,
    "trace": _trace,
    "diff": _diff,
    "fliplr": lambda ans, g, m: [np.fliplr(g)],
    "flipud": lambda ans, g, m: [np.flipud(g)],
    "rollaxis": _rollaxis,
    "matrix_transpose": lambda ans, g, x: [np.swapaxes(g, -1, -2)],
    "linalg.matrix_transpose": lambda ans, g, x: [np.swapaxes(g, -1, -2)],
    "linalg.diagonal": lambda ans, g, x, *, offset=0: _diagonal(ans, g, x, offset, -2, -1),
    "linalg.trace": _trace_of_matrices,
    "atleast_1d": _reshaped,
    "atleast_2d": _reshaped,
    "atleast_3d": _reshaped,
    "tile": _tile,
    "repeat": _repeat,
    "resize": lambda ans, g, a, new_shape: _scatter_back(a, g, np.resize(_positions(a), new_shape)),
    "delete": lambda ans, g, arr, obj, axis=None: _scatter_back(arr, g, np.delete(_positions(arr), obj, axis)),
    "diagflat": lambda ans, g, v, k=0: [np.reshape(np.diagonal(g, k), np.shape(v))],
    "ediff1d": _ediff1d,
    "unwrap": lambda ans, g, p, *unused, **options: [g],  # what is added is constant between the jumps
    "nan_to_num": lambda ans, g, x, *unused, **options: [np.where(np.isfinite(x), g, g.dtype.type(0))],
}
