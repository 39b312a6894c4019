"""Operators that take and place parts of arrays by keys."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.backends.native.language import Array, constant
from minpy.backends.native.translating.lowerings.assembling import stored
from minpy.backends.native.translating.lowerings.keys import placed_by_arrays
from minpy.backends.native.translating.lowerings.lowering_tables import lowers_operator
from minpy.backends.native.translating.lowerings.views import at
from minpy.ops.tensor.indexing import is_basic

__all__: list[str] = []


def _basic(key: Any) -> Any:
    """Return a key whose result is an array, never a scalar."""
    parts = key if type(key) is tuple else (key,)
    return parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)


@lowers_operator("_index")
def _index(operators: Any, data: Array, *, key: Any) -> Array:
    return at(operators.emitter, data, _basic(key) if is_basic(key) else key)


@lowers_operator("_unindex")
def _unindex(operators: Any, data: Array, *, key: Any, shape: tuple[int, ...]) -> Array:
    if not is_basic(key):
        return placed_by_arrays(operators.emitter, constant(numpy.zeros(shape, data.dtype)), key, data, True)
    basic_key = _basic(key)
    return operators.emitter.assembly([data], shape, [lambda values: values[basic_key]], fill=0)


@lowers_operator("_assign")
def _assign(operators: Any, data: Array, value: Any, *, key: Any) -> Array:
    if not is_basic(key):
        return placed_by_arrays(operators.emitter, data, key, value, False)
    basic_key = _basic(key)
    return stored(operators.emitter, data, value, lambda values: values[basic_key])


@lowers_operator("_undiag")
def _undiag(operators: Any, data: Array, *, shape: tuple[int, ...], k: int, axis1: int, axis2: int) -> Array:
    place = lambda values: numpy.diagonal(values, k, axis1, axis2)
    return operators.emitter.assembly([data], shape, [place], fill=0)
