"""Reductions of NumPy's: sums, products, extremes, truth values, positions of extremes, norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.row_parts import (
    axes_of,
    axis_of,
    computes_in,
    has_value,
    is_nan,
    number,
    real_only,
    sums_in,
    wide,
    without_nan,
)

__all__ = ["ROWS", "extreme_along"]

ROWS = Rows()


def _operand(call: NodeCall, a: Any) -> Operand:
    """Return an argument as an operand: lists of arrays become one."""
    return a if isinstance(a, Operand) else Operand(call.array(a), *call.spec(a))


def _with_initial(call: NodeCall, op_type: str, name: str, initial: Any, dtype: numpy.dtype) -> str:
    if initial is None:
        return name
    combined: str = call.node(op_type, name, call.array(initial, dtype))
    return combined


# -- sums and products -------------------------------------------------------------------------------------------------


@ROWS.enter("sum nansum add.reduce")
def _sum(
    call: NodeCall, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None
) -> Any:  # fmt: skip
    a = _operand(call, a)
    computed, axes = computes_in(call, a, dtype), axes_of(axis, a.ndim)
    if computed.kind == "b":
        raise call.refuse("a sum of truth values as one")
    result, computed = computed, sums_in(computed)
    name = call.array(a, computed)
    if call.key == "nansum":
        name = without_nan(call, name, 0, computed)
    name = call.reduce("ReduceSum", name, axes, keepdims)
    name = _with_initial(call, "Add", name, None if initial == 0 else initial, computed)
    return name if computed == result else call.cast(name, result)


@ROWS.enter("prod nanprod multiply.reduce product")
def _prod(
    call: NodeCall, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None
) -> Any:  # fmt: skip
    a = _operand(call, a)
    result, axes = computes_in(call, a, dtype), axes_of(axis, a.ndim)
    computed = sums_in(result)
    name = call.array(a, computed)
    if call.key == "nanprod":
        name = without_nan(call, name, 1, computed)
    name = call.reduce("ReduceProd", name, axes, keepdims)
    name = _with_initial(call, "Mul", name, None if initial == 1 else initial, computed)
    return name if computed == result else call.cast(name, result)


@ROWS.enter("mean")
def _mean(
    call: NodeCall, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False
) -> Any:  # fmt: skip
    a = _operand(call, a)
    computed, axes = computes_in(call, a, dtype), axes_of(axis, a.ndim)
    return call.reduce("ReduceMean", call.array(a, computed), axes, keepdims)


@ROWS.enter("nanmean")
def _nanmean(call: NodeCall, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    a = _operand(call, a)
    computed, axes = computes_in(call, a, dtype), axes_of(axis, a.ndim)
    name = call.array(a, computed)
    if a.dtype.kind != "f":
        return call.reduce("ReduceMean", name, axes, keepdims)
    present = call.cast(call.node("Not", is_nan(call, name)), computed)
    total = call.reduce("ReduceSum", without_nan(call, name, 0, computed), axes, keepdims)
    return call.node("Div", total, call.reduce("ReduceSum", present, axes, keepdims))


@ROWS.enter("count_nonzero")
def _count_nonzero(call: NodeCall, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    a = _operand(call, a)
    flags = call.cast(call.array(a, numpy.bool_), numpy.int64)
    return call.reduce("ReduceSum", flags, axes_of(axis, a.ndim), keepdims)


# -- extremes ----------------------------------------------------------------------------------------------------------


def extreme_along(
    call: NodeCall, is_max: bool, name: str, dtype: numpy.dtype, axes: Sequence[int], keepdims: bool
) -> str:
    """Return the largest, or smallest, numbers along axes: NaN where there is one, which onnxruntime overlooks."""
    if not axes:
        return name
    op_type = "ReduceMax" if is_max else "ReduceMin"
    if dtype.kind == "f":
        best = call.reduce(op_type, name, axes, keepdims)
        missing = has_value(call, is_nan(call, name), axes, keepdims)
        chosen: str = call.node("Where", missing, number(call, numpy.nan, dtype), best)
        return chosen
    computed = wide(dtype)
    widened = name if computed == dtype else call.cast(name, computed)
    best = call.reduce(op_type, widened, axes, keepdims)
    return best if computed == dtype else call.cast(best, dtype)


def _least(is_max: bool, dtype: numpy.dtype) -> Any:
    """Return the number that no extreme depends on."""
    if dtype.kind == "f":
        return -numpy.inf if is_max else numpy.inf
    if dtype.kind == "b":
        return not is_max
    return numpy.iinfo(dtype).min if is_max else numpy.iinfo(dtype).max


@ROWS.enter("amax amin max min maximum.reduce minimum.reduce fmax.reduce fmin.reduce nanmax nanmin")
def _extreme(
    call: NodeCall, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None
) -> Any:  # fmt: skip
    a = _operand(call, a)
    result = call.result_dtype
    real_only(call, result, a.dtype)
    is_max, axes = "max" in call.key, axes_of(axis, a.ndim)
    name = call.array(a, result)
    if call.key.startswith(("nan", "fm")) and result.kind == "f":
        missing = is_nan(call, name)
        filled = call.node("Where", missing, number(call, _least(is_max, result), result), name)
        best = call.reduce("ReduceMax" if is_max else "ReduceMin", filled, axes, keepdims)
        present = has_value(call, call.node("Not", missing), axes, keepdims)
        name = call.node("Where", present, best, number(call, numpy.nan, result))
    else:
        name = extreme_along(call, is_max, name, result, axes, keepdims)
    if initial is None:
        return name
    pair = Operand(name, call.shape, result), numpy.asarray(initial).astype(result)
    return call.emit(numpy.maximum if is_max else numpy.minimum, pair, {})


@ROWS.enter("ptp")
def _ptp(call: NodeCall, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    a = _operand(call, a)
    result = call.result_dtype
    real_only(call, result)
    name, axes, computed = call.array(a, result), axes_of(axis, a.ndim), wide(result)
    high, low = (extreme_along(call, is_max, name, result, axes, keepdims) for is_max in (True, False))
    if computed == result:
        return call.node("Sub", high, low)
    return call.cast(call.node("Sub", call.cast(high, computed), call.cast(low, computed)), result)


@ROWS.enter("argmax argmin nanargmax nanargmin")
def _position(call: NodeCall, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    a = _operand(call, a)
    real_only(call, a.dtype)
    is_max = "max" in call.key
    name, dtype = call.array(a), a.dtype
    if dtype.kind == "f" and call.key.startswith("nan"):
        name = without_nan(call, name, _least(is_max, dtype), dtype)
    if axis is None:
        name, at = call.reshape(name, (-1,)), 0
    else:
        at = axis_of(axis, a.ndim)
    if not a.ndim:
        return number(call, 0, numpy.int64)
    if dtype.kind != "f":
        computed = numpy.dtype("int64") if dtype.name == "uint32" else wide(dtype)
        name = name if computed == dtype else call.cast(name, computed)
    position = call.node("ArgMax" if is_max else "ArgMin", name, axis=at, keepdims=int(bool(keepdims)))
    if dtype.kind == "f" and not call.key.startswith("nan"):  # the first NaN is it
        missing = call.cast(is_nan(call, name), numpy.int32)
        first = call.node("ArgMax", missing, axis=at, keepdims=int(bool(keepdims)))
        is_there = call.cast(call.reduce("ReduceMax", missing, (at,), keepdims), numpy.bool_)
        position = call.node("Where", is_there, first, position)
    return call.reshape(position, call.shape) if axis is None and keepdims else position


@ROWS.enter("all any logical_and.reduce logical_or.reduce alltrue sometrue")
def _truth(
    call: NodeCall, a: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None
) -> Any:  # fmt: skip
    a = _operand(call, a)
    real_only(call, a.dtype)
    is_all = call.key in ("all", "logical_and.reduce", "alltrue")
    flags = call.array(a, numpy.bool_)
    axes = axes_of(axis, a.ndim)
    if not axes:
        return flags
    whole = call.cast(flags, numpy.int32)
    return call.cast(call.reduce("ReduceMin" if is_all else "ReduceMax", whole, axes, keepdims), numpy.bool_)


@ROWS.enter("sum_to")
def _sum_to(call: NodeCall, data: Operand, shape: Any) -> Any:
    real_only(call, data.dtype)
    name, shape = call.array(data), tuple(shape)
    added = data.ndim - len(shape)
    axes = [axis for axis in range(data.ndim) if axis < added or (shape[axis - added] == 1 and data.shape[axis] != 1)]
    name = call.reduce("ReduceSum", name, axes, True)
    return call.squeeze(name, range(added)) if added else name


# -- norms -------------------------------------------------------------------------------------------------------------


@ROWS.enter("linalg.norm")
def _norm(call: NodeCall, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = _operand(call, x)
    real_only(call, x.dtype)
    dtype = call.result_dtype
    name = call.array(x, dtype)
    if axis is None and (ord is None or (ord == "fro" and x.ndim == 2) or (ord == 2 and x.ndim == 1)):
        return call.reduce("ReduceL2", name, tuple(range(x.ndim)), keepdims)
    axes = axes_of(axis, x.ndim)
    if len(axes) == 1:
        return _vector_norm(call, name, dtype, 2 if ord is None else ord, axes, keepdims)
    return _matrix_norm(call, name, dtype, "fro" if ord is None else ord, axes, keepdims)


@ROWS.enter("linalg.vector_norm linalg.matrix_norm")
def _norm_of(call: NodeCall, x: Any, axis: Any = None, keepdims: bool = False, ord: Any = None) -> Any:
    x = _operand(call, x)
    real_only(call, x.dtype)
    dtype = call.result_dtype
    name = call.array(x, dtype)
    if call.key == "linalg.matrix_norm":
        return _matrix_norm(call, name, dtype, "fro" if ord is None else ord, axes_of((-2, -1), x.ndim), keepdims)
    return _vector_norm(call, name, dtype, 2 if ord is None else ord, axes_of(axis, x.ndim), keepdims)


def _vector_norm(
    call: NodeCall, name: str, dtype: numpy.dtype, ord: Any, axes: Sequence[int], keepdims: bool
) -> str:  # fmt: skip
    if isinstance(ord, str):
        raise call.refuse(f"ord={ord!r} of vectors")
    if ord in (1, 2):
        return call.reduce("ReduceL1" if ord == 1 else "ReduceL2", name, axes, keepdims)
    if ord == 0:
        return call.reduce("ReduceSum", call.cast(call.cast(name, numpy.bool_), dtype), axes, keepdims)
    size = call.node("Abs", name)
    if ord in (numpy.inf, -numpy.inf):
        return extreme_along(call, ord > 0, size, dtype, axes, keepdims)
    powers = call.reduce("ReduceSum", call.node("Pow", size, number(call, ord, dtype)), axes, keepdims)
    norm: str = call.node("Pow", powers, number(call, 1 / ord, dtype))
    return norm


def _matrix_norm(
    call: NodeCall, name: str, dtype: numpy.dtype, ord: Any, axes: Sequence[int], keepdims: bool
) -> str:  # fmt: skip
    if ord == "fro":
        return call.reduce("ReduceL2", name, axes, keepdims)
    if ord not in (1, -1, numpy.inf, -numpy.inf):
        raise call.refuse(f"ord={ord!r} of matrices: it takes singular values")
    row, column = axes
    added, compared = (row, column) if abs(ord) == 1 else (column, row)
    sums = call.reduce("ReduceL1", name, (added,), True)
    best = extreme_along(call, ord > 0, sums, dtype, (compared,), True)
    return best if keepdims else call.squeeze(best, axes)
