"""Nests of arrays as one vector, and back: what optimizers of vectors need to take nests of parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from minpy.core.array import Array, as_raw
from minpy.core.errors import ArgumentError, ShapeError, describe

__all__ = ["flatten", "flatten_func"]


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return a nest of arrays as one vector, and the function that makes such a nest of a vector.

    Both are differentiated, to any order, where arrays are recorded or `minpy.grad` and its kin run them.

    Parameters
    ----------
    value : array, number, or nest
        A nest of dicts, lists and tuples of floating-point or complex arrays and numbers. The entries of a dict are
        taken in the order of its keys, sorted.

    Returns
    -------
    vector : array of shape (n,)
        All elements, in the dtype that all have in common.
    unflatten : callable
        Takes a vector of that length, and returns a nest like `value`, of the same shapes and dtypes.

    Raises
    ------
    ArgumentError
        If there is something else than arrays and numbers in it, or the keys of a dict cannot be sorted.
    ShapeError
        By `unflatten`, for another shape than that of the vector.

    Examples
    --------
    >>> import numpy as np
    >>> from minpy.misc import flatten
    >>> vector, unflatten = flatten({'w': np.ones((1, 2)), 'b': 3.0})
    >>> vector
    array([3., 1., 1.])
    >>> unflatten(2 * vector)
    {'w': array([[2., 2.]]), 'b': 6.0}
    """
    leaves: list[Any] = []
    places = _placed(value, "", leaves)
    shapes = [numpy.shape(as_raw(leaf)) for leaf in leaves]
    size = sum(map(math.prod, shapes))
    if leaves:
        vector = numpy.concatenate([numpy.ravel(leaf) for leaf in leaves])
    else:
        vector = numpy.zeros(0)

    def unflatten(flat: Any) -> Any:
        if numpy.shape(as_raw(flat)) != (size,):
            raise ShapeError(
                f"unflatten: the vector has the shape {numpy.shape(as_raw(flat))}; expected ({size},), that of the "
                "vector which flatten returned."
            )
        parts, start = [], 0
        for leaf, shape in zip(leaves, shapes, strict=True):
            stop = start + math.prod(shape)
            parts.append(_like(leaf, numpy.reshape(flat[start:stop], shape)))
            start = stop
        return _filled(places, parts)

    return vector, unflatten


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """Return a function of a nest, and to a nest, as one of a vector, and to a vector.

    Parameters
    ----------
    func : callable
        Its first argument, and its result, are nests of arrays: see `flatten`.
    example : nest
        A first argument.

    Returns
    -------
    function : callable
        Takes a vector in the place of the first argument, and returns a vector.
    unflatten : callable
        Makes a nest like `example` of a vector.
    vector : array of shape (n,)
        `example` as a vector.

    Raises
    ------
    ArgumentError, ShapeError
        As for `flatten`.

    Examples
    --------
    >>> import numpy as np
    >>> from minpy.misc import flatten_func
    >>> doubled, _, vector = flatten_func(lambda p: {'y': 2 * p['x']}, {'x': np.ones(2)})
    >>> doubled(vector)
    array([2., 2.])
    """
    vector, unflatten = flatten(example)

    def of_vector(flat: Any, *arguments: Any) -> Any:
        return flatten(func(unflatten(flat), *arguments))[0]

    return of_vector, unflatten, vector


def _placed(value: Any, path: str, leaves: list[Any]) -> Any:
    """Return a nest with, for each leaf, its position among the leaves, which are appended to `leaves`."""
    if isinstance(value, dict):
        try:
            keys = sorted(value)
        except TypeError as error:
            raise ArgumentError(
                f"flatten: the keys of the dict at {path or 'the top'} have no order: {error}. Give them names."
            ) from None
        positions = {key: _placed(value[key], f"{path}[{key!r}]", leaves) for key in keys}
        return {key: positions[key] for key in value}
    if isinstance(value, (list, tuple)):
        items = [_placed(item, f"{path}[{index}]", leaves) for index, item in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    is_array = isinstance(value, (Array, numpy.ndarray, numpy.generic, bool, int, float, complex))
    if not is_array and not (hasattr(value, "shape") and hasattr(value, "dtype")):
        raise ArgumentError(f"flatten: {path or 'the value'} is {describe(value)}; expected an array or a number.")
    leaves.append(value)
    return len(leaves) - 1


def _filled(places: Any, parts: list[Any]) -> Any:
    if isinstance(places, dict):
        return {key: _filled(item, parts) for key, item in places.items()}
    if isinstance(places, (list, tuple)):
        items: Iterator[Any] = (_filled(item, parts) for item in places)
        return type(places)(*items) if hasattr(places, "_fields") else type(places)(items)
    return parts[places]


def _like(leaf: Any, part: Any) -> Any:
    """Return elements of a vector in the dtype that a leaf has, and as a number if it is one."""
    dtype = leaf.dtype if hasattr(leaf, "dtype") else numpy.result_type(type(leaf))
    if part.dtype != dtype:
        part = (numpy.real(part) if part.dtype.kind == "c" and dtype.kind != "c" else part).astype(dtype)
    if type(part) is not numpy.ndarray or part.ndim:
        return part
    if isinstance(leaf, numpy.generic):
        return part[()]
    return part.item() if isinstance(leaf, (bool, int, float, complex)) else part
