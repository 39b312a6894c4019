"""Operators that draw numbers: from ONNX's uniform and normal noise, by the inverses of distribution functions.

The proof compares their shapes and dtypes. What is drawn by rejecting some draws (gamma, Poisson) has no equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows

__all__ = ["ROWS"]

ROWS = Rows()

_DOUBLE = numpy.dtype("float64")
_TINY = 1e-38  # above 0, so that logarithms are finite


def _noise(call: NodeCall, kind: str, shape: Sequence[int], dtype: Any, **attributes: Any) -> str:
    """Return the name of uniform or normal numbers, which runtimes draw in float32 and float64."""
    drawn: str
    dtype = numpy.dtype(dtype)
    own = dtype if dtype.name in ("float32", "float64") else numpy.dtype("float32")
    if call.emitter.open_lengths:
        like = call.node("ConstantOfShape", call.ints(list(shape)), value=numpy.zeros(1, own))
        drawn = call.node(f"Random{kind}Like", like, dtype=own, **attributes)
    else:
        drawn = call.node(f"Random{kind}", shape=list(shape), dtype=own, **attributes)
    return drawn if own == dtype else call.cast(drawn, dtype)


def _standard(call: NodeCall, kind: str, shape: Sequence[int]) -> str:
    """Return the name of noise in float64: of uniform numbers in (0, 1), or normal ones."""
    return _noise(call, kind, shape, _DOUBLE, **({"low": _TINY, "high": 1.0} if kind == "Uniform" else {}))


Parameters = Sequence[Any]  # names of arrays of float64, or numbers


def _minus_log(call: NodeCall, shape: Sequence[int]) -> str:
    """Return the name of exponential numbers of mean 1."""
    name: str = call.node("Neg", call.node("Log", _standard(call, "Uniform", shape)))
    return name


def _uniform(call: NodeCall, shape: Sequence[int], low: Any, high: Any) -> str:
    share = _standard(call, "Uniform", shape)
    return call.node("Add", low, call.node("Mul", share, call.node("Sub", high, low)))


def _normal(call: NodeCall, shape: Sequence[int], loc: Any, scale: Any) -> str:
    return call.node("Add", loc, call.node("Mul", _standard(call, "Normal", shape), scale))


def _gumbel(call: NodeCall, shape: Sequence[int], loc: Any, scale: Any) -> str:
    return call.node("Sub", loc, call.node("Mul", call.node("Log", _minus_log(call, shape)), scale))


def _logistic(call: NodeCall, shape: Sequence[int], loc: Any, scale: Any) -> str:
    share = _standard(call, "Uniform", shape)
    odds = call.node("Div", share, call.node("Sub", numpy.float64(1), share))
    return call.node("Add", loc, call.node("Mul", call.node("Log", odds), scale))


def _rayleigh(call: NodeCall, shape: Sequence[int], scale: Any) -> str:
    return call.node("Mul", call.node("Sqrt", call.node("Mul", _minus_log(call, shape), numpy.float64(2))), scale)


def _pareto(call: NodeCall, shape: Sequence[int], a: Any) -> str:
    return call.node("Sub", call.node("Exp", call.node("Div", _minus_log(call, shape), a)), numpy.float64(1))


_DRAWN: dict[str, Callable[..., str]] = {
    "uniform": _uniform,
    "normal": _normal,
    "exponential of rate": lambda call, shape, lam: call.node("Div", _minus_log(call, shape), lam),
    "exponential": lambda call, shape, scale: call.node("Mul", _minus_log(call, shape), scale),
    "gumbel": _gumbel,
    "logistic": _logistic,
    "rayleigh": _rayleigh,
    "pareto": _pareto,
    "powerd": lambda call, shape, a: call.node(
        "Pow", _standard(call, "Uniform", shape), call.node("Reciprocal", a)
    ),
    "weibull": lambda call, shape, a: call.node("Pow", _minus_log(call, shape), call.node("Reciprocal", a)),
}  # fmt: skip


def _draw(call: NodeCall, kind: str, shape: Sequence[int], parameters: Sequence[Any]) -> str:
    """Return the name of draws in the dtype of the result; parameters are numbers, or operands that broadcast."""
    numbers = [value for value in parameters if not isinstance(value, (Operand, str))]
    if kind == "uniform" and len(numbers) == 2 and parameters[0] <= parameters[1]:
        low, high = map(float, parameters)
        return _noise(call, "Uniform", shape, call.result_dtype, low=low, high=high)
    if kind == "normal" and len(numbers) == 2:
        mean, scale = map(float, parameters)
        return _noise(call, "Normal", shape, call.result_dtype, mean=mean, scale=scale)
    values = [value if isinstance(value, str) else call.array(value, _DOUBLE) for value in parameters]
    return call.cast(_DRAWN[kind](call, shape, *values), call.result_dtype)


# -- operators that take numbers, like arrays, and arrays ------------------------------------------------------------

_NO_EQUAL = "ONNX has no such distribution, and draws that reject some are no steps; draw them outside, as an input"
_DEFAULTS: dict[str, dict[str, float]] = {
    "uniform": {"low": 0.0, "high": 1.0},
    "normal": {"loc": 0.0, "scale": 1.0},
    "exponential": {"lam": 1.0},
}
_REFUSED = ("gamma", "poisson", "negative_binomial", "generalized_negative_binomial")


def _of_numbers(name: str) -> Callable[..., Any]:
    kind, defaults = {"exponential": "exponential of rate"}.get(name, name), _DEFAULTS[name]

    def row(
        call: NodeCall, data: Any = None, shape: Any = None, ctx: Any = None, dtype: Any = None, **numbers: Any
    ) -> Any:
        return _draw(call, kind, call.shape, [numbers.get(key, value) for key, value in defaults.items()])

    return row


def _of_arrays(name: str) -> Callable[..., Any]:
    kind = {"exponential": "exponential of rate"}.get(name, name)

    def row(call: NodeCall, *parameters: Operand, shape: Any = None, dtype: Any = None) -> Any:
        inner = call.ndim - parameters[0].ndim
        values = [call.array(value, _DOUBLE) for value in parameters]
        if inner:
            axes = list(range(call.ndim - inner, call.ndim))
            values = [call.unsqueeze(value, axes) for value in values]
        return _draw(call, kind, call.shape, values)

    return row


def _refused(call: NodeCall, *inputs: Any, **attributes: Any) -> Any:
    raise call.refuse(_NO_EQUAL)


for _name in _DEFAULTS:
    ROWS[f"_random_{_name}"] = ROWS[f"_random_{_name}_like"] = _of_numbers(_name)
    ROWS[f"_sample_{_name}"] = _of_arrays(_name)
for _name in _REFUSED:
    ROWS.update(dict.fromkeys((f"_random_{_name}", f"_random_{_name}_like", f"_sample_{_name}"), _refused))
ROWS.update(dict.fromkeys(("_sample_unique_zipfian", "_npi_gamma"), _refused))


@ROWS.enter("_random_randint")
def _randint(call: NodeCall, low: int = 0, high: int = 1, shape: Any = None, ctx: Any = None, dtype: Any = None) -> Any:
    return _whole_below(call, _standard(call, "Uniform", call.shape), low, high)


def _whole_below(call: NodeCall, share: str, low: int, high: int) -> str:
    """Return the name of whole numbers in [low, high), from uniform ones in (0, 1)."""
    number = call.node("Floor", call.node("Mul", share, numpy.float64(high - low)))
    number = call.node("Min", number, numpy.float64(high - low - 1))
    return call.cast(call.node("Add", call.cast(number, numpy.int64), call.ints(low)), call.result_dtype)


def _drawn_classes(call: NodeCall, chances: str, rows: int, draws: int) -> str:
    """Return the name of class numbers, (rows, draws), by chances in float64, (rows, classes), of any sum.

    A class is how many of the running sums a uniform number is beyond. (Multinomial does not run at newer opsets.)
    """
    sums = call.node("CumSum", chances, call.ints(1))
    total = call.node("Slice", sums, call.ints([-1]), call.ints([numpy.iinfo(numpy.int64).max]), call.ints([1]))
    shares = call.node("Mul", _standard(call, "Uniform", (rows, draws)), total)
    beyond = call.node("LessOrEqual", call.unsqueeze(sums, [1]), call.unsqueeze(shares, [2]))
    return call.reduce("ReduceSum", call.cast(beyond, numpy.int64), [2], False)


# -- NumPy's ---------------------------------------------------------------------------------------------------------

_NUMPY = {
    "normal": ("loc", "scale"), "uniform": ("low", "high"), "exponential": ("scale",), "gumbel": ("loc", "scale"),
    "logistic": ("loc", "scale"), "rayleigh": ("scale",), "pareto": ("a",), "powerd": ("a",), "weibull": ("a",),
}  # fmt: skip


def _numpy_row(kind: str, names: Sequence[str]) -> Callable[..., Any]:
    def row(
        call: NodeCall,
        input1: Any = None,
        input2: Any = None,
        size: Any = None,
        ctx: Any = None,
        dtype: Any = None,
        **numbers: Any,
    ) -> Any:
        arrays = iter([each for each in (input1, input2) if each is not None])
        parameters = [numbers[name] if numbers.get(name) is not None else next(arrays) for name in names]
        return _draw(call, kind, call.shape, parameters)

    return row


for _name, _names in _NUMPY.items():
    ROWS[f"_npi_{_name}"] = _numpy_row(_name, _names)
for _name in ("normal", "uniform"):
    ROWS[f"_npi_{_name}_n"] = _numpy_row(_name, _NUMPY[_name])


@ROWS.enter("_npi_bernoulli")
def _bernoulli(
    call: NodeCall,
    input1: Any = None,
    prob: float | None = None,
    logit: float | None = None,
    size: Any = None,
    ctx: Any = None,
    dtype: Any = None,
    is_logit: bool = False,
) -> Any:
    value = logit if is_logit and logit is not None else prob if input1 is None else input1
    chance = call.array(value, _DOUBLE)
    chance = call.node("Sigmoid", chance) if is_logit else chance
    return call.cast(call.node("Less", _standard(call, "Uniform", call.shape), chance), call.result_dtype)


@ROWS.enter("_npi_choice")
def _choice(
    call: NodeCall,
    input1: Any = None,
    input2: Any = None,
    a: int | None = None,
    size: Any = None,
    ctx: Any = None,
    replace: bool = True,
    weighted: bool = False,
) -> Any:
    count = a if a is not None else input1.shape[0]
    total = math.prod(call.shape)
    weights = (input1 if a is not None else input2) if weighted else None
    if replace and weights is None:
        return _whole_below(call, _standard(call, "Uniform", call.shape), 0, count)
    if replace:
        chances = call.unsqueeze(call.array(weights, _DOUBLE), [0])
        return call.reshape(_drawn_classes(call, chances, 1, total), call.shape)
    # The largest of keys with Gumbel noise are a draw without replacement.
    keys = call.node("Neg", call.node("Log", _minus_log(call, (count,))))
    if weights is not None:
        keys = call.node("Add", keys, call.node("Log", call.array(weights, _DOUBLE)))
    _, order = call.node("TopK", keys, call.ints([total]), outputs=2)
    return call.reshape(order, call.shape)


@ROWS.enter("_npi_multinomial")
def _numpy_multinomial(call: NodeCall, a: Any = None, n: int = 1, pvals: Any = None, size: Any = None) -> Any:
    chances = call.unsqueeze(call.array(a if pvals is None else numpy.asarray(pvals), _DOUBLE), [0])
    draws, classes = math.prod(call.shape[:-1]), call.shape[-1]
    drawn = call.reshape(_drawn_classes(call, chances, 1, draws * n), [draws, n])
    hits = call.node("Equal", call.unsqueeze(drawn, [2]), call.ints(list(range(classes))))
    return call.reshape(call.reduce("ReduceSum", call.cast(hits, numpy.int64), [1], False), call.shape)


@ROWS.enter("sample_multinomial")
def _multinomial(call: NodeCall, data: Operand, shape: Any = (), get_prob: bool = False, dtype: str = "int32") -> Any:
    inner = (shape,) if isinstance(shape, int) else tuple(shape or ())
    classes = data.shape[-1]
    rows = call.reshape(call.array(data, _DOUBLE), [-1, classes])
    drawn = _drawn_classes(call, rows, math.prod(data.shape[:-1]), math.prod(inner))
    result = call.reshape(call.cast(drawn, call.result_dtype), call.shape)
    if not get_prob:
        return result
    chosen = call.node("GatherElements", call.node("Log", rows), drawn, axis=1)
    return result, call.reshape(call.cast(chosen, data.dtype), call.shape)
