"""Rows of `minpy.ops.tensor.arithmetic`, `mathematics`, `rounding` and `special`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from operator_table.row import Row, real

_SMALL = 0.2  # distance from 0 where a function has a pole there


def _unary(name: str, reference: Any, low: float = -2.0, high: float = 2.0, **options: Any) -> Row:
    away_from = options.pop("away_from", ())
    return Row(name, real(low=low, high=high, away_from=away_from), reference=reference, **options)


def _step(name: str, reference: Any) -> Row:
    inputs = real(low=-3, high=3, away_from=tuple(np.arange(-3, 3.1, 0.5)))
    return Row(name, inputs, reference=reference, order=0, reason="piecewise constant")


def _vectorized(function: Any) -> Any:
    return np.vectorize(function, otypes=["float64"])


UNARY = (
    _unary("negative", lambda x: 0 - x),
    _unary("reciprocal", lambda x: x**-1.0, low=_SMALL),
    _unary("abs", lambda x: np.sqrt(x * x), away_from=(0,)),
    _unary("square", lambda x: x**2),
    _unary("sqrt", lambda x: x**0.5, low=_SMALL),
    _unary("rsqrt", lambda x: x**-0.5, low=_SMALL),
    _unary("cbrt", lambda x: np.sign(x) * np.abs(x) ** (1 / 3), away_from=(0,), tolerance=1e-5),
    _unary("rcbrt", lambda x: np.sign(x) * np.abs(x) ** (-1 / 3), away_from=(0,), tolerance=1e-5),
    _unary("exp", _vectorized(math.exp)),
    _unary("expm1", _vectorized(math.expm1)),
    _unary("log", _vectorized(math.log), low=_SMALL),
    _unary("log10", _vectorized(math.log10), low=_SMALL),
    _unary("log2", _vectorized(math.log2), low=_SMALL),
    _unary("log1p", _vectorized(math.log1p), low=-0.8),
    _unary("sin", _vectorized(math.sin)),
    _unary("cos", _vectorized(math.cos)),
    _unary("tan", _vectorized(math.tan), low=-1.2, high=1.2),
    _unary("arcsin", _vectorized(math.asin), low=-0.9, high=0.9),
    _unary("arccos", _vectorized(math.acos), low=-0.9, high=0.9),
    _unary("arctan", _vectorized(math.atan)),
    _unary("sinh", _vectorized(math.sinh)),
    _unary("cosh", _vectorized(math.cosh)),
    _unary("tanh", _vectorized(math.tanh)),
    _unary("arcsinh", _vectorized(math.asinh)),
    _unary("arccosh", _vectorized(math.acosh), low=1.1, high=3),
    _unary("arctanh", _vectorized(math.atanh), low=-0.9, high=0.9),
    _unary("degrees", lambda x: x * 180 / math.pi, step=1e-4),
    _unary("radians", lambda x: x * math.pi / 180),
    _unary("sigmoid", lambda x: 1 / (1 + np.exp(-x)), low=-4, high=4),
    _unary("relu", lambda x: np.where(x > 0, x, 0), away_from=(0,)),
    _unary("softsign", lambda x: x / (1 + np.abs(x)), away_from=(0,)),
    _unary("erf", _vectorized(math.erf)),
    _unary("erfinv", None, low=-0.9, high=0.9),
    _unary("gamma", _vectorized(math.gamma), low=0.3, high=3, tolerance=1e-5),
    _unary("gammaln", _vectorized(math.lgamma), low=0.3, high=3),
    Row(
        "hard_sigmoid",
        real(low=-4, high=4, away_from=(-2.5, 2.5)),
        reference=lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    ),
    Row(
        "hard_sigmoid",
        real(low=-4, high=4, away_from=(-1.2, 0.8)),
        {"alpha": 0.5, "beta": 0.6},
        reference=lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
        label="attributes",
    ),
    Row(
        "smooth_l1",
        real(away_from=(-1, 1)),
        reference=lambda x: np.where(np.abs(x) < 1, x * x / 2, np.abs(x) - 0.5),
    ),
    Row(
        "smooth_l1",
        real(away_from=(-0.25, 0.25)),
        {"scalar": 2.0},
        reference=lambda x, scalar: np.where(np.abs(x) < 0.25, 2 * x * x, np.abs(x) - 0.125),
        label="scalar",
    ),
    Row(
        "clip",
        real(away_from=(-1, 0.5)),
        {"a_min": -1.0, "a_max": 0.5},
        reference=lambda x, a_min, a_max: np.where(x < a_min, a_min, np.where(x > a_max, a_max, x)),
    ),
)

STEPS = (
    _step("sign", lambda x: (x > 0).astype(float) - (x < 0)),
    _step("round", lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5)),
    _step("rint", lambda x: np.ceil(x - 0.5)),
    _step("trunc", lambda x: np.sign(x) * np.floor(np.abs(x))),
    _step("floor", lambda x: x // 1),
    _step("ceil", lambda x: -(-x // 1)),
)

_COLUMN = real(3, 1)
_MATRIX = real(3, 4)
_ROW = real(4)
_POSITIVE = real(3, 4, low=_SMALL)


def _binary(name: str, reference: Any, lhs: Any = _MATRIX, rhs: Any = _COLUMN, **options: Any) -> Row:
    return Row(name, (lhs, rhs), reference=reference, **options)


BINARY = (
    _binary("broadcast_add", lambda x, y: x + y),
    _binary("broadcast_add", lambda x, y: x + y, lhs=_COLUMN, rhs=_ROW, label="outer"),
    _binary("broadcast_add", lambda x, y: x + y, lhs=real(2, 3, 4), rhs=real(1), label="rank"),
    _binary("broadcast_sub", lambda x, y: x - y),
    _binary("broadcast_mul", lambda x, y: x * y),
    _binary("broadcast_mul", lambda x, y: x * y, lhs=_COLUMN, rhs=_ROW, label="outer"),
    _binary("broadcast_div", lambda x, y: x * y**-1.0, rhs=real(3, 1, low=0.5)),
    _binary(
        "broadcast_mod",
        lambda x, y: x - y * np.floor(x / y),
        lhs=real(2, 2, values=[[5.2, -5.3], [2.7, 0.4]]),
        rhs=real(2, values=[1.6, -2.1]),
    ),
    _binary("broadcast_power", lambda x, y: np.exp(y * np.log(x)), lhs=_POSITIVE),
    _binary("broadcast_maximum", lambda x, y: np.where(x > y, x, y), rhs=real(3, 1, values=[[0.31], [-0.47], [1.23]])),
    _binary("broadcast_minimum", lambda x, y: np.where(x < y, x, y), rhs=real(3, 1, values=[[0.31], [-0.47], [1.23]])),
    _binary("broadcast_hypot", lambda x, y: (x * x + y * y) ** 0.5, lhs=_POSITIVE),
    _binary("elemwise_add", lambda x, y: x + y, rhs=_MATRIX),
    _binary("elemwise_sub", lambda x, y: x - y, rhs=_MATRIX),
    _binary("elemwise_mul", lambda x, y: x * y, rhs=_MATRIX),
    _binary("elemwise_div", lambda x, y: x * y**-1.0, rhs=real(3, 4, low=0.5)),
    Row("add_n", (_MATRIX, _MATRIX, _MATRIX), reference=lambda *arrays: sum(arrays)),
    Row("add_n", (_MATRIX,), reference=lambda x: x, label="one"),
)

ROWS = (*UNARY, *STEPS, *BINARY)
