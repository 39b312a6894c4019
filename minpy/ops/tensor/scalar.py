"""Operators of an array and a number, `_plus_scalar` and its kind: what symbols and their files hold for `x + 2`.

As in MXNet, arrays of integers make the number an integer, unless the call has `is_int=False`: that gives float64.
Booleans count as int64 beside an int, as in MXNet, and as float32 beside a float. NDArrays of integers and booleans are
computed here too, so that `nd` and `sym` agree.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from minpy.core.base_operator import DTypes
from minpy.core.gradient_rules import Rule
from minpy.core.operator import Operator
from minpy.ops.inference.partial_shapes import same_shape
from minpy.ops.kernels.selecting import LARGE
from minpy.ops.registry import OPERATORS, operator

__all__ = ["SCALAR_OPERATORS"]

_DOC = """Return {formula}{sentence}

Parameters
----------
data : NDArray
    Of any shape and dtype.
scalar : float
    The number; for data of integers its integer part.
is_int : bool
    Whether the number is to be taken as an integer by data of integers. It makes no difference to other data.

Returns
-------
NDArray
    Of the shape and dtype of `data`; float64 for data of integers with `is_int=False`. Booleans give int64, or float32
    if `scalar` is a float.

Examples
--------
>>> from minpy import nd
>>> nd.{name}(nd.array({example}), scalar=2).asnumpy().round(4)
array({result}, dtype=float32)
"""


def _result_dtype(dtype: np.dtype, scalar: Any, is_int: bool) -> np.dtype:
    if dtype.kind not in "iub":
        return dtype
    if not is_int:
        return np.dtype(np.float64)
    if dtype.kind == "b":
        return np.dtype(np.float32 if isinstance(scalar, (float, np.floating)) else np.int64)
    return dtype


def _infer_dtypes(inputs: DTypes, outputs: DTypes, *, scalar: float, is_int: bool) -> tuple[DTypes, DTypes]:
    data, result = inputs[0], outputs[0]
    if data is not None:
        return inputs, [_result_dtype(data, scalar, is_int)]
    return [result if is_int or result != np.float64 else None], outputs


def _cast(scalar: Any, dtype: np.dtype) -> Any:
    return np.asarray(scalar).astype(dtype)


def _wrapped_into(scalar: Any, dtype: np.dtype) -> Any:
    """Return a number wrapped around into the range of an integer dtype: NumPy refuses numbers outside of it."""
    if dtype.kind not in "iu" or np.iinfo(dtype).min <= scalar <= np.iinfo(dtype).max:
        return scalar
    return int(np.asarray(int(scalar)).astype(dtype))


def _exponent(scalar: Any, dtype: np.dtype) -> Any:
    """Return an exponent, which stays negative also where the base cannot be."""
    return np.asarray(int(scalar)) if dtype.kind == "u" and scalar < 0 else _cast(scalar, dtype)


def _define_into(compute: np.ufunc, forward: Callable[..., Any]) -> Callable[..., None]:
    def into(out: Any, data: Any, *, scalar: float, is_int: bool) -> None:
        if out.dtype.kind == "f" and data.dtype == out.dtype:
            compute(data, scalar, out=out)
        else:
            np.copyto(out, forward(data, scalar=scalar, is_int=is_int))

    return into


def _define(
    kind: str,
    compute: Callable[[Any, Any], Any],
    formula: str,
    result: str,
    rule: Rule | None = None,
    sentence: str = ", elementwise.",
    example: str = "[1, 2, 4]",
    cast: Callable[[Any, np.dtype], Any] = _cast,
    kernel: Callable[[Any, Any], Any] | None = None,
) -> Operator:
    """Define `_plus_scalar`, say, which is `_PlusScalar`, too; without a rule its gradient is zero."""
    side, operation = ("R", kind[1:]) if kind[1:] in ("minus", "div", "mod", "power") else ("", kind)
    name, alias = f"_{kind}_scalar", f"_{side}{operation.title().replace('_', '')}Scalar"
    forward = _forward(compute, cast)
    forward.__kwdefaults__ = {"scalar": 1.0, "is_int": True}
    forward.__doc__ = _DOC.format(name=name, formula=formula, sentence=sentence, example=example, result=result)
    op: Operator = operator(forward, name=name, aliases=(alias,))
    op.may_alias = False
    op.elementwise = True
    op.def_infer_shape(same_shape)
    op.def_infer_type(_infer_dtypes)
    if kernel is not None:
        op.def_kernel(_forward(kernel, cast))
    if isinstance(compute, np.ufunc):
        op.def_into(_define_into(compute, forward))
    return op.def_grad_zero() if rule is None else op.def_grad(rule)


def _forward(compute: Callable[[Any, Any], Any], cast: Callable[[Any, np.dtype], Any]) -> FunctionType:
    """Return the function of an array and a number that computes in the dtype which MXNet chooses."""

    def forward(data: Any, *, scalar: float, is_int: bool) -> Any:
        dtype = _result_dtype(data.dtype, scalar, is_int)
        number = cast(scalar, dtype)
        result = compute(data if data.dtype is dtype else data.astype(dtype, copy=False), number)
        if result.dtype == np.float16 and dtype.kind != "f":  # NumPy's for bytes
            result = compute(data.astype(np.float32), number)
        return result if result.dtype is dtype else result.astype(dtype, copy=False)

    return forward  # type: ignore[return-value]


def _power(base: Any, exponent: Any) -> Any:
    if base.dtype.kind not in "iu" or exponent.dtype.kind != "i":
        return np.power(base, exponent)
    # NumPy refuses negative exponents of integers; the result is truncated.
    whole = np.power(base, np.maximum(exponent, 0))
    fraction = np.power(base.astype(np.float64), np.minimum(exponent, 0))
    return np.where(exponent < 0, fraction.astype(whole.dtype), whole)


def _power_kernel(base: Any, exponent: Any) -> Any:
    """Compute the same, without a case for each element if no exponent is negative."""
    if base.dtype.kind in "iu" and exponent.dtype.kind == "i" and np.any(exponent < 0):
        return _power(base, exponent)
    return np.power(base, exponent)


def _extremum_kernel(compute: np.ufunc, data: Any, scalar: Any, low: Any, high: Any) -> Any:
    """Compute a maximum or a minimum; `clip` takes a quarter of their time."""
    if data.dtype.kind == "f" and data.size >= LARGE and not np.isnan(scalar):
        return np.clip(data, low, high)
    return compute(data, scalar)


def _power_gradient(ans: Any, data: Any, *, scalar: float) -> Callable[[Any], Any]:
    # An exponent of zero gives a gradient of zero, also at zero, where 0 * data ** -1 would be NaN.
    lower = scalar - 1 if scalar else 1
    if data.dtype.kind in "iu":  # as the operator itself computes with them
        slope = _power(data, _exponent(lower, data.dtype))
        return lambda g: g * (slope * _wrapped_into(scalar, data.dtype))
    return lambda g: g * (data**lower * scalar)


_TIE = ", elementwise. Where they are equal the gradient goes to the data."
_ONE_IF = ", else 0. Its gradient is zero."
_REMAINDERS = (
    "the remainder of data / scalar, which has the sign of the scalar",
    "the remainder of scalar / data, which has the sign of the data",
)
_unchanged: Rule = lambda ans, data: lambda g: g
_product_gradient: Rule = lambda ans, data, *, scalar: lambda g: g * _wrapped_into(scalar, g.dtype)
_quotient_gradient: Rule = lambda ans, data, *, scalar: lambda g: g / _wrapped_into(scalar, g.dtype)
_rdiv_gradient: Rule = lambda ans, data: lambda g: -(g * ans / data)
_rmod_gradient: Rule = lambda ans, data, *, scalar: lambda g: -(g * np.floor(scalar / data))
_rpower_gradient: Rule = lambda ans, data, *, scalar: lambda g: g * (ans * float(np.log(scalar or 1)))
_hypot_gradient: Rule = lambda ans, data: lambda g: g * (data / ans)


def _number_first(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a function of an array and a number with the number on the left."""
    return lambda data, scalar: compute(scalar, data)


# By MXNet's names.
SCALAR_OPERATORS: dict[str, Operator] = {
    op.__name__: op
    for op in (
        _define("plus", np.add, "data + scalar", "[3., 4., 6.]", _unchanged),
        _define("minus", np.subtract, "data - scalar", "[-1.,  0.,  2.]", _unchanged),
        _define(
            "rminus", _number_first(np.subtract), "scalar - data", "[ 1.,  0., -2.]", lambda ans, data: lambda g: -g
        ),
        _define("mul", np.multiply, "data * scalar", "[2., 4., 8.]", _product_gradient),
        _define("div", np.true_divide, "data / scalar", "[0.5, 1. , 2. ]", _quotient_gradient),
        _define("rdiv", _number_first(np.true_divide), "scalar / data", "[2. , 1. , 0.5]", _rdiv_gradient),
        _define("mod", np.remainder, _REMAINDERS[0], "[1., 0., 0.]", _unchanged),
        _define("rmod", _number_first(np.remainder), _REMAINDERS[1], "[0., 0., 2.]", _rmod_gradient),
        _define(
            *("power", _power, "data ** scalar", "[ 1.,  4., 16.]", _power_gradient),
            cast=_exponent,
            kernel=_power_kernel,
        ),
        _define(
            *("rpower", _number_first(_power), "scalar ** data", "[ 2.,  4., 16.]", _rpower_gradient),
            kernel=_number_first(_power_kernel),
        ),
        _define(
            *("maximum", np.maximum, "the larger of data and scalar", "[2., 2., 4.]"),
            lambda ans, data, *, scalar: lambda g: g * (data >= _wrapped_into(scalar, data.dtype)),
            sentence=_TIE,
            kernel=lambda data, scalar: _extremum_kernel(np.maximum, data, scalar, scalar, np.inf),
        ),
        _define(
            *("minimum", np.minimum, "the smaller of data and scalar", "[1., 2., 2.]"),
            lambda ans, data, *, scalar: lambda g: g * (data <= _wrapped_into(scalar, data.dtype)),
            sentence=_TIE,
            kernel=lambda data, scalar: _extremum_kernel(np.minimum, data, scalar, -np.inf, scalar),
        ),
        _define("hypot", np.hypot, "sqrt(data ** 2 + scalar ** 2)", "[2.2361, 2.8284, 4.4721]", _hypot_gradient),
        *(
            _define(kind, ufunc, f"1 where data {sign} scalar", result, None, _ONE_IF)
            for kind, ufunc, sign, result in (
                ("equal", np.equal, "==", "[0., 1., 0.]"),
                ("not_equal", np.not_equal, "!=", "[1., 0., 1.]"),
                ("greater", np.greater, ">", "[0., 0., 1.]"),
                ("greater_equal", np.greater_equal, ">=", "[0., 1., 1.]"),
                ("lesser", np.less, "<", "[1., 0., 0.]"),
                ("lesser_equal", np.less_equal, "<=", "[1., 1., 0.]"),
            )
        ),
        *(
            _define(kind, ufunc, f"1 where {which} of data and scalar", result, None, end, "[0, 1, 4]")
            for kind, ufunc, which, end, result in (
                ("logical_and", np.logical_and, "both", " are not 0" + _ONE_IF, "[0., 1., 1.]"),
                ("logical_or", np.logical_or, "one", " is not 0" + _ONE_IF, "[1., 1., 1.]"),
                ("logical_xor", np.logical_xor, "one only", " is not 0" + _ONE_IF, "[1., 0., 0.]"),
            )
        ),
    )
}
# What MXNet does to the rows that a sparse array has: of dense arrays, all.
for _name in ("plus", "minus"):
    _operator = SCALAR_OPERATORS[f"_{_name}_scalar"]
    OPERATORS[f"_scatter_{_name}_scalar"] = _operator
    _operator.saved_aliases = frozenset({f"_scatter_{_name}_scalar"})
