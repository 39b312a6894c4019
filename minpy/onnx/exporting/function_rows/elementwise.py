"""Functions of NumPy's that compute element by element: arithmetic, comparisons, and what ONNX has an operator for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.row_parts import choose, either, is_nan, loop_dtypes, number, real_only, sums_in, wide

__all__ = ["ROWS", "sign_bit"]

ROWS = Rows()

_UNARY = {
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "arcsin": "Asin",
    "arccos": "Acos", "arctan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "arcsinh": "Asinh",
    "arccosh": "Acosh", "arctanh": "Atanh", "fabs": "Abs",
}  # fmt: skip
_ROUNDING = {"floor": "Floor", "ceil": "Ceil", "rint": "Round"}
_ARITHMETIC = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div"}
_OF_TRUTHS = {"add": "Or", "multiply": "And"}
_COMPARISONS = {
    "equal": "Equal", "less": "Less", "less_equal": "LessOrEqual", "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
}  # fmt: skip


def _unary(op_type: str) -> Callable[..., Any]:
    def row(call: NodeCall, x: Any, dtype: Any = None) -> Any:
        taken, result = loop_dtypes(call, [x], dtype)
        name = call.node(op_type, call.array(x, wide(taken) if taken.kind != "f" else taken))
        return name if wide(taken) == result or taken.kind == "f" else call.cast(name, result)

    return row


def _rounding(op_type: str) -> Callable[..., Any]:
    def row(call: NodeCall, x: Any, dtype: Any = None) -> Any:
        taken = loop_dtypes(call, [x], dtype)[0]
        name = call.array(x, taken)
        return call.node(op_type, name) if taken.kind == "f" else name

    return row


def _binary(op_type: str, of_truths: str | None = None) -> Callable[..., Any]:
    def row(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
        left, right, result = loop_dtypes(call, [x1, x2], dtype)
        if left.kind == "b":
            if of_truths is None:
                raise call.refuse("truth values")
            return call.node(of_truths, call.array(x1, left), call.array(x2, right))
        name = call.node(op_type, call.array(x1, wide(left)), call.array(x2, wide(right)))
        return name if wide(result) == result else call.cast(name, result)

    return row


def _comparison(op_type: str) -> Callable[..., Any]:
    def row(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
        left, right, _ = loop_dtypes(call, [x1, x2], dtype)
        if left.kind == "b" and op_type == "Equal":
            return call.node(op_type, call.array(x1, left), call.array(x2, right))
        return call.node(op_type, call.array(x1, wide(left)), call.array(x2, wide(right)))

    return row


ROWS.update({name: _unary(op_type) for name, op_type in _UNARY.items()})
ROWS.update({name: _rounding(op_type) for name, op_type in _ROUNDING.items()})
ROWS.update({name: _binary(op_type, _OF_TRUTHS.get(name)) for name, op_type in _ARITHMETIC.items()})
ROWS.update({name: _comparison(op_type) for name, op_type in _COMPARISONS.items()})


@ROWS.enter("not_equal")
def _not_equal(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
    return call.node("Not", ROWS["equal"](call, x1, x2, dtype))


@ROWS.enter("absolute")
def _absolute(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x], dtype)[0]
    name = call.array(x, taken)
    return name if taken.kind in "bu" else call.node("Abs", name)


@ROWS.enter("negative")
def _negative(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x], dtype)[0]
    if taken.kind != "u":
        return call.node("Neg", call.array(x, taken))
    computed = sums_in(taken)
    return call.cast(call.node("Neg", call.array(x, computed)), taken)


@ROWS.enter("square")
def _square(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    taken, result = loop_dtypes(call, [x], dtype)
    value = call.array(x, wide(taken))
    name = call.node("Mul", value, value)
    return name if wide(result) == result else call.cast(name, result)


@ROWS.enter("reciprocal")
def _reciprocal(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x], dtype)[0]
    if taken.kind != "f":
        return _integer_reciprocal(call, x, taken)
    return call.node("Reciprocal", call.array(x, taken))


def _integer_reciprocal(call: NodeCall, x: Any, dtype: numpy.dtype) -> Any:
    """1 / x without a fraction is x itself for 1 and -1, and 0 for what is larger."""
    value = call.array(x, numpy.int64)
    zero, one = (number(call, each, numpy.int64) for each in (0, 1))
    with numpy.errstate(all="ignore"):
        at_zero = number(call, numpy.reciprocal(numpy.zeros((), dtype)), numpy.int64)
    is_one = call.node("Equal", call.node("Abs", value), one)
    others = call.node("Where", call.node("Equal", value, zero), at_zero, zero)
    return call.cast(call.node("Where", is_one, value, others), dtype)


@ROWS.enter("positive conjugate")
def _same(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    return call.array(x, loop_dtypes(call, [x], dtype)[0])


@ROWS.enter("sign")
def _sign(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x], dtype)[0]
    name = call.array(x, taken)
    sign = call.node("Sign", name)
    return call.node("Where", is_nan(call, name), name, sign) if taken.kind == "f" else sign


@ROWS.enter("maximum minimum")
def _extreme(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
    op_type, of_truths = ("Max", "Or") if "max" in call.key else ("Min", "And")
    return _binary(op_type, of_truths)(call, x1, x2, dtype)


@ROWS.enter("fmax fmin")
def _extreme_without_nan(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x1, x2], dtype)[0]
    if taken.kind != "f":
        return call.emit(numpy.maximum if "max" in call.key else numpy.minimum, (x1, x2), {"dtype": taken})
    left, right = call.array(x1, taken), call.array(x2, taken)
    is_first = call.node("GreaterOrEqual" if "max" in call.key else "LessOrEqual", left, right)
    return call.node("Where", either(call, is_first, is_nan(call, right)), left, right)


# -- facts about numbers -----------------------------------------------------------------------------------------------


@ROWS.enter("isnan")
def _isnan(call: NodeCall, x: Any) -> Any:
    taken = _float_or_none(call, x)
    if taken is None:
        return _full_of(call, x, False)
    return is_nan(call, call.array(x, taken))


@ROWS.enter("isinf isposinf isneginf")
def _isinf(call: NodeCall, x: Any) -> Any:
    taken = _float_or_none(call, x)
    if taken is None:
        return _full_of(call, x, False)
    known = taken if taken.name in ("float32", "float64") else numpy.dtype("float32")
    name = call.array(x, known)
    if call.key == "isinf":
        return call.node("IsInf", name)
    is_positive = call.key == "isposinf"
    return call.node("IsInf", name, detect_negative=int(not is_positive), detect_positive=int(is_positive))


@ROWS.enter("isfinite")
def _isfinite(call: NodeCall, x: Any) -> Any:
    taken = _float_or_none(call, x)
    if taken is None:
        return _full_of(call, x, True)
    return call.node("Less", call.node("Abs", call.array(x, taken)), number(call, numpy.inf, taken))


@ROWS.enter("isreal")
def _isreal(call: NodeCall, x: Any) -> Any:
    real_only(call, call.spec(x).dtype)
    return _full_of(call, x, True)


@ROWS.enter("iscomplex")
def _iscomplex(call: NodeCall, x: Any) -> Any:
    real_only(call, call.spec(x).dtype)
    return _full_of(call, x, False)


def _float_or_none(call: NodeCall, x: Any) -> numpy.dtype | None:
    dtype = numpy.dtype(call.spec(x).dtype)
    real_only(call, dtype)
    return dtype if dtype.kind == "f" or dtype.name == "bfloat16" else None


def _full_of(call: NodeCall, x: Any, value: Any) -> str:
    """Return an array like another one, of equal elements."""
    return call.node("Expand", number(call, value, call.result_dtype), call.ints(call.spec(x).shape))


def sign_bit(call: NodeCall, x: str, dtype: numpy.dtype) -> str:
    """Return where numbers of floating point have a minus before them, zeros too."""
    if call.opset >= 26 and dtype.name in ("float32", "float64"):
        whole = numpy.dtype("int32" if dtype.name == "float32" else "int64")
        bits = call.node("BitCast", x, to=whole)
        is_negative: str = call.node("Less", bits, number(call, 0, whole))
        return is_negative
    zero = number(call, 0, dtype)
    return either(call, call.node("Less", x, zero), call.node("Less", call.node("Reciprocal", x), zero))


@ROWS.enter("signbit")
def _signbit(call: NodeCall, x: Any) -> Any:
    taken = loop_dtypes(call, [x])[0]
    return sign_bit(call, call.array(x, taken), taken)


@ROWS.enter("copysign")
def _copysign(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x1, x2], dtype)[0]
    size = call.node("Abs", call.array(x1, taken))
    sign = constant_sign(x2)
    if sign is not None:
        return call.node("Neg", size) if sign else size
    return call.node("Where", sign_bit(call, call.array(x2, taken), taken), call.node("Neg", size), size)


def constant_sign(x: Any) -> bool | None:
    """Return whether a number that is known has a minus before it; None for others."""
    if isinstance(x, Operand) or numpy.ndim(x):
        return None
    return bool(numpy.signbit(x))


@ROWS.enter("heaviside")
def _heaviside(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
    taken = loop_dtypes(call, [x1, x2], dtype)[0]
    x, at_zero = call.array(x1, taken), call.array(x2, taken)
    zero = number(call, 0, taken)
    step = call.cast(call.node("Greater", x, zero), taken)
    chosen = call.node("Where", call.node("Equal", x, zero), at_zero, step)
    return call.node("Where", is_nan(call, x), x, chosen)


# -- truth values ------------------------------------------------------------------------------------------------------


def _logical(op_type: str) -> Callable[..., Any]:
    def row(call: NodeCall, x1: Any, x2: Any, dtype: Any = None) -> Any:
        real_only(call, call.spec(x1).dtype, call.spec(x2).dtype)
        return call.node(op_type, call.array(x1, numpy.bool_), call.array(x2, numpy.bool_))

    return row


ROWS.update({f"logical_{name}": _logical(op_type) for name, op_type in (("and", "And"), ("or", "Or"), ("xor", "Xor"))})


@ROWS.enter("logical_not")
def _logical_not(call: NodeCall, x: Any, dtype: Any = None) -> Any:
    real_only(call, call.spec(x).dtype)
    return call.node("Not", call.array(x, numpy.bool_))


# -- dtypes, copies ----------------------------------------------------------------------------------------------------


@ROWS.enter("as_dtype")
def _as_dtype(call: NodeCall, array: Operand, dtype: Any) -> Any:
    real_only(call, array.dtype, dtype)
    return call.array(array, numpy.dtype(dtype))


@ROWS.enter("array copy asarray ascontiguousarray asfortranarray asanyarray")
def _copy(call: NodeCall, a: Any = None, object: Any = None, order: Any = None, dtype: Any = None, **_: Any) -> Any:
    real_only(call, call.result_dtype)
    return call.array(object if a is None else a, call.result_dtype)


@ROWS.enter("real")
def _real(call: NodeCall, val: Any) -> Any:
    real_only(call, call.spec(val).dtype)
    return call.array(val)


@ROWS.enter("imag")
def _imag(call: NodeCall, val: Any) -> Any:
    real_only(call, call.spec(val).dtype)
    return _full_of(call, val, 0)


@ROWS.enter("angle")
def _angle(call: NodeCall, z: Any, deg: bool = False) -> Any:
    real_only(call, call.spec(z).dtype)
    dtype = call.result_dtype
    value = call.array(z, dtype)
    angle = number(call, 180.0 if deg else numpy.pi, dtype)
    turned = call.node("Where", sign_bit(call, value, dtype), angle, number(call, 0, dtype))
    return call.node("Where", is_nan(call, value), value, turned)


@ROWS.enter("ones_like zeros_like full_like")
def _like(call: NodeCall, a: Any, fill_value: Any = None, **_: Any) -> Any:
    value = {"ones_like": 1, "zeros_like": 0}.get(call.key, fill_value)
    return _full_of(call, a, value) if not isinstance(value, Operand) else _filled(call, value, call.shape, None)


@ROWS.enter("filled")
def _filled(call: NodeCall, value: Any, shape: Any, dtype: Any) -> Any:
    real_only(call, call.result_dtype)
    return call.node("Expand", call.array(value, call.result_dtype), call.ints(call.shape))


@ROWS.enter("computed_where")
def _computed_where(call: NodeCall, ufunc: Any, target: Operand, values: Any, options: Any) -> Any:
    computed = call.emit(ufunc, values[:-1], options)
    return choose(call, call.array(values[-1], numpy.bool_), computed, target, target.dtype)
