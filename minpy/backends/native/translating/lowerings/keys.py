"""Keys with arrays of whole numbers, as NumPy has them: `x[i, :, j]`, `x[i] = value`, `np.add.at(x, i, value)`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy

from minpy.backends.native.language import Array, constant, uniform_value
from minpy.backends.native.translating.lowerings.indexed_access import gathered, looked_at, scattered
from minpy.backends.native.translating.lowerings.lowering_tables import lowers, lowers_operator
from minpy.backends.native.translating.promotion import Operand
from minpy.backends.native.translating.results import NotLowered
from minpy.backends.native.translating.step_builder import Emitter
from minpy.capture.ufuncs import computed_at

__all__ = ["has_arrays", "item_by_arrays", "placed_by_arrays"]


def has_arrays(index: Any) -> bool:
    """Tell whether there are arrays in a key."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, Array | list | numpy.ndarray) for part in parts)


class _Key(NamedTuple):
    """What a key with arrays chooses."""

    parts: list[Any]  # a part for each axis: an array, a slice, or None, which makes an axis
    order: list[int]  # the axes that arrays choose from, and then the others
    indices: list[Array]
    # Before which axis of the answer stands what they choose: where the first of them is, if they are neighbours; else
    # in front.
    lead: int

    @property
    def is_whole(self) -> bool:
        """Whether slices take all of their axes, and there are no new ones."""
        return all(isinstance(part, Array) or part == slice(None) for part in self.parts)

    def ordered(self, values: numpy.ndarray) -> numpy.ndarray:
        """Return what slices take, the axes that arrays choose from first."""
        new = tuple(None if part is None else slice(None) for part in self.parts)
        cut = tuple(part if isinstance(part, slice) else slice(None) for part in self.parts)
        return values[new][cut].transpose(self.order)


def _key(array: Array, index: Any) -> _Key:
    parts: list[Any] = []
    for part in index if isinstance(index, tuple) else (index,):
        if isinstance(part, int | numpy.integer | list | numpy.ndarray):
            array_part = numpy.asarray(part if not isinstance(part, list) or part else numpy.empty(0, int))
            positions = array_part.nonzero() if array_part.dtype == bool and array_part.ndim else (array_part,)
            if (
                array_part.dtype == bool
                and array_part.shape != array.shape[_axes(parts) : _axes(parts) + array_part.ndim]
            ):
                raise NotLowered("its mask has another shape")
            parts += [constant(item) for item in positions]
        elif isinstance(part, Array) and part.is_constant and part.dtype == bool:
            raise NotLowered("it takes elements by a mask")
        else:
            parts.append(part)
    where = next((position for position, part in enumerate(parts) if part is Ellipsis), len(parts))
    parts[where : where + 1] = [slice(None)] * (len(array.shape) - _axes(parts))
    chosen = [axis for axis, part in enumerate(parts) if isinstance(part, Array)]
    indices = [parts[axis] for axis in chosen]
    if any(index_array.dtype.kind not in "iu" for index_array in indices):
        raise NotLowered("it takes elements by a mask")
    other_axes = [axis for axis in range(len(parts)) if axis not in chosen]
    are_neighbours = chosen == list(range(chosen[0], chosen[-1] + 1))
    return _Key(parts, chosen + other_axes, indices, chosen[0] if are_neighbours else 0)


def _axes(parts: list[Any]) -> int:
    """Return from how many axes parts of a key choose."""
    return sum(part is not None and part is not Ellipsis for part in parts)


def item_by_arrays(emitter: Emitter, array: Array, index: Any) -> Array:
    """Return `array[index]`, of a key with arrays of whole numbers."""
    key = _key(array, index)
    moved = emitter.view(array, key.ordered)
    lengths, trailing = moved.shape[: len(key.indices)], moved.shape[len(key.indices) :]
    places = looked_at(emitter, lengths, key.indices)
    result = gathered(emitter, emitter.reshape(moved, (math.prod(lengths), *trailing)), places)
    count = len(places.shape)
    order = [*range(count, count + key.lead), *range(count), *range(count + key.lead, count + len(trailing))]
    return emitter.transpose(result, order)


def placed_by_arrays(emitter: Emitter, array: Array, index: Any, value: Operand, adds: bool) -> Array:
    """Return an array after `array[index] = value`, or after that was added there, of a key with arrays."""
    key = _key(array, index)
    if not key.is_whole:
        raise NotLowered("it stores elements by arrays and slices")
    moved = emitter.transpose(array, key.order)
    lengths, trailing = moved.shape[: len(key.indices)], moved.shape[len(key.indices) :]
    places = looked_at(emitter, lengths, key.indices)
    count, lead = len(places.shape), key.lead
    shape = (*trailing[:lead], *places.shape, *trailing[lead:])
    values = emitter.cast(value, array.dtype)
    if len(values.shape) > len(shape):  # leading axes of one element
        values = emitter.reshape(values, values.shape[len(values.shape) - len(shape) :])
    order = [*range(lead, lead + count), *range(lead), *range(lead + count, len(shape))]
    rows = emitter.transpose(emitter.broadcast(values, shape), order)
    length, width = math.prod(lengths), math.prod(trailing)
    fill = uniform_value(array)
    is_zero = fill is not None and not fill and not numpy.signbit(fill)
    base = None if is_zero else emitter.reshape(moved, (length, width))
    rows = emitter.reshape(rows, (places.size, width))
    result = emitter.reshape(scattered(emitter, rows, places, length, adds=adds, base=base), moved.shape)
    return emitter.transpose(result, numpy.argsort(key.order).tolist())


@lowers(computed_at)
def _computed_at(emitter: Emitter, ufunc: Any, target: Array, index: Any, values: Any) -> Array:
    if ufunc is not numpy.add or len(values) != 1 or not has_arrays(index) or target.dtype.kind not in "iuf":
        raise NotLowered(f"numpy.{ufunc.__name__}.at is not compiled")
    (value,) = values
    dtype = numpy.result_type(target.dtype, value.dtype) if isinstance(value, Array) else target.dtype
    if dtype != target.dtype:
        raise NotLowered("sums are rounded to the dtype of what they are added to")
    return placed_by_arrays(emitter, target, index, value, True)


# -- places of matrices ------------------------------------------------------------------------------------------------


@lowers_operator("_take_places")
def _take_places(operators: Any, A: Array, *, rows: Any, columns: Any) -> Array:
    return item_by_arrays(operators.emitter, A, (Ellipsis, numpy.asarray(rows), numpy.asarray(columns)))


@lowers_operator("_put_places")
def _put_places(operators: Any, data: Array, *, rows: Any, columns: Any, size: int) -> Array:
    zeros = constant(numpy.zeros((*data.shape[:-1], size, size), data.dtype))
    index = (Ellipsis, numpy.asarray(rows), numpy.asarray(columns))
    return placed_by_arrays(operators.emitter, zeros, index, data, False)
