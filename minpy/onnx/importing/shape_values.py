"""Shapes that models compute from shapes, some of whose lengths are not known: arrays of ints and lengths."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy

from minpy.onnx.importing.calls import Call
from minpy.onnx.importing.lengths import Length, Origin
from minpy.onnx.importing.tensors import Tensor

__all__ = ["lengths_of", "partial_value"]

# Larger arrays are no shapes.
_LARGEST = 64


def lengths_of(tensor: Tensor) -> list[Any] | None:
    """Return the shape of a value with lengths that say where they can be seen."""
    if tensor.shape is None:
        return None
    return [
        Length(length.terms, Origin(tensor.name, axis)) if isinstance(length, Length) else length
        for axis, length in enumerate(tensor.shape)
    ]


def partial_value(call: Call) -> numpy.ndarray | None:
    """Return what a node computes as ints and lengths, if all that it reads are such; None if not."""
    function = _FUNCTIONS.get(call.operator)
    if function is None:
        return None
    if call.operator in ("Shape", "Size"):
        shape = lengths_of(call.tensor(0))
        return None if shape is None else function(call, shape)
    arrays = []
    for tensor in call.inputs:
        array = None
        if tensor is not None:
            array = tensor.elements
            if array is None and tensor.constant is not None and tensor.constant.size <= _LARGEST:
                array = tensor.constant.astype(object) if tensor.constant.dtype.kind in "iu" else tensor.constant
            if array is None:
                return None
        arrays.append(array)
    try:
        result = function(call, *arrays)
    except (TypeError, ValueError, IndexError, ZeroDivisionError):
        return None  # it is no arithmetic of lengths: the row says what it needs
    return None if result is None or result.size > _LARGEST else result


def _shape(call: Call, shape: list[Any]) -> numpy.ndarray:
    return _objects(shape[slice(call.get("start", 0), call.get("end"))])


def _objects(values: list[Any]) -> numpy.ndarray:
    array = numpy.empty(len(values), object)
    array[:] = values
    return array


def _integers(values: Any) -> Any:
    return numpy.asarray(values).astype(numpy.int64)


def _axes(call: Call, axes: Any) -> tuple[int, ...]:
    values = call.get("axes", axes)
    return tuple(int(axis) for axis in numpy.ravel(values))


def _squeeze(call: Call, data: Any, axes: Any = None) -> Any:
    return data.reshape(()) if data.size == 1 and data.ndim == 1 else None


def _slice(call: Call, data: Any, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None) -> Any:
    starts, ends = call.get("starts", starts), call.get("ends", ends)
    if data.ndim != 1 or len(numpy.ravel(starts)) != 1:
        return None
    step = 1 if steps is None else int(numpy.ravel(steps)[0])
    start, end = int(numpy.ravel(starts)[0]), int(numpy.ravel(ends)[0])
    return data[start : None if step < 0 and end < -len(data) else end : step]


def _concat(call: Call, *arrays: Any) -> Any:
    return numpy.concatenate(arrays)


def _reduce_prod(call: Call, data: Any, axes: Any = None) -> Any:
    result = numpy.empty((1,) if call.get("keepdims", 1) else (), object)
    result[...] = reduce(operator.mul, data.ravel(), 1)
    return result


def _cast(call: Call, data: Any) -> Any:
    return data if call.get("to") in (6, 7) else None


def _where(call: Call, condition: Any, first: Any, second: Any) -> Any:
    return numpy.where(condition.astype(bool), first, second)


def _binary(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda call, first, second: numpy.asarray(function(first, second), object)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Add": _binary(operator.add),
    "Cast": _cast,
    "Concat": _concat,
    "Div": _binary(operator.floordiv),
    "Equal": lambda call, first, second: numpy.asarray(first == second, object),
    "Gather": lambda call, data, indices: numpy.asarray(numpy.take(data, _integers(indices)), object),
    "Identity": lambda call, data: data,
    "Mul": _binary(operator.mul),
    "ReduceProd": _reduce_prod,
    "Reshape": lambda call, data, shape: data.reshape([int(length) for length in shape]),
    "Shape": _shape,
    "Size": lambda call, shape: numpy.asarray(reduce(operator.mul, shape, 1), object),
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": _binary(operator.sub),
    "Unsqueeze": lambda call, data, axes=None: data.reshape(1) if data.ndim == 0 else None,
    "Where": _where,
}
