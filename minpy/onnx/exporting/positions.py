"""What rows of operators that index share: positions as whole numbers in range, and parts of arrays."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall

__all__ = ["axis_of", "counted", "flat", "in_range", "last_writers", "length_of", "ranked", "truncated"]


def axis_of(axis: int, ndim: int) -> int:
    """Return an axis counted from the front."""
    return axis + ndim if axis < 0 else axis


def truncated(call: NodeCall, indices: Any) -> str:
    """Return the name of indices of any dtype as int64, fractions cut off."""
    return call.array(indices, numpy.int64)


def length_of(call: NodeCall, length: Any) -> str:
    """Return the name of a length, which may be open: a number of int64."""
    return call.ints(length)


def in_range(call: NodeCall, indices: str, length: int, mode: str) -> str:
    """Return the name of indices, those out of range clipped or wrapped around; with 'raise' the runtime refuses."""
    name: str
    if mode == "wrap":
        name = call.node("Mod", indices, length_of(call, length))
    elif mode == "clip":
        name = call.node("Clip", indices, call.ints(0), length_of(call, length - 1))
    else:
        name = indices
    return name


def counted(call: NodeCall, count: int, dtype: Any = numpy.int64) -> str:
    """Return the name of the numbers from 0 up to a count, which may be open."""
    numbers = call.node("Range", call.ints(0), length_of(call, count), call.ints(1))
    return numbers if numpy.dtype(dtype) == numpy.int64 else call.cast(numbers, dtype)


def flat(call: NodeCall, value: Any) -> str:
    """Return the name of a value with one axis."""
    return call.reshape(value, [-1])


# What runtimes order and compare, and what else is cast to for it without loss.
_RANKED = {
    "float16": "float32",
    "bool": "int32",
    "int8": "int32",
    "uint8": "int32",
    "int16": "int32",
    "uint16": "int32",
    "uint32": "int64",
}


def ranked(call: NodeCall, data: Operand) -> str:
    """Return the name of data in a dtype that TopK, ArgMax and ArgMin take."""
    return call.array(data, _RANKED.get(data.dtype.name, data.dtype))


def last_writers(call: NodeCall, places: str, count: int, total: int) -> str:
    """Return the name of the number of the last of several writers to each writer's place.

    `places`: flat places below `total`, which `count` writers write to; where several write to one, the last counts.
    """
    numbers = counted(call, count)
    name: str
    if call.opset >= 18:
        nobody = call.node("Expand", call.ints(-1), call.ints([total]))
        last = call.node("ScatterElements", nobody, places, numbers, axis=0, reduction="max")
        name = call.node("Gather", last, places, axis=0)
        return name
    same = call.node("Equal", call.unsqueeze(places, [1]), call.unsqueeze(places, [0]))
    name = call.reduce("ReduceMax", call.node("Where", same, call.unsqueeze(numbers, [0]), call.ints(-1)), [1], False)
    return name
