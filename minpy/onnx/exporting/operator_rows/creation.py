"""Operators that make arrays, of numbers or of other arrays' shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.positions import axis_of, counted
from minpy.ops.registry import OPERATORS, find_operator
from minpy.ops.tensor.creation import fill_in

__all__ = ["ROWS"]

ROWS = Rows()


def _filled(number: float) -> Callable[..., Any]:
    def row(call: NodeCall, shape: Any = (), ctx: Any = None, dtype: Any = None) -> Any:
        value = numpy.asarray([number]).astype(call.result_dtype)
        return call.node("ConstantOfShape", call.ints(list(call.shape)), value=value)

    return row


ROWS.update(dict.fromkeys(("_zeros", "_zeros_without_dtype", "_npi_zeros"), _filled(0)))
ROWS.update(dict.fromkeys(("_ones", "_npi_ones"), _filled(1)))


@ROWS.enter("_full")
def _full(call: NodeCall, shape: Any = (), ctx: Any = None, dtype: Any = None, value: float = 0.0) -> Any:
    return _filled(value)(call)


@ROWS.enter("zeros_like ones_like")
def _like(call: NodeCall, data: Operand, dtype: Any = None) -> Any:
    number = numpy.full(1, call.key == "ones_like", call.result_dtype)
    return call.node("ConstantOfShape", call.node("Shape", data), value=number)


def _made(name: str) -> Callable[..., Any]:
    """Return the row of an operator without inputs: the array that it makes is a constant."""

    def row(call: NodeCall, **attributes: Any) -> Any:
        operator = OPERATORS[name] if name in OPERATORS else find_operator(name)
        return call.emitter.constant(operator.definition(**fill_in(operator, attributes, call.shape)))

    return row


for _name in [
    "_arange",
    "_eye",
    "_linspace",
    "_npi_identity",
    "_npi_eye",
    "_npi_arange",
    "_npi_logspace",
    "_npi_indices",
    "_npi_hanning",
    "_npi_hamming",
    "_npi_blackman",
]:
    ROWS[_name] = _made(_name)


# -- of shapes ---------------------------------------------------------------------------------------------------------


@ROWS.enter("shape_array")
def _shape_array(call: NodeCall, data: Operand) -> Any:
    return call.node("Shape", data)


@ROWS.enter("size_array")
def _size_array(call: NodeCall, data: Operand) -> Any:
    return call.unsqueeze(call.node("Size", data), [0])


@ROWS.enter("_contrib_arange_like")
def _arange_like(
    call: NodeCall,
    data: Operand,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: str = "",
    axis: int | None = None,
) -> Any:
    count = math.prod(data.shape) if axis is None else data.shape[axis_of(axis, data.ndim)]
    numbers = counted(call, count)
    if repeat != 1:
        numbers = call.node("Div", numbers, call.ints(repeat))
    if float(start).is_integer() and float(step).is_integer():
        if step != 1:
            numbers = call.node("Mul", numbers, call.ints(int(step)))
        if start:
            numbers = call.node("Add", numbers, call.ints(int(start)))
    else:
        numbers = call.node("Mul", call.cast(numbers, numpy.float64), numpy.float64(step))
        numbers = call.node("Add", numbers, numpy.float64(start))
    numbers = call.cast(numbers, call.result_dtype)
    return numbers if call.ndim == 1 else call.reshape(numbers, call.shape)


@ROWS.enter("_contrib_index_array")
def _index_array(call: NodeCall, data: Operand, axes: Any = None) -> Any:
    chosen = range(data.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    parts = []
    for axis in (axis_of(each, data.ndim) for each in chosen):
        others = [each for each in range(data.ndim) if each != axis]
        column = counted(call, data.shape[axis])
        column = call.unsqueeze(column, others) if others else column
        parts.append(call.unsqueeze(call.node("Expand", column, call.ints(list(data.shape))), [data.ndim]))
    return parts[0] if len(parts) == 1 else call.node("Concat", *parts, axis=data.ndim)


@ROWS.enter("_contrib_MultiBoxPrior")
def _multibox_prior(
    call: NodeCall,
    data: Operand,
    sizes: Sequence[float] = (1.0,),
    ratios: Sequence[float] = (1.0,),
    clip: bool = False,
    steps: Sequence[float] = (-1.0, -1.0),
    offsets: Sequence[float] = (0.5, 0.5),
) -> Any:
    """Anchors hang on the feature map's height and width only: constants, unless these are open."""
    dtype = data.dtype if data.dtype.itemsize > 2 else numpy.dtype("float32")
    if not call.emitter.open_lengths:
        stand_in = numpy.broadcast_to(numpy.zeros((), data.dtype), data.shape)
        operator = OPERATORS["_contrib_MultiBoxPrior"]
        return call.emitter.constant(
            operator.definition(
                stand_in, sizes=sizes, ratios=ratios, clip=clip, steps=steps, offsets=offsets
            )
        )  # fmt: skip
    lengths = [call.cast(call.ints(length), numpy.float64) for length in data.shape[2:4]]
    points = []
    for axis in range(2):
        step = numpy.asarray(steps[axis], dtype)
        stride = step if step > 0 else call.cast(call.node("Reciprocal", lengths[axis]), dtype)
        centers = call.node("Add", counted(call, data.shape[2 + axis], dtype), numpy.asarray(offsets[axis], dtype))
        points.append(call.unsqueeze(call.node("Mul", centers, stride), [1, 2] if axis == 0 else [0, 2]))
    pairs = [*((size, ratios[0]) for size in sizes), *((sizes[0], ratio) for ratio in ratios[1:])]
    size, root = numpy.array([pair[0] for pair in pairs], dtype), numpy.sqrt(numpy.array([p[1] for p in pairs], dtype))
    aspect = call.cast(call.node("Div", *lengths), dtype)
    half_width = call.node("Div", call.node("Mul", call.node("Mul", size, aspect), root), numpy.asarray(2, dtype))
    half_height = size / root / 2
    shape = call.ints([*data.shape[2:4], len(pairs)])
    corners = [
        call.node("Expand", call.node(op_type, point, half), shape)
        for op_type in ("Sub", "Add")
        for point, half in ((points[1], half_width), (points[0], half_height))
    ]
    anchors = call.node("Concat", *(call.unsqueeze(corner, [3]) for corner in corners), axis=3)
    if clip:
        anchors = call.node("Clip", anchors, numpy.zeros((), dtype), numpy.ones((), dtype))
    anchors = call.reshape(anchors, [1, -1, 4])
    return anchors if dtype == data.dtype else call.cast(anchors, data.dtype)
