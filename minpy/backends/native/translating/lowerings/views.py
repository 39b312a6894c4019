"""Functions whose results are views, or copies where the order of elements changes."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.backends.native.language import Array
from minpy.backends.native.translating.lowerings.keys import has_arrays, item_by_arrays
from minpy.backends.native.translating.lowerings.lowering_tables import lowers
from minpy.backends.native.translating.step_builder import Emitter
from minpy.capture.storage import item_of

__all__ = ["at"]

_VIEWS = (
    "array_split broadcast_to diagonal dsplit expand_dims flip fliplr flipud hsplit matrix_transpose moveaxis "
    "permute_dims ravel reshape rollaxis rot90 split squeeze swapaxes transpose unstack vsplit"
)


def _viewing(function: Any) -> Any:
    def lower(emitter: Emitter, array: Array, *arguments: Any, **keywords: Any) -> Any:
        keywords.pop("copy", None)
        return emitter.views(array, lambda values: function(values, *arguments, **keywords))

    return lower


for _name in _VIEWS.split():
    if hasattr(numpy, _name):
        lowers(_name)(_viewing(getattr(numpy, _name)))


def _at_least(function: Any) -> Any:
    def lower(emitter: Emitter, *arrays: Array) -> Any:
        result = [emitter.view(array, function) for array in arrays]
        return result[0] if len(result) == 1 else result

    return lower


for _name in ("atleast_1d", "atleast_2d", "atleast_3d"):
    lowers(_name)(_at_least(getattr(numpy, _name)))


@lowers(item_of)
def at(emitter: Emitter, array: Array, index: Any) -> Array:
    """Return `array[index]`."""
    parts = index if isinstance(index, tuple) else (index,)
    if has_arrays(index):
        return item_by_arrays(emitter, array, index)
    key = (*parts, Ellipsis) if Ellipsis not in parts else parts  # an array without axes, and no scalar
    return emitter.view(array, lambda values: values[key])


@lowers(numpy.ndarray.flatten)
def _flatten(emitter: Emitter, array: Array, order: str = "C") -> Array:
    if order != "C":
        return emitter.view(array, lambda values: values.reshape(-1, order=order))  # type: ignore[call-overload]
    return emitter.reshape(array, (-1,))
