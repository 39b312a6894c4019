"""Functions of NumPy's that choose between values, and bound or round them."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.row_parts import choose, is_nan, number, real_only, wide

__all__ = ["ROWS"]

ROWS = Rows()


def _expanded(call: NodeCall, name: str) -> str:
    """Return an array in the shape of the result."""
    expanded: str = call.node("Expand", name, call.ints(call.shape))
    return expanded


@ROWS.enter("where")
def _where(call: NodeCall, condition: Any, x: Any, y: Any) -> Any:
    real_only(call, call.result_dtype)
    return choose(call, call.array(condition, numpy.bool_), _plain(x), _plain(y), call.result_dtype)


def _plain(value: Any) -> Any:
    return value if isinstance(value, Operand) else numpy.asarray(value)


@ROWS.enter("select")
def _select(call: NodeCall, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    dtype = call.result_dtype
    real_only(call, dtype)
    result = call.array(default, dtype)
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = choose(call, call.array(condition, numpy.bool_), call.array(choice, dtype), result, dtype)
    return result


@ROWS.enter("choose")
def _choose(call: NodeCall, a: Any, choices: Any, mode: str = "raise") -> Any:
    dtype = call.result_dtype
    real_only(call, dtype)
    if isinstance(choices, Operand):
        raise call.refuse("choices in one array")
    index, last = call.array(a, numpy.int64), len(choices) - 1
    if mode == "wrap":
        index = call.node("Mod", index, number(call, last + 1, numpy.int64))
    # NumPy raises of what is out of range: the nearest is taken.
    result = call.array(choices[-1], dtype)
    for position in range(last - 1, -1, -1):
        is_that = call.node("LessOrEqual", index, number(call, position, numpy.int64))
        result = choose(call, is_that, call.array(choices[position], dtype), result, dtype)
    return _expanded(call, result)


@ROWS.enter("clip")
def _clip(
    call: NodeCall, a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None, dtype: Any = None
) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    result = call.result_dtype
    real_only(call, result)
    computed = wide(result)
    name = call.array(a, computed)
    lowest, highest = _known_bound(low), _known_bound(high)
    if lowest is not None and highest is not None and lowest <= highest:
        name = call.node("Clip", name, number(call, lowest, computed), number(call, highest, computed))
    else:  # with one bound alone, onnxruntime's Clip makes numbers of infinities
        for op_type, bound in (("Max", low), ("Min", high)):
            if bound is not None:
                name = call.node(op_type, name, call.array(bound, computed))
    return name if computed == result else call.cast(name, result)


def _known_bound(bound: Any) -> numpy.ndarray | None:
    """Return a bound that is one number, not NaN; None for others."""
    if bound is None:
        return None
    array = bound.value if isinstance(bound, Operand) else numpy.asarray(bound)
    return array if array is not None and not array.ndim and array == array else None


@ROWS.enter("around round round_")
def _round(call: NodeCall, a: Any, decimals: int = 0) -> Any:
    dtype = call.result_dtype
    real_only(call, dtype)
    if dtype.kind != "f":
        if decimals < 0:
            raise call.refuse(f"decimals={decimals!r} of whole numbers")
        return call.array(a, dtype)
    name = call.array(a, dtype)
    if not decimals:
        return call.node("Round", name)
    scale = number(call, 10.0 ** abs(decimals), dtype)
    there, back = ("Mul", "Div") if decimals > 0 else ("Div", "Mul")
    return call.node(back, call.node("Round", call.node(there, name, scale)), scale)


@ROWS.enter("nan_to_num")
def _nan_to_num(call: NodeCall, x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None, **_: Any) -> Any:
    dtype = call.result_dtype
    real_only(call, dtype)
    name = call.array(x, dtype)
    if dtype.kind != "f":
        return name
    limits = numpy.finfo(dtype)
    for infinity, value, limit in ((numpy.inf, posinf, limits.max), (-numpy.inf, neginf, limits.min)):
        replaced = call.array(limit if value is None else value, dtype)
        name = call.node("Where", call.node("Equal", name, number(call, infinity, dtype)), replaced, name)
    return call.node("Where", is_nan(call, name), call.array(nan, dtype), name)


@ROWS.enter("isclose")
def _isclose(
    call: NodeCall, a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> Any:  # fmt: skip
    dtype = numpy.result_type(call.spec(a).dtype, call.spec(b).dtype)
    real_only(call, dtype)
    dtype = dtype if dtype.kind == "f" else numpy.dtype(float)
    first, second = call.array(a, dtype), call.array(b, dtype)
    size = call.node("Abs", second)
    tolerated = call.node("Add", call.array(atol, dtype), call.node("Mul", call.array(rtol, dtype), size))
    is_near = call.node("LessOrEqual", call.node("Abs", call.node("Sub", first, second)), tolerated)
    is_finite = call.node("Less", size, number(call, numpy.inf, dtype))
    close = call.node("Or", call.node("And", is_near, is_finite), call.node("Equal", first, second))
    if equal_nan:
        close = call.node("Or", close, call.node("And", is_nan(call, first), is_nan(call, second)))
    return close
