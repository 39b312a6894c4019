"""Elements taken and placed by arrays of positions: gathers and scatters.

Positions out of range are clipped or wrapped by steps; where they are refused, a call looks at them, and gives them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

from minpy.backends.native.gathering.gather_functions import WHY, Gather, Scatter
from minpy.backends.native.language import Array, constant
from minpy.backends.native.translating.lowerings.definitions import LONG_ROW, defined_pick
from minpy.backends.native.translating.lowerings.lowering_tables import gradient_of, lowers, lowers_operator
from minpy.backends.native.translating.promotion import require_supported
from minpy.backends.native.translating.results import NotLowered
from minpy.backends.native.translating.step_builder import Emitter
from minpy.core.array import Shaped
from minpy.ops.nn.sequence_lengths import checked_lengths
from minpy.ops.tensor.indexing import checked_positions, coordinates, in_range

__all__ = ["checked_by_call", "gathered", "looked_at", "scattered", "taken_by", "within"]

_INTP = numpy.dtype(numpy.int64)
_CHECKED = "positions that are out of range are refused"


def gathered(emitter: Emitter, data: Array, positions: Array, axis: int = 0) -> Array:
    """Return the slices of data along an axis at positions in range, of any shape."""
    before, after = data.shape[:axis], data.shape[axis + 1 :]
    shape = (*before, *positions.shape, *after)
    if not math.prod(shape):
        return constant(numpy.empty(shape, data.dtype))
    if positions.is_constant and data.is_constant:
        return constant(numpy.take(data.value, positions.value, axis))  # type: ignore[arg-type]
    folded = (math.prod(before), data.shape[axis], math.prod(after))
    (result,) = emitter.call(
        Gather(),
        (_flat(emitter, data, folded), _flat(emitter, positions, (positions.size,))),
        [((folded[0], positions.size, folded[2]), data.dtype)],
        WHY,
    )
    return emitter.reshape(result, shape)


def scattered(
    emitter: Emitter, data: Array, positions: Array, length: int, *, adds: bool, base: Array | None = None
) -> Array:
    """Return `length` rows in which the rows of data, (count, width), are added or put at positions in range."""
    width = data.shape[1]
    if not length * width:
        return constant(numpy.empty((length, width), data.dtype))
    if not positions.size:
        return constant(numpy.zeros((length, width), data.dtype)) if base is None else base
    function = Scatter(length, adds, base is not None)
    arguments = [_flat(emitter, data, data.shape), _flat(emitter, positions, (positions.size,))]
    if base is not None:
        arguments.append(_flat(emitter, base, (length, width)))
    (result,) = emitter.call(function, tuple(arguments), [((length, width), data.dtype)], WHY)
    return result


def _flat(emitter: Emitter, array: Array, shape: Sequence[int]) -> Array:
    """Return an array in a shape, its elements one after the other."""
    require_supported(array.dtype)
    array = emitter.reshape(array, shape)
    return array if array.is_contiguous else emitter.copy(array)


# -- positions ---------------------------------------------------------------------------------------------------------


def within(emitter: Emitter, indices: Array, length: int, mode: str, name: str = "") -> Array:
    """Return indices of any dtype as positions along an axis: clipped, wrapped around, or refused by an operator."""
    if not length and indices.size:
        raise NotLowered("there is nothing to take")
    if mode == "raise":
        whole = indices.root if indices.is_contiguous and indices.size == indices.root.size else indices
        (result,) = emitter.check(_Refusing(name, length), (whole,), [(whole.shape, _INTP)], _CHECKED)
        return emitter.reshape(result, indices.shape)
    whole = emitter.cast(indices, _INTP)
    if mode == "wrap":
        return emitter.elementwise("remainder", whole, constant(length, _INTP))
    if mode != "clip":
        raise NotLowered(f"its mode is {mode!r}")
    above = emitter.elementwise("maximum", whole, constant(0, _INTP))
    return emitter.elementwise("minimum", above, constant(length - 1, _INTP))


@dataclass(frozen=True)
class _Refusing:
    """Makes positions of indices along an axis, or raises what an operator does."""

    name: str = field(compare=False)
    length: int

    __name__ = "positions"

    def __call__(self, indices: Any) -> Any:
        with numpy.errstate(invalid="ignore"):
            return in_range(self.name, indices.astype(numpy.intp), self.length, "raise")


@dataclass(frozen=True)
class _Checking:
    """Makes positions of what `pick` is given, or raises what it does."""

    length: int

    __name__ = "positions"

    def __call__(self, index: Any) -> Any:
        return checked_positions(index, self.length)


def _shifted(emitter: Emitter, positions: Array, stride: int) -> Array:
    return emitter.elementwise("multiply", positions, constant(stride, _INTP)) if stride != 1 else positions


def _numbers(shape: Sequence[int], axis: int, stride: int) -> Array:
    """Return how far an element's coordinate along an axis moves it, in a shape that broadcasts."""
    lengths = [length if item == axis else 1 for item, length in enumerate(shape)]
    return constant((numpy.arange(shape[axis], dtype=_INTP) * stride).reshape(lengths))


def taken_by(emitter: Emitter, data: Array, positions: Array, axis: int) -> Array:
    """Return `numpy.take_along_axis` of positions in range."""
    places = _places_along(emitter, data.shape, positions, axis)
    return emitter.reshape(gathered(emitter, emitter.reshape(data, (-1,)), places), positions.shape)


def _places_along(emitter: Emitter, shape: Sequence[int], positions: Array, axis: int) -> Array:
    """Return where elements lie in an array of a shape that have positions along an axis, and else their own place."""
    strides = [math.prod(shape[item + 1 :]) for item in range(len(shape))]
    places = _shifted(emitter, positions, strides[axis])
    for item, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        if item != axis and length != 1:
            places = emitter.elementwise("add", places, _numbers(positions.shape, item, stride))
    return places


# -- operators ---------------------------------------------------------------------------------------------------------


@lowers_operator("Embedding")
def _embedding(operators: Any, data: Array, weight: Array, *, input_dim: int, output_dim: int, **unused: Any) -> Any:
    if weight.shape != (input_dim, output_dim):
        raise NotLowered("the weight has another shape than it says")
    emitter: Emitter = operators.emitter
    return gathered(emitter, weight, within(emitter, data, input_dim, "clip"))


@lowers_operator("take")
def _take(operators: Any, a: Array, indices: Array, *, axis: int, mode: str) -> Any:
    if not isinstance(indices, Array) or not -len(a.shape) <= axis < len(a.shape):
        return NotImplemented
    emitter: Emitter = operators.emitter
    axis %= len(a.shape)
    return gathered(emitter, a, within(emitter, indices, a.shape[axis], mode, "take"), axis)


@lowers_operator("_scatter_rows")
def _scatter_rows(operators: Any, data: Array, rows: Array, *, count: int, mode: str) -> Any:
    emitter: Emitter = operators.emitter
    positions = within(emitter, rows, count, mode, "take")
    return scattered(emitter, data, positions, count, adds=True)


@lowers_operator("_take_along")
def _take_along(operators: Any, data: Array, indices: Array, *, axis: int) -> Array:
    return _along(operators.emitter, data, indices, axis)


@lowers("take_along_axis")
def _along(emitter: Emitter, arr: Array, indices: Any, axis: int | None = -1) -> Array:
    if not isinstance(arr, Array) or not isinstance(indices, Array):
        raise NotLowered("it takes elements by what is no array")
    if axis is None:
        arr, axis = emitter.reshape(arr, (-1,)), 0
    axis %= len(arr.shape)
    if len(arr.shape) != len(indices.shape):
        raise NotLowered("it takes elements by an array of other axes")
    shape = (*arr.shape[:axis], indices.shape[axis], *arr.shape[axis + 1 :])
    if any(ours not in (1, length) for ours, length in zip(indices.shape, shape, strict=True)):
        raise NotLowered("it takes elements of an array that is broadcast")
    indices = emitter.broadcast(indices, shape)
    return taken_by(emitter, arr, looked_at(emitter, (arr.shape[axis],), (indices,)), axis)


@lowers("take")
def _numpy_take(
    emitter: Emitter, a: Array, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> Array:
    if out is not None or not isinstance(a, Array):
        raise NotLowered("it takes elements into an array")
    result = indices if isinstance(indices, Array) else constant(numpy.asarray(indices))
    if result.dtype.kind not in "iu":
        raise NotLowered("an index is no array of whole numbers")
    if axis is None:
        a, axis = emitter.reshape(a, (-1,)), 0
    axis %= len(a.shape)
    length = a.shape[axis]
    whole = emitter.cast(result, _INTP)
    positions = looked_at(emitter, (length,), (whole,)) if mode == "raise" else within(emitter, whole, length, mode)
    return gathered(emitter, a, positions, axis)


@lowers_operator("pick")
def _pick(operators: Any, data: Array, index: Array, *, axis: int, keepdims: bool, mode: str) -> Any:
    axis %= len(data.shape)
    expected = (*data.shape[:axis], 1, *data.shape[axis + 1 :])
    if index.shape not in (expected, data.shape[:axis] + data.shape[axis + 1 :]):
        raise NotLowered("the shapes do not fit")
    emitter: Emitter = operators.emitter
    if mode == "raise":
        (index,) = emitter.check(_Checking(data.shape[axis]), (index,), [(index.shape, _INTP)], _CHECKED)
        mode = "clip"
    if data.shape[axis] <= LONG_ROW:
        return operators.defined(defined_pick, data, index, axis=axis, keepdims=keepdims, mode=mode)
    positions = emitter.reshape(within(emitter, index, data.shape[axis], mode, "pick"), expected)
    picked = taken_by(emitter, data, positions, axis)
    lengths = [length for item, length in enumerate(expected) if item != axis or keepdims or len(expected) == 1]
    return emitter.reshape(picked, lengths)


@lowers_operator("batch_take")
def _batch_take(operators: Any, a: Array, indices: Array) -> Any:
    if len(a.shape) != 2 or indices.shape != a.shape[:1]:
        raise NotLowered("the shapes do not fit")
    if a.shape[1] <= LONG_ROW:
        return NotImplemented
    emitter: Emitter = operators.emitter
    positions = emitter.reshape(within(emitter, indices, a.shape[1], "clip"), (-1, 1))
    return emitter.reshape(taken_by(emitter, a, positions, 1), indices.shape)


@lowers_operator("_put_along")
def _put_along(operators: Any, data: Array, indices: Array, *, axis: int, length: int) -> Any:
    axis %= len(data.shape)
    if data.shape[axis] == 1 or data.shape != indices.shape:
        return NotImplemented
    emitter: Emitter = operators.emitter
    shape = (*data.shape[:axis], length, *data.shape[axis + 1 :])
    if not math.prod(shape):
        return constant(numpy.empty(shape, data.dtype))
    places = _places_along(emitter, shape, within(emitter, indices, length, "wrap"), axis)
    rows = emitter.reshape(data, (data.size, 1))
    return emitter.reshape(scattered(emitter, rows, places, math.prod(shape), adds=False), shape)


# -- by coordinates ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Coordinates:
    """Makes places along the first axes, counted together, of coordinates; or raises what operators do."""

    name: str = field(compare=False)
    shape: tuple[int, ...]

    __name__ = "positions"

    def __call__(self, indices: Any) -> numpy.ndarray:
        places: Any = 0
        key = coordinates(self.name, indices, self.shape)
        for part, length in zip(key, self.shape, strict=False):
            places = places * length + numpy.where(part < 0, part + length, part)
        return numpy.asarray(places)


def _at_coordinates(operators: Any, name: str, indices: Array, shape: tuple[int, ...]) -> tuple[Array, int, int]:
    """Return (places, how many there are of them, the size of what is at one)."""
    if not indices.shape or indices.shape[0] > len(shape):
        raise NotLowered("there are more coordinates than axes")
    count = indices.shape[0]
    check = _Coordinates(name, tuple(shape))
    (places,) = operators.emitter.check(check, (indices,), [(indices.shape[1:], _INTP)], _CHECKED)
    return places, math.prod(shape[:count]), math.prod(shape[count:])


@lowers_operator("gather_nd")
def _gather_nd(operators: Any, data: Array, indices: Array) -> Array:
    emitter: Emitter = operators.emitter
    places, count, width = _at_coordinates(operators, "gather_nd", indices, data.shape)
    result = gathered(emitter, emitter.reshape(data, (count, width)), places)
    return emitter.reshape(result, indices.shape[1:] + data.shape[indices.shape[0] :])


@gradient_of("gather_nd")
def _gather_nd_gradient(operators: Any, vjp_node: Any, *operands: Any) -> Any:
    gradient, _, (data, indices) = vjp_node.split(operands)
    if not isinstance(indices, Array):
        return NotImplemented
    return _scattered_nd(operators, "gather_nd", gradient, indices, data.shape, adds=True)


def _scattered_nd(
    operators: Any, name: str, data: Array, indices: Array, shape: tuple[int, ...], adds: bool, base: Any = None
) -> Array:
    emitter: Emitter = operators.emitter
    places, count, width = _at_coordinates(operators, name, indices, shape)
    rows = emitter.reshape(data, (places.size, width))
    return emitter.reshape(scattered(emitter, rows, places, count, adds=adds, base=base), shape)


@lowers_operator("scatter_nd")
def _scatter_nd(operators: Any, data: Array, indices: Array, *, shape: tuple[int, ...]) -> Array:
    if data.shape != indices.shape[1:] + tuple(shape[indices.shape[0] :]):
        raise NotLowered("the shapes do not fit")
    return _scattered_nd(operators, "scatter_nd", data, indices, tuple(shape), adds=False)


# -- positions that are looked at --------------------------------------------------------------------------------------


def looked_at(emitter: Emitter, lengths: tuple[int, ...], indices: Sequence[Array]) -> Array:
    """Return where elements lie along axes of some lengths, counted together; what is out of range is refused."""
    shape = numpy.broadcast_shapes(*(index_array.shape for index_array in indices))
    check = _Looking(lengths)
    if all(index_array.is_constant for index_array in indices):
        return constant(check(*(index_array.value for index_array in indices)))
    (result,) = emitter.check(check, tuple(indices), [(shape, _INTP)], _CHECKED)
    return result


@dataclass(frozen=True)
class _Looking:
    """Makes places of indices that count along axes of some lengths, or raises what NumPy does."""

    lengths: tuple[int, ...]

    __name__ = "positions"

    def __call__(self, *indices: Any) -> numpy.ndarray:
        places: Any = 0
        for axis, (length, index) in enumerate(zip(self.lengths, indices, strict=True)):
            index = index.astype(numpy.intp)
            if index.size and (index.min() < -length or index.max() >= length):
                key = (slice(None),) * axis + (index,)
                numpy.broadcast_to(numpy.int8(0), self.lengths)[key]  # raises, in NumPy's words
            places = places * length + numpy.where(index < 0, index + length, index)
        return numpy.asarray(places, numpy.intp)


# -- sequences ---------------------------------------------------------------------------------------------------------


def checked_by_call(operators: Any, name: str, data: Any, sequence_length: Array, axis: int) -> Array:
    """Return checked lengths of sequences, as whole numbers."""
    check = _Lengths(name, data.shape, axis)
    shape = (data.shape[1 - axis],)
    why = "lengths that are longer than the time are refused"
    (lengths,) = operators.emitter.check(check, (sequence_length,), [(shape, _INTP)], why)
    return lengths


@dataclass(frozen=True)
class _Lengths:
    """Checks the lengths of sequences in data of a shape."""

    name: str = field(compare=False)
    shape: tuple[int, ...]
    axis: int

    __name__ = "lengths"

    def __call__(self, sequence_length: Any) -> numpy.ndarray:
        data = Shaped(self.shape, numpy.dtype("float32"))
        lengths = checked_lengths(self.name, data, sequence_length, True, self.axis)
        assert lengths is not None
        return lengths


def _last_steps(operators: Any, data: Any, sequence_length: Array, axis: int) -> Array:
    """Return the number of the last step of each sequence; of an empty one, 0."""
    emitter: Emitter = operators.emitter
    lengths = checked_by_call(operators, "SequenceLast", data, sequence_length, axis)
    last = emitter.elementwise("maximum", lengths, constant(1, _INTP))
    return emitter.elementwise("subtract", last, constant(1, _INTP))


@lowers_operator("SequenceLast")
def _sequence_last(
    operators: Any, data: Array, sequence_length: Array | None = None, *, use_sequence_length: bool, axis: int
) -> Any:
    if not use_sequence_length or not isinstance(sequence_length, Array) or axis not in (0, 1) or len(data.shape) < 2:
        return NotImplemented
    emitter: Emitter = operators.emitter
    last = _last_steps(operators, data, sequence_length, axis)
    time, batch = data.shape[axis], data.shape[1 - axis]
    along, across = (batch, 1) if axis == 0 else (1, time)
    places = emitter.elementwise("add", _shifted(emitter, last, along), _numbers((batch,), 0, across))
    return gathered(emitter, emitter.reshape(data, (time * batch, *data.shape[2:])), places)


@gradient_of("SequenceLast")
def _sequence_last_gradient(operators: Any, vjp_node: Any, *operands: Any) -> Any:
    gradient, _, (data, *lengths) = vjp_node.split(operands)
    attributes = vjp_node.node.attributes
    if not attributes.get("use_sequence_length") or not lengths or not isinstance(lengths[0], Array):
        return NotImplemented
    emitter: Emitter = operators.emitter
    axis = attributes.get("axis", 0)
    last = _last_steps(operators, data, lengths[0], axis)
    ones = (1,) * (len(data.shape) - 2)
    shape = (1, -1, *ones) if axis == 0 else (-1, 1, *ones)
    is_it = emitter.elementwise("equal", _numbers((*data.shape[:2], *ones), axis, 1), emitter.reshape(last, shape))
    expanded = emitter.reshape(gradient, (*gradient.shape[:axis], 1, *gradient.shape[axis:]))
    result = emitter.elementwise("where", is_it, expanded, constant(0, gradient.dtype))
    return emitter.broadcast(result, data.shape)


def _reversed(operators: Any, data: Array, like: Any, sequence_length: Array, axis: int) -> Any:
    emitter: Emitter = operators.emitter
    if axis != 0 or len(like.shape) < 2:
        return NotImplemented
    time, batch = like.shape[:2]
    lengths = checked_by_call(operators, "SequenceReverse", like, sequence_length, axis)
    steps = _numbers((time, 1), 0, 1)
    back = emitter.elementwise("subtract", emitter.elementwise("subtract", lengths, constant(1, _INTP)), steps)
    is_inside = emitter.elementwise("less", steps, lengths)
    source = emitter.elementwise("where", is_inside, back, steps)
    places = emitter.elementwise("add", _shifted(emitter, source, batch), _numbers((1, batch), 1, 1))
    result = gathered(emitter, emitter.reshape(data, (time * batch, *like.shape[2:])), places)
    return emitter.reshape(result, like.shape)


@lowers_operator("SequenceReverse")
def _sequence_reverse(
    operators: Any, data: Array, sequence_length: Array | None = None, *, use_sequence_length: bool, axis: int
) -> Any:
    if not use_sequence_length or not isinstance(sequence_length, Array):
        return NotImplemented
    return _reversed(operators, data, data, sequence_length, axis)


@gradient_of("SequenceReverse")
def _sequence_reverse_gradient(operators: Any, vjp_node: Any, *operands: Any) -> Any:
    gradient, _, (data, *lengths) = vjp_node.split(operands)
    attributes = vjp_node.node.attributes
    if not attributes.get("use_sequence_length") or not lengths or not isinstance(lengths[0], Array):
        return NotImplemented
    return _reversed(operators, gradient, data, lengths[0], attributes.get("axis", 0))  # it is its own inverse
