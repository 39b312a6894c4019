"""Methods `reduce` and `accumulate` of NumPy's functions of two numbers that ONNX has no reduction for; gradients.

They are written as calls of the function: for a reduction whose order does not matter of halves of the axis, else of
one element after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.function_rows.accumulations import sliced
from minpy.onnx.exporting.row_parts import axes_of, axis_of, real_only

__all__ = ["ROWS"]

ROWS = Rows()

_ASSOCIATIVE = "hypot logaddexp logaddexp2 bitwise_and bitwise_or bitwise_xor logical_xor gcd lcm"
_IN_ORDER = "subtract divide power float_power floor_divide remainder fmod arctan2 left_shift right_shift copysign"
_LONGEST = 64  # what is written out, an element a node


def _part(call: NodeCall, x: Operand, start: int, stop: int, axis: int) -> Operand:
    shape = (*x.shape[:axis], stop - start, *x.shape[axis + 1 :])
    return Operand(sliced(call, x, start, stop, axis), shape, x.dtype)


def _operand(call: NodeCall, a: Any, dtype: Any) -> Operand:
    spec = call.spec(a)
    real_only(call, spec.dtype, dtype)
    chosen = spec.dtype if dtype is None else numpy.dtype(dtype)
    return Operand(call.array(a, chosen), spec.shape, chosen)


def _in_halves(call: NodeCall, ufunc: Any, x: Operand, axis: int) -> Operand:
    while (length := x.shape[axis]) > 1:
        half = length // 2
        joined = call.emit(ufunc, (_part(call, x, 0, half, axis), _part(call, x, half, 2 * half, axis)), {})
        if length % 2:
            last = call.array(_part(call, x, length - 1, length, axis), joined.dtype)
            shape = (*x.shape[:axis], half + 1, *x.shape[axis + 1 :])
            joined = Operand(call.node("Concat", joined, last, axis=axis), shape, joined.dtype)
        x = joined
    return x


def _one_after_the_other(call: NodeCall, ufunc: Any, x: Operand, axis: int) -> list[Operand]:
    length = x.shape[axis]
    if length > _LONGEST:
        raise call.refuse(f"{call.key} of {length} elements: up to {_LONGEST} are written out")
    results = [_part(call, x, 0, 1, axis)]
    for place in range(1, length):
        results.append(call.emit(ufunc, (results[-1], _part(call, x, place, place + 1, axis)), {}))
    return results


def _reduced(ufunc: Any, is_associative: bool) -> Callable[..., Any]:
    def row(call: NodeCall, a: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False) -> Any:
        x = _operand(call, a, dtype)
        axes = axes_of(axis, x.ndim)
        if any(x.shape[each] == 0 for each in axes):
            raise call.refuse(f"{call.key} of no elements")
        if len(axes) != 1 and not is_associative:
            raise call.refuse(f"{call.key} along several axes")
        for each in axes:
            x = _in_halves(call, ufunc, x, each) if is_associative else _one_after_the_other(call, ufunc, x, each)[-1]
        name = call.array(x, call.result_dtype)
        return name if keepdims or not axes else call.squeeze(name, axes)

    return row


def _accumulated(ufunc: Any) -> Callable[..., Any]:
    def row(call: NodeCall, a: Any, axis: int = 0, dtype: Any = None) -> Any:
        x = _operand(call, a, dtype)
        at = axis_of(axis, x.ndim)
        if x.shape[at] == 0:
            return call.array(x, call.result_dtype)
        results = _one_after_the_other(call, ufunc, x, at)
        return call.node("Concat", *(call.array(each, call.result_dtype) for each in results), axis=at)

    return row


for _name in (_ASSOCIATIVE + " " + _IN_ORDER).split():
    _ufunc = getattr(numpy, _name)
    ROWS[f"{_name}.reduce"] = _reduced(_ufunc, _name in _ASSOCIATIVE.split())
    ROWS[f"{_name}.accumulate"] = _accumulated(_ufunc)


@ROWS.enter("gradient")
def _gradient(call: NodeCall, f: Any, varargs: Any = (), axis: Any = None, edge_order: int = 1) -> Any:
    if edge_order != 1:
        raise call.refuse(f"edge_order={edge_order!r}")
    dtype = call.result_dtype
    real_only(call, dtype)
    x = _operand(call, f, dtype)
    axes, spacings = axes_of(axis, x.ndim), tuple(varargs) if isinstance(varargs, (tuple, list)) else (varargs,)
    if len(spacings) == 1:
        spacings *= len(axes)
    if any(call.spec(each).shape for each in spacings):
        raise call.refuse("distances of which each is another")
    results = [
        _along(call, x, each, spacing) for each, spacing in zip(axes, spacings or (1.0,) * len(axes), strict=True)
    ]
    return tuple(results) if len(results) > 1 else results[0]


def _along(call: NodeCall, x: Operand, axis: int, spacing: Any) -> str:
    """Return differences of neighbours on both sides; at the ends those to the one neighbour."""
    end, dtype = 2**63 - 1, x.dtype
    distance = call.array(spacing, dtype)
    inner = call.node("Sub", sliced(call, x, 2, end, axis), sliced(call, x, 0, -2, axis))
    inner = call.node("Div", inner, call.node("Mul", distance, call.array(2.0, dtype)))
    first = call.node("Sub", sliced(call, x, 1, 2, axis), sliced(call, x, 0, 1, axis))
    last = call.node("Sub", sliced(call, x, -1, end, axis), sliced(call, x, -2, -1, axis))
    ends = [call.node("Div", each, distance) for each in (first, last)]
    gradient: str = call.node("Concat", ends[0], inner, ends[1], axis=axis)
    return gradient
