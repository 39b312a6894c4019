"""Running sums, products and extremes of NumPy's; differences; what is computed from left to right."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.emitter import EmittedGraph
from minpy.onnx.exporting.row_parts import axis_of, computes_in, number, real_only, sums_in, wide, without_nan

__all__ = ["ROWS"]

ROWS = Rows()
_END = 2**63 - 1  # more than any axis is long


def _scanned(call: NodeCall, op_type: str, x: Operand, axis: int) -> str:
    """Return what an operator makes of an array from its first element on, all along an axis: by ONNX's Scan."""
    if x.shape[axis] == 0:
        return x.text
    slices = x.shape[:axis] + x.shape[axis + 1 :]
    if call.emitter.open_lengths:
        slices = (-1,) * len(slices)
    outside, body = call.emitter, call.emitter.of_graph()
    before, element = body.fresh(f"{body.prefix}before"), body.fresh(f"{body.prefix}element")
    (now,) = body.add(op_type, [before, element], 1, {})
    (listed,) = body.add("Identity", [now], 1, {})
    graph = EmittedGraph(
        f"{body.prefix}{op_type}",
        body.nodes,
        [(before, slices, x.dtype), (element, slices, x.dtype)],
        [now, listed],
        [(slices, x.dtype), (slices, x.dtype)],
    )
    # The first element is computed with, too: runtimes scan no empty arrays, which the elements behind one are.
    start = call.node("Gather", x, number(call, 0, numpy.int64), axis=axis)
    if op_type == "Mul":
        start = call.node("ConstantOfShape", call.node("Shape", start), value=numpy.ones(1, x.dtype))
    options = {"body": graph, "num_scan_inputs": 1, "scan_input_axes": [axis], "scan_output_axes": [axis]}
    results: list[str] = outside.add("Scan", [start, x.text], 2, options)
    return results[1]


def sliced(call: NodeCall, x: Any, start: int, stop: int, axis: int) -> str:
    """Return what lies between two positions of an axis."""
    name: str = call.node("Slice", x, call.ints([start]), call.ints([stop]), call.ints([axis]))
    return name


def _flat(call: NodeCall, name: str, a: Any, axis: Any) -> tuple[str, tuple[int, ...], int]:
    """Return (an array, its shape, an axis that it has), the array as one row for no axis."""
    shape = tuple(call.spec(a).shape)
    if axis is not None:
        return name, shape, axis_of(axis, len(shape))
    size = int(numpy.prod(shape, dtype=numpy.int64))
    return (name if len(shape) == 1 else call.reshape(name, (-1,))), (size,), 0


@ROWS.enter("cumsum nancumsum add.accumulate cumulative_sum")
def _cumsum(
    call: NodeCall, a: Any = None, axis: Any = None, dtype: Any = None, x: Any = None, include_initial: bool = False
) -> Any:
    values = x if a is None else a
    if include_initial:
        raise call.refuse("include_initial=True")
    operand = values if isinstance(values, Operand) else Operand(call.array(values), *call.spec(values))
    result = computes_in(call, operand, dtype)
    computed = sums_in(result) if result.name != "float16" else numpy.dtype("float32")  # CumSum has none
    name = call.array(operand, computed)
    if call.key == "nancumsum":
        name = without_nan(call, name, 0, computed)
    name, _, at = _flat(call, name, operand, 0 if axis is None and "." in call.key else axis)
    name = call.node("CumSum", name, number(call, at, numpy.int64))
    return name if computed == result else call.cast(name, result)


@ROWS.enter("cumprod nancumprod multiply.accumulate cumproduct cumulative_prod")
def _cumprod(
    call: NodeCall, a: Any = None, axis: Any = None, dtype: Any = None, x: Any = None, include_initial: bool = False
) -> Any:
    values = x if a is None else a
    if include_initial:
        raise call.refuse("include_initial=True")
    operand = values if isinstance(values, Operand) else Operand(call.array(values), *call.spec(values))
    result = computes_in(call, operand, dtype)
    computed = sums_in(result)
    name = call.array(operand, computed)
    if call.key == "nancumprod":
        name = without_nan(call, name, 1, computed)
    name, shape, at = _flat(call, name, operand, 0 if axis is None and "." in call.key else axis)
    if call.opset >= 26:
        name = call.node("CumProd", name, number(call, at, numpy.int64))
    else:
        name = _scanned(call, "Mul", Operand(name, shape, computed), at)
    return name if computed == result else call.cast(name, result)


@ROWS.enter("maximum.accumulate minimum.accumulate logical_and.accumulate logical_or.accumulate")
def _extreme_so_far(call: NodeCall, a: Operand, axis: int = 0, dtype: Any = None) -> Any:
    result = call.result_dtype
    real_only(call, result)
    computed = wide(result)
    is_max = call.key.startswith(("max", "logical_or"))
    name = call.array(call.array(a, result) if result == computed else call.cast(call.array(a, result), computed))
    name = _scanned(call, "Max" if is_max else "Min", Operand(name, a.shape, computed), axis_of(axis, a.ndim))
    return name if computed == result else call.cast(name, result)


@ROWS.enter("diff")
def _diff(
    call: NodeCall, a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
) -> Any:  # fmt: skip
    dtype = numpy.dtype(call.result_dtype)
    real_only(call, dtype)
    at = axis_of(axis, len(call.spec(a).shape))
    computed = wide(dtype)
    name = call.array(a, dtype) if dtype == computed or dtype.kind == "b" else call.array(a, computed)
    parts = [name if each is a else _as_slice(call, each, a, at, computed if dtype.kind != "b" else dtype)
             for each in (prepend, a, append) if each is not None]  # fmt: skip
    if len(parts) > 1:
        name = call.node("Concat", *parts, axis=at)
    for _ in range(n):
        later, earlier = sliced(call, name, 1, _END, at), sliced(call, name, 0, -1, at)
        name = call.node("Xor" if dtype.kind == "b" else "Sub", later, earlier)
    return name if computed == dtype or dtype.kind == "b" else call.cast(name, dtype)


def _as_slice(call: NodeCall, value: Any, a: Any, axis: int, dtype: numpy.dtype) -> str:
    """Return what is put before or after an array: a number, in the array's shape but for the axis."""
    name = call.array(value, dtype)
    if len(call.spec(value).shape):
        return name
    shape = list(call.spec(a).shape)
    shape[axis] = 1
    expanded: str = call.node("Expand", name, call.ints(shape))
    return expanded


@ROWS.enter("trapezoid trapz")
def _trapezoid(call: NodeCall, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    dtype = call.result_dtype
    real_only(call, dtype)
    spec, widths = call.spec(y), dx
    if x is not None and call.spec(x).dtype.kind == "b":
        raise call.refuse("truth values as x=")
    at = axis_of(axis, len(spec.shape))
    # By NumPy's own steps: each has a dtype of its own.
    heights = call.emit(numpy.add, _neighbours(call, y, at), {})
    if x is not None:
        shape = call.spec(x).shape
        widths = call.emit(numpy.subtract, _neighbours(call, x, 0 if len(shape) == 1 else at), {})
        if len(shape) == 1:
            one_axis = [widths.size] + [1] * (len(spec.shape) - 1 - at)
            widths = Operand(call.reshape(widths, [-1, *one_axis[1:]]), tuple(one_axis), widths.dtype)
    areas = call.emit(numpy.divide, (call.emit(numpy.multiply, (widths, heights), {}), 2.0), {})
    return call.reduce("ReduceSum", areas, (at,), False)


def _neighbours(call: NodeCall, x: Any, axis: int) -> tuple[Operand, Operand]:
    """Return all elements along an axis but the first, and all but the last."""
    spec = call.spec(x)
    shape = (*spec.shape[:axis], max(spec.shape[axis] - 1, 0), *spec.shape[axis + 1 :])
    name = call.array(x)
    later, earlier = sliced(call, name, 1, _END, axis), sliced(call, name, 0, -1, axis)
    return Operand(later, shape, spec.dtype), Operand(earlier, shape, spec.dtype)


@ROWS.enter("polyval")
def _polyval(call: NodeCall, p: Any, x: Any) -> Any:
    dtype = call.result_dtype
    real_only(call, dtype)
    computed = wide(dtype)
    if isinstance(p, Operand):
        name = call.array(p, computed)
        count = p.shape[0]
        coefficients = [call.node("Gather", name, number(call, at, numpy.int64), axis=0) for at in range(count)]
    else:
        coefficients = [call.array(each if isinstance(each, Operand) else numpy.asarray(each), computed) for each in p]
    variable = call.array(x, computed)
    result = call.node("Expand", number(call, 0, computed), call.ints(call.shape))
    for each in coefficients:
        result = call.node("Add", call.node("Mul", result, variable), each)
    return result if computed == dtype else call.cast(result, dtype)
