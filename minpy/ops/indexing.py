"""Reading and writing parts of an array: what `x[key]` and `x[key] = value` mean on the tape."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.registry import operator

__all__ = ["assign", "index", "is_basic", "unindex"]


def is_basic(key: Any) -> bool:
    """Tell whether a key selects a view: integers, slices, None and Ellipsis only."""
    parts = key if type(key) is tuple else (key,)
    return all(part is None or part is Ellipsis or isinstance(part, (int, np.integer, slice)) for part in parts) and not any(
        isinstance(part, (bool, np.bool_)) for part in parts
    )


@operator(name="_index", public=False)
def index(data: np.ndarray, *, key: Any) -> np.ndarray:
    """Return `data[key]`, for any key that NumPy takes."""
    return data[key]


@operator(name="_unindex", public=False)
def unindex(data: np.ndarray, *, key: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return zeros of `shape` with `data` added at `key`: the transpose of `index`."""
    result = np.zeros(shape, data.dtype)
    if is_basic(key) or (isinstance(key, np.ndarray) and key.dtype == bool):
        result[key] = data
    else:
        np.add.at(result, key, data)
    return result


@operator(name="_assign", public=False)
def assign(data: np.ndarray, value: Any, *, key: Any) -> np.ndarray:
    """Return a copy of `data` in which `value`, broadcast, stands at `key`."""
    result = data.copy()
    result[key] = value
    return result


index.def_grad(lambda ans, data, *, key: lambda g: unindex(g, key=key, shape=np.shape(data)))
unindex.def_grad(lambda ans, data, *, key, shape: lambda g: index(g, key=key))
assign.def_grad(lambda ans, data, value, *, key: lambda g: assign(g, np.zeros((), g.dtype), key=key), 0)


@assign.def_grad(argnum=1)
def _assigned_value_gradient(ans: Any, data: Any, value: Any, *, key: Any) -> Any:
    def gradient(g: Any) -> Any:
        part = index(g, key=key)
        lead = part.ndim - value.ndim
        stretched = tuple(axis for axis in range(lead, part.ndim) if value.shape[axis - lead] == 1 != part.shape[axis])
        return np.reshape(np.sum(part, axis=(*range(lead), *stretched)), value.shape)

    return gradient
