"""What rows of NumPy's functions share: dtypes to compute in, choices, NaN, axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall

__all__ = [
    "axes_of",
    "axis_of",
    "choose",
    "computes_in",
    "constant_of",
    "either",
    "has_value",
    "is_nan",
    "loop_dtypes",
    "number",
    "real_only",
    "sums_in",
    "wide",
    "without_nan",
]

_NARROW = ("int8", "int16", "uint8", "uint16")


def wide(dtype: Any) -> numpy.dtype:
    """Return the dtype in which onnxruntime computes what has a dtype: it lacks most operators for short integers.

    Of integers the result is the same after it was cast back: that takes what is too large by the same modulus.
    """
    dtype = numpy.dtype(dtype)
    return numpy.dtype("int32") if dtype.name in _NARROW or dtype.kind == "b" else dtype


def sums_in(dtype: Any) -> numpy.dtype:
    """Return the dtype in which onnxruntime adds and multiplies along axes: the same but for the modulus, if at all."""
    return wide(numpy.dtype("int64") if numpy.dtype(dtype).kind == "u" else dtype)


def real_only(call: NodeCall, *dtypes: Any) -> None:
    """Refuse complex numbers, which ONNX's operators do not take."""
    if any(dtype is not None and numpy.dtype(dtype).kind == "c" for dtype in dtypes):
        raise call.refuse("complex numbers")
    if any(dtype is not None and numpy.dtype(dtype).name in ("longdouble", "float128") for dtype in dtypes):
        raise call.refuse("long double")


def loop_dtypes(call: NodeCall, operands: Sequence[Any], dtype: Any = None) -> list[numpy.dtype]:
    """Return the dtypes of NumPy's loop, if ONNX has them."""
    dtypes = call.loop(operands, dtype)
    real_only(call, *dtypes)
    return dtypes


def number(call: NodeCall, value: Any, dtype: Any) -> str:
    """Return the name of a constant without axes."""
    return call.emitter.stored(numpy.asarray(value).astype(dtype))


def choose(call: NodeCall, condition: Any, x: Any, y: Any, dtype: Any) -> str:
    """Return `x` where a condition is true, else `y`, both of a dtype."""
    dtype = numpy.dtype(dtype)
    computed = dtype if dtype.name == "uint8" else wide(dtype)
    if dtype.kind == "b":
        computed = numpy.dtype("uint8")
    left, right = (
        call.array(value, computed) if isinstance(value, Operand) or not isinstance(value, str) or computed == dtype
        else call.cast(value, computed)
        for value in (x, y)
    )  # fmt: skip
    chosen: str = call.node("Where", condition, left, right)
    return chosen if computed == dtype else call.cast(chosen, dtype)


def either(call: NodeCall, *conditions: str) -> str:
    """Return whether any of several conditions is true, element by element."""
    result = conditions[0]
    for condition in conditions[1:]:
        result = call.node("Or", result, condition)
    return result


def is_nan(call: NodeCall, x: str) -> str:
    """Return where an array of floating point is NaN."""
    name: str = call.node("IsNaN", x)
    return name


def without_nan(call: NodeCall, x: str, value: Any, dtype: numpy.dtype) -> str:
    """Return an array with a value in the place of every NaN."""
    if dtype.kind != "f":
        return x
    return choose(call, is_nan(call, x), number(call, value, dtype), x, dtype)


def has_value(call: NodeCall, flags: str, axes: Sequence[int], keepdims: bool) -> str:
    """Return whether any of the truth values along axes is true."""
    if not axes:
        return flags
    most = call.reduce("ReduceMax", call.cast(flags, numpy.int32), axes, keepdims)
    return call.cast(most, numpy.bool_)


def axis_of(axis: Any, ndim: int) -> int:
    """Return an axis counted from the front."""
    return int(numpy.arange(ndim)[axis]) if ndim else 0


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return axes counted from the front; all for None."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(axis_of(each, ndim) for each in (axis if isinstance(axis, (tuple, list)) else (axis,)))


def computes_in(call: NodeCall, operand: Operand, dtype: Any = None) -> numpy.dtype:
    """Return the dtype in which a reduction computes: that of its result, but for comparisons."""
    computed = numpy.dtype(dtype) if dtype is not None else call.result_dtype
    if dtype is None and computed.kind == "b":
        computed = operand.dtype
    real_only(call, computed, operand.dtype)
    return computed


def constant_of(call: NodeCall, argument: str, value: Any) -> numpy.ndarray:
    """Return the elements of an argument that has to be known."""
    array = value.value if isinstance(value, Operand) else numpy.asarray(value)
    if array is None:
        raise call.refuse(f"{argument}= that is computed")
    return array
