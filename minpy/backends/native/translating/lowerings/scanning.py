"""Running sums and products along an axis."""

from __future__ import annotations

import math
from typing import Any

from minpy.backends.native.language import Array
from minpy.backends.native.scanning.scan_function import Scan
from minpy.backends.native.translating.lowerings.lowering_tables import lowers
from minpy.backends.native.translating.lowerings.reductions import accumulator, axes_of
from minpy.backends.native.translating.results import NotLowered
from minpy.backends.native.translating.step_builder import Emitter

__all__: list[str] = []


def _scanning(function: str) -> Any:
    def lower(emitter: Emitter, a: Array, axis: int | None = None, dtype: Any = None) -> Array:
        array = emitter.cast(a, accumulator(a, dtype))
        if array.dtype.kind == "b":
            raise NotLowered(f"a running {function} of bool is not compiled")
        if axis is None or not array.shape:
            array, axis = emitter.reshape(array, (-1,)), 0
        (axis,) = axes_of(array, axis)
        shape = array.shape
        if not array.size or shape[axis] == 1:
            return array
        folded = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))
        values = emitter.reshape(array, folded)
        values = values if values.is_contiguous else emitter.copy(values)
        (result,) = emitter.call(Scan(function), (values,), [(folded, array.dtype)], "a generated kernel")
        return emitter.reshape(result, shape)

    return lower


lowers("cumsum")(_scanning("add"))
lowers("cumprod")(_scanning("multiply"))
