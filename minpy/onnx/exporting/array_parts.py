"""What rows of functions that move elements share: slices, shapes, lengths as numbers or as values of the graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall

__all__ = [
    "FIRST",
    "LAST",
    "Length",
    "absolute_positions",
    "at_least",
    "at_most",
    "chosen",
    "counted",
    "difference_of",
    "empty",
    "expanded",
    "flattened",
    "gathered",
    "in_dtype",
    "is_open",
    "length_of",
    "lengths_value",
    "linear_type",
    "moved",
    "nothing",
    "operand_of",
    "product_of",
    "remainder_of",
    "reshaped",
    "reversed_along",
    "scalar",
    "size_of",
    "sliced",
    "sum_of",
    "vector",
]

LAST, FIRST = 2**63 - 1, -(2**63)  # ends of slices that go on to the last element, or back to the first

_FOLDED = 64  # elements; constants that are broadcast to more are, when the graph runs

Length = int | str  # a number, or the name of a value without axes, of int64, that holds it


def is_open(call: NodeCall) -> bool:
    """Tell whether the graph is written for lengths that are open."""
    return call.emitter.open_lengths


def empty(call: NodeCall) -> bool:
    """Tell whether the (first) result has no elements, and no length is open."""
    return not is_open(call) and 0 in call.shape


def nothing(call: NodeCall) -> str:
    """Return the (first) result where it has no elements."""
    return call.array(numpy.zeros(call.shape, call.result_dtype))


# -- lengths -----------------------------------------------------------------------------------------------------------


def length_of(call: NodeCall, value: Any, axis: int) -> Length:
    """Return the length of an axis; where lengths are open, the one that the array has when the graph runs."""
    if not is_open(call):
        return int(call.spec(value).shape[axis])
    shape = call.node("Shape", value)
    name: str = call.node("Gather", shape, call.ints(axis), axis=0)
    return name


def size_of(call: NodeCall, value: Any) -> Length:
    """Return the number of elements."""
    if not is_open(call):
        return math.prod(call.spec(value).shape)
    name: str = call.node("Size", value)
    return name


def scalar(call: NodeCall, length: Length) -> str:
    """Return the name of a length as an array without axes."""
    return length if isinstance(length, str) else call.ints(length)


def _computed(call: NodeCall, op_type: str, left: Length, right: Length) -> str:
    name: str = call.node(op_type, scalar(call, left), scalar(call, right))
    return name


def sum_of(call: NodeCall, left: Length, right: Length) -> Length:
    """Return a sum of lengths."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    return _computed(call, "Add", left, right)


def difference_of(call: NodeCall, left: Length, right: Length) -> Length:
    """Return a difference of lengths."""
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    return _computed(call, "Sub", left, right)


def product_of(call: NodeCall, left: Length, right: Length) -> Length:
    """Return a product of lengths."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    return _computed(call, "Mul", left, right)


def at_least(call: NodeCall, length: Length, bound: int) -> Length:
    """Return a length, or a bound if that is more."""
    return max(length, bound) if isinstance(length, int) else _computed(call, "Max", length, bound)


def at_most(call: NodeCall, length: Length, bound: Length) -> Length:
    """Return a length, or a bound if that is less."""
    if isinstance(length, int) and isinstance(bound, int):
        return min(length, bound)
    return _computed(call, "Min", length, bound)


def vector(call: NodeCall, lengths: Sequence[Length]) -> str:
    """Return the name of lengths as an array with one axis: a shape, bounds of slices."""
    if not any(isinstance(length, str) for length in lengths):
        return call.ints(list(lengths))
    rows = [call.unsqueeze(length, [0]) if isinstance(length, str) else call.ints([length]) for length in lengths]
    name: str = rows[0] if len(rows) == 1 else call.node("Concat", *rows, axis=0)
    return name


def lengths_value(call: NodeCall, value: Any) -> str:
    """Return the name of the shape of an array, as an array of int64."""
    if not is_open(call):
        return call.ints(list(call.spec(value).shape))
    name: str = call.node("Shape", value)
    return name


def counted(call: NodeCall, start: Length, stop: Length) -> str:
    """Return the name of whole numbers, one after the other."""
    if isinstance(start, int) and isinstance(stop, int) and not is_open(call):
        return call.emitter.stored(numpy.arange(start, stop))
    name: str = call.node("Range", scalar(call, start), scalar(call, stop), call.ints(1))
    return name


def remainder_of(call: NodeCall, value: Any, length: Length) -> str:
    """Return the name of a remainder of whole numbers, with the sign of the divisor's."""
    name: str = call.node("Mod", value, scalar(call, length))
    return name


def absolute_positions(call: NodeCall, indices: Any, length: Length) -> str:
    """Return the name of indices of which none is negative: from these on they count from the end."""
    values = indices.value if isinstance(indices, Operand) else None
    if values is not None and not is_open(call) and isinstance(length, int):
        return call.emitter.stored(numpy.where(values < 0, values + length, values).astype(numpy.int64))
    name = call.array(indices, numpy.int64)
    if values is not None and (values >= 0).all():
        return name
    result: str = call.node(
        "Where", call.node("Less", name, call.ints(0)), call.node("Add", name, scalar(call, length)), name
    )
    return result


# -- arrays ------------------------------------------------------------------------------------------------------------

# In which dtype onnxruntime chooses by `Where`, and pads, for those for which it does not.
_STAND_INS = {"int16": "int32", "uint16": "int32", "uint64": "int64", "bool": "uint8"}


def linear_type(dtype: Any) -> numpy.dtype:
    """Return the dtype in which elements are moved where onnxruntime does not move those of a dtype."""
    dtype = numpy.dtype(dtype)
    return numpy.dtype(_STAND_INS.get(dtype.name, dtype.name))


def chosen(call: NodeCall, mask: str, first: Any, second: Any, dtype: Any) -> str:
    """Return the name of the first where a mask is True, the second elsewhere, both of a dtype."""
    moved_as = linear_type(dtype)
    parts = [_as(call, value, dtype, moved_as) for value in (first, second)]
    name: str = call.node("Where", mask, *parts)
    return name if moved_as == dtype else call.cast(name, dtype)


def _as(call: NodeCall, value: Any, dtype: Any, moved_as: numpy.dtype) -> str:
    name = call.array(value, dtype)
    return name if moved_as == dtype else call.cast(name, moved_as)


def moved(call: NodeCall, op_type: str, value: Any, *inputs: Any, dtype: Any, **attributes: Any) -> str:
    """Return what an operator gives that moves elements, in a dtype of which onnxruntime has it."""
    moved_as = linear_type(dtype)
    name: str = call.node(op_type, _as(call, value, dtype, moved_as), *inputs, **attributes)
    return name if moved_as == dtype else call.cast(name, dtype)


def operand_of(call: NodeCall, value: Any) -> Operand:
    """Return an argument as an array: a number and a nest of them are constants."""
    if isinstance(value, Operand):
        return value
    if isinstance(value, (list, tuple)) and any(isinstance(part, (Operand, list, tuple)) for part in value):
        return Operand(call.array(value), *call.spec(value))
    return call.emitter.constant(numpy.asarray(value))


def in_dtype(call: NodeCall, value: Any, dtype: numpy.dtype) -> Operand:
    """Return an argument as an array of a dtype."""
    array = operand_of(call, value)
    if array.dtype == dtype:
        return array
    data = None if array.value is None else array.value.astype(dtype)
    return Operand(call.array(array, dtype), array.shape, dtype, data)


def reshaped(call: NodeCall, value: Any, shape: Sequence[int]) -> str:
    """Return the name of a value in a shape, in which one length may be -1."""
    if 0 not in shape or -1 in shape:
        return call.reshape(value, shape)
    if call.opset < 14:
        raise call.refuse("a shape with a length of 0 below opset 14")
    name: str = call.node("Reshape", value, call.ints(list(shape)), allowzero=1)
    return name


def flattened(call: NodeCall, value: Any) -> str:
    """Return the name of all elements in one row."""
    return call.array(value) if call.spec(value).shape and value.ndim == 1 else call.reshape(value, [-1])


def expanded(call: NodeCall, value: Any, shape: Sequence[int] | str) -> str:
    """Return the name of a value broadcast to a shape: lengths, or the name of a value that holds them."""
    data = value.value if isinstance(value, Operand) and not is_open(call) else None
    if data is not None and not isinstance(shape, str) and math.prod(shape) <= _FOLDED:
        return call.array(numpy.broadcast_to(data, shape))
    if isinstance(value, Operand) and not isinstance(shape, str) and is_open(call):
        # Axes that are as long already stay so, however long they are: that is what 1 says.
        added = len(shape) - value.ndim
        shape = [1 if at >= added and value.shape[at - added] == n else n for at, n in enumerate(shape)]
    name: str = call.node("Expand", value, shape if isinstance(shape, str) else call.ints(list(shape)))
    return name


def gathered(call: NodeCall, value: Any, indices: Any, axis: int) -> str:
    """Return the name of entries along an axis."""
    name: str = call.node("Gather", value, call.array(indices, numpy.int64), axis=axis)
    return name


def sliced(
    call: NodeCall,
    value: Any,
    starts: Sequence[Length],
    stops: Sequence[Length],
    axes: Sequence[int],
    steps: Sequence[Length] | None = None,
) -> str:
    """Return the name of a part of a value; bounds count from the end where they are negative."""
    bounds = [vector(call, starts), vector(call, stops), call.ints(list(axes))]
    name: str = call.node("Slice", value, *bounds, None if steps is None else vector(call, steps))
    return name


def reversed_along(call: NodeCall, value: Any, axes: Sequence[int]) -> str:
    """Return the name of a value with its elements the other way around along axes."""
    if not axes:
        return call.array(value)
    count = len(axes)
    return sliced(call, value, [LAST] * count, [FIRST] * count, axes, [-1] * count)
