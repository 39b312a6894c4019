"""Rows of PyTorch for functions that compute each element by itself."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Call, Operand
from minpy.frameworks.row_parts import INFIX, Rows, elementwise, only

__all__ = ["ROWS"]

ROWS = Rows()
_row = ROWS.enter


ROWS.update(INFIX)
# By NumPy's name; PyTorch's, where it has another one, behind a colon.
_UNARY = (
    "absolute:abs fabs:abs arccos:acos arccosh:acosh arcsin:asin arcsinh:asinh arctan:atan arctanh:atanh cos cosh "
    "degrees:rad2deg rad2deg exp exp2 expm1 log log10 log1p log2 negative:neg radians:deg2rad deg2rad reciprocal sin "
    "sinh sqrt square tan tanh ceil floor rint:round trunc isfinite isinf isnan logical_not invert:bitwise_not "
    "positive signbit conjugate:conj_physical frexp"
)
_OF_TENSORS = (
    "logaddexp logaddexp2 hypot arctan2:atan2 maximum minimum fmax fmin copysign nextafter heaviside gcd lcm "
    "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift:bitwise_left_shift "
    "right_shift:bitwise_right_shift fmod remainder ldexp"
)
for _names, _places, _arrays in ((_UNARY, "{0}", False), (_OF_TENSORS, "{0}, {1}", True)):
    for _name in _names.split():
        _numpy_name, _, _torch_name = _name.partition(":")
        ROWS[_numpy_name] = elementwise(f"torch.{_torch_name or _numpy_name}({_places})", _arrays)
ROWS["matmul"] = elementwise("torch.matmul({0}, {1})", True)
ROWS["divmod"] = elementwise("functions.floor_divide({0}, {1}), torch.remainder({0}, {1})", True)
ROWS["floor_divide"] = elementwise("functions.floor_divide({0}, {1})", True)
ROWS["heaviside"] = elementwise("torch.heaviside({0}.detach(), {1}.detach())", True)
ROWS["nextafter"] = elementwise("torch.nextafter({0}.detach(), {1}.detach())", True)
ROWS["float_power"] = elementwise("torch.pow({0}, {1})", True)
for _name in ("sign", "modf", "cbrt", "spacing"):
    ROWS[_name] = elementwise(f"functions.{_name}({{0}})")


@_row("power power_of_array")
def _power(call: Call, base: Any, exponent: Any, dtype: Any = None) -> str:
    loop = call.loop((base, exponent), dtype)
    return f"torch.pow({call.text(base, loop[0])}, {call.text(exponent, loop[1])})"


@_row("vecdot linalg.vecdot")
def _vecdot(call: Call, x1: Any, x2: Any, axis: int = -1) -> str:
    first, second = (call.array(value, call.result_dtype) for value in (x1, x2))
    return f"torch.sum(torch.conj_physical({first}) * {second}, {axis!r})"


@_row("matvec")
def _matvec(call: Call, x1: Any, x2: Any) -> str:
    first, second = (call.array(value, call.result_dtype) for value in (x1, x2))
    return f"torch.matmul({first}, {second}.unsqueeze(-1)).squeeze(-1)"


@_row("vecmat")
def _vecmat(call: Call, x1: Any, x2: Any) -> str:
    first = f"torch.conj_physical({call.array(x1, call.result_dtype)}).unsqueeze(-2)"
    return f"torch.matmul({first}, {call.array(x2, call.result_dtype)}).squeeze(-2)"


@_row("as_dtype")
def _as_dtype(call: Call, array: Operand, dtype: Any) -> str:
    if array.dtype.kind == "c" and numpy.dtype(dtype).kind != "c":
        return call.text(Operand(f"torch.real({array.text})", array.shape, array.real_dtype), dtype)
    return call.text(array, dtype)


@_row("array copy")
def _copy(call: Call, a: Any = None, object: Any = None, order: Any = None, dtype: Any = None, **_: Any) -> str:
    return f"torch.clone({call.array(object if a is None else a, dtype)})"


@_row("fix")
def _fix(call: Call, x: Any) -> str:
    return f"torch.trunc({call.array(x, call.result_dtype)})"


@_row("isneginf isposinf isreal")
def _is_some(call: Call, x: Any) -> str:
    return f"torch.{call.key}({call.array(x)})"


@_row("iscomplex")
def _iscomplex(call: Call, x: Any) -> str:
    return f"torch.logical_not(torch.isreal({call.array(x)}))"


@_row("angle")
def _angle(call: Call, z: Any, deg: bool = False) -> str:
    angle = f"torch.angle({call.array(z, None if call.spec(z).dtype.kind == 'c' else call.result_dtype)})"
    return f"torch.rad2deg({angle})" if deg else angle


@_row("i0 sinc")
def _special(call: Call, x: Any) -> str:
    return f"torch.{call.function.__name__}({call.array(x, call.result_dtype)})"


@_row("real")
def _real(call: Call, val: Any) -> str:
    return f"torch.real({call.array(val)})" if call.spec(val).dtype.kind == "c" else f"torch.clone({call.array(val)})"


@_row("imag")
def _imag(call: Call, val: Any) -> str:
    name = "imag" if call.spec(val).dtype.kind == "c" else "zeros_like"
    return f"torch.{name}({call.array(val)})"


@_row("around round round_")
def _round(call: Call, a: Any, decimals: int = 0) -> str:
    return f"torch.round({call.array(a)}, decimals={decimals!r})" if decimals else f"torch.round({call.array(a)})"


@_row("nan_to_num")
def _nan_to_num(call: Call, x: Any, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> str:
    return f"torch.nan_to_num({call.array(x)}, {call.text(nan)}, {call.text(posinf)}, {call.text(neginf)})"


@_row("isclose")
def _isclose(call: Call, a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> str:
    dtype = numpy.result_type(call.spec(a).dtype, call.spec(b).dtype)
    first, second = call.array(a, dtype), call.array(b, dtype)
    return f"torch.isclose({first}, {second}, {call.text(rtol)}, {call.text(atol)}, {equal_nan!r})"


@_row("clip")
def _clip(call: Call, a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> str:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    text = call.array(a, call.result_dtype)
    for name, bound in (("maximum", low), ("minimum", high)):
        if bound is not None:
            text = f"torch.{name}({text}, {call.array(bound, call.result_dtype)})"
    return text


@_row("where")
def _where(call: Call, condition: Any, x: Any, y: Any) -> str:
    chosen = [call.array(value, call.result_dtype) for value in (x, y)]
    return f"torch.where({call.array(condition, bool)}, {', '.join(chosen)})"


@_row("select")
def _select(call: Call, condlist: Any, choicelist: Any, default: Any = 0) -> str:
    text = call.array(default, call.result_dtype)
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        text = f"torch.where({call.array(condition)}, {call.array(choice, call.result_dtype)}, {text})"
    return f"torch.clone({text})"


@_row("choose")
def _choose(call: Call, a: Any, choices: Any, mode: str = "raise") -> str:
    only(call, "mode", mode, ("raise",))
    options = [
        call.operand(call.array(each, call.result_dtype), call.spec(each).shape, call.result_dtype) for each in choices
    ]
    text = options[-1].text
    for number, option in reversed(list(enumerate(options[:-1]))):
        text = f"torch.where({call.array(a)} == {number}, {option.text}, {text})"
    return f"torch.broadcast_to({text}, {call.text(call.shape)})"


@_row("filled")
def _filled(call: Call, value: Any, shape: Any, dtype: Any) -> str:
    return f"torch.Tensor.expand({call.array(value, dtype)}, {call.text(tuple(shape))})"


@_row("ones_like zeros_like")
def _like(call: Call, a: Any, **_: Any) -> str:
    return f"torch.{call.function.__name__}({call.array(a)}, dtype={call.dtype(call.result_dtype)})"


@_row("computed_where")
def _computed_where(call: Call, ufunc: Any, target: Operand, values: Any, options: Any) -> str:
    computed = call.emit(ufunc, values[:-1], options)
    return f"torch.where({call.array(values[-1], bool)}, {call.text(computed, target.dtype)}, {target.text})"
