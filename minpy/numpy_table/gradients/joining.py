"""Gradients of functions that join arrays, and of those that cut them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["RULES"]


def _split_gradient(gradient: Any, arrays: Sequence[Any], axis: int, lengths: Sequence[int]) -> list[Any]:
    """Return a gradient split into pieces of these lengths along an axis, in the shapes of the arrays."""
    ends = [0, *itertools.accumulate(lengths)]
    lead = (slice(None),) * (axis % gradient.ndim)
    return [
        np.reshape(gradient[(*lead, slice(start, stop))], np.shape(array))
        for start, stop, array in zip(ends, ends[1:], arrays, strict=False)
    ]


def _concatenate(ans: Any, g: Any, arrays: Any, axis: int | None = 0, **unused: Any) -> Any:
    if not isinstance(arrays, (list, tuple)):
        return None
    lengths = [np.size(array) if axis is None else np.shape(array)[axis] for array in arrays]
    return _split_gradient(g, arrays, axis or 0, lengths)


def _stack(ans: Any, g: Any, arrays: Any, axis: int = 0, **unused: Any) -> Any:
    return _split_gradient(g, arrays, axis, [1] * len(arrays)) if isinstance(arrays, (list, tuple)) else None


def _stacked(axis: int) -> Callable[..., Any]:
    """Return the rule of a function that joins arrays along an axis, where those of fewer axes have the length 1."""

    def rule(ans: Any, g: Any, tup: Any, **unused: Any) -> Any:
        if not isinstance(tup, (list, tuple)):
            return None
        return _split_gradient(
            g, tup, axis, [np.shape(array)[axis] if np.ndim(array) > max(axis, 1) else 1 for array in tup]
        )

    return rule


def _hstack(ans: Any, g: Any, tup: Any, **unused: Any) -> Any:
    if not isinstance(tup, (list, tuple)):
        return None
    axis = 1 if g.ndim > 1 else 0
    return _split_gradient(g, tup, axis, [np.shape(array)[axis] if np.ndim(array) else 1 for array in tup])


def _append(ans: Any, g: Any, arr: Any, values: Any, axis: int | None = None) -> Any:
    arrays = (arr, values)
    if axis is not None:
        return _split_gradient(g, arrays, axis, [np.shape(array)[axis] for array in arrays])
    return _split_gradient(g, arrays, 0, [np.size(array) for array in arrays])


def _cotangents(g: Any) -> tuple[Any, ...]:
    """Return the gradients of all results as a tuple, also of a single one."""
    return g if isinstance(g, tuple) else (g,)


def _joined_gradient(ans: Any, g: Any, ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    return [np.concatenate(_cotangents(g), axis)]


def _meshgrid(ans: Any, g: Any, *xi: Any, sparse: bool = False, indexing: str = "xy", **unused: Any) -> Any:
    gradients = []
    for position, (array, part) in enumerate(zip(xi, _cotangents(g), strict=True)):
        own_axis = 1 - position if indexing == "xy" and position < 2 and len(xi) > 1 else position
        other_axes = tuple(axis for axis in range(len(xi)) if axis != own_axis)
        gradients.append(np.reshape(np.sum(part, axis=other_axes) if other_axes else part, np.shape(array)))
    return gradients


def _cumulative(ans: Any, g: Any, x: Any, axis: int | None = None, **options: Any) -> Any:
    if options.pop("include_initial", False):
        g = g[(slice(None),) * ((axis or 0) % g.ndim) + (slice(1, None),)]
    if options:
        return None
    summed_axis = 0 if axis is None else axis
    return [np.reshape(np.flip(np.cumsum(np.flip(g, summed_axis), summed_axis), summed_axis), np.shape(x))]


# By name: see `minpy.numpy_table.gradients`.
RULES: dict[str, Callable[..., Any]] = {
    "concatenate": _concatenate,
    "stack": _stack,
    "vstack": _stacked(0),
    "hstack": _hstack,
    "dstack": _stacked(2),
    "column_stack": _stacked(1),
    "append": _append,
    "array_split": _joined_gradient,
    "dsplit": lambda ans, g, ary, indices_or_sections: [np.concatenate(_cotangents(g), 2)],
    "hsplit": lambda ans, g, ary, indices_or_sections: [np.concatenate(_cotangents(g), 1 if np.ndim(ary) > 1 else 0)],
    "split": _joined_gradient,
    "unstack": lambda ans, g, x, axis=0: [np.stack(_cotangents(g), axis)],
    "vsplit": _joined_gradient,
    "row_stack": _stacked(0),
    "meshgrid": _meshgrid,
    "cumsum": _cumulative,
    "cumulative_sum": _cumulative,
}
