"""Rows of `minpy.ops.nn.activation`, `softmax`, `neural`, `loss` and `sampling`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minpy.ops.nn.class_log_probability import class_log_probability
from operator_table.row import Row, Spec, integers, real

KINKED = real(3, 4, away_from=(0.0,))
_erf = np.vectorize(math.erf)


def _softmax(x: np.ndarray, axis: int = -1, temperature: float = 1.0) -> np.ndarray:
    powers = np.exp(x / temperature)
    return powers / powers.sum(axis, keepdims=True)


def _masked(x: np.ndarray, n: np.ndarray, axis: int, use_length: bool) -> np.ndarray:
    powers = np.exp(x) * (np.arange(4) < n[:, None])
    return powers / powers.sum(-1, keepdims=True)


def _layer_norm(x: np.ndarray, g: np.ndarray, b: np.ndarray, axis: int = -1, eps: float = 1e-5) -> np.ndarray:
    rows = np.moveaxis(x, axis, -1)
    rows = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + eps) * g + b
    return np.moveaxis(rows, -1, axis)


ROWS = [
    *[
        Row("Activation", KINKED, {"act_type": kind}, lambda x, act_type, f=function: f(x), label=kind)
        for kind, function in {
            "relu": lambda x: x * (x > 0),
            "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
            "tanh": np.tanh,
            "softrelu": lambda x: np.log(1 + np.exp(x)),
            "softsign": lambda x: x / (1 + abs(x)),
        }.items()
    ],
    *[
        Row(
            "LeakyReLU",
            KINKED,
            {"act_type": kind},
            lambda x, act_type, f=function: np.where(x > 0, x, f(x)),
            label=kind,
        )
        for kind, function in {
            "leaky": lambda x: 0.25 * x,
            "elu": lambda x: 0.25 * (np.exp(x) - 1),
            "rrelu": lambda x: (0.125 + 0.334) / 2 * x,
        }.items()
    ],
    Row(
        "LeakyReLU",
        KINKED,
        {"act_type": "selu"},
        lambda x, act_type: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * (np.exp(x) - 1)),
        label="selu",
    ),
    Row(
        "LeakyReLU", real(3, 4), {"act_type": "gelu"}, lambda x, act_type: x * (1 + _erf(x / 2**0.5)) / 2, label="gelu"
    ),
    Row(
        "LeakyReLU",
        (KINKED, real(4)),
        {"act_type": "prelu"},
        lambda x, g, act_type: np.where(x > 0, x, g * x),
        label="prelu",
    ),
    Row(
        "LeakyReLU",
        (KINKED, real(1)),
        {"act_type": "prelu"},
        lambda x, g, act_type: np.where(x > 0, x, g * x),
        label="shared",
    ),
    Row("LeakyReLU", KINKED, {"act_type": "rrelu"}, random=True, training=True, label="random"),
    Row("softmax", real(3, 4), {}, _softmax),
    Row("softmax", real(2, 3, 4), {"axis": 1, "temperature": 2.0}, _softmax, label="axis"),
    Row("log_softmax", real(3, 4), {}, lambda x: np.log(_softmax(x))),
    Row(
        "_class_log_probability",
        (real(2, 3, 4), integers(2, 3, low=0, high=4)),
        {"keepdims": True},
        lambda x, label, keepdims: np.take_along_axis(np.log(_softmax(x)), label.astype(int)[..., None], -1),
        operator=class_log_probability,
        ulps=64,
    ),
    Row(
        "log_softmax",
        real(3, 4),
        {"axis": 0, "temperature": 0.5},
        lambda x, **options: np.log(_softmax(x, **options)),
        label="axis",
    ),
    Row("softmin", real(3, 4), {"temperature": 2.0}, lambda x, temperature: _softmax(-x, -1, temperature)),
    Row("SoftmaxActivation", real(2, 3, 2), {}, lambda x, **_: _softmax(x, -1)),
    Row("SoftmaxActivation", real(2, 3, 2), {"mode": "channel"}, lambda x, mode: _softmax(x, 1), label="channel"),
    Row("BlockGrad", real(3, 4), {}, lambda x: x, order=0, reason="lets no gradient through"),
    Row("Dropout", real(3, 4), {}, lambda x: x),
    Row("Dropout", real(3, 4), {"p": 0.3}, training=True, random=True, label="training"),
    Row("Dropout", real(3, 4), {"mode": "always", "axes": (1,)}, random=True, label="axes"),
    Row("LayerNorm", (real(3, 4), real(4), real(4)), {}, _layer_norm),
    Row("LayerNorm", (real(3, 4, 2), real(4), real(4)), {"axis": 1, "eps": 0.1}, _layer_norm, label="axis"),
    Row(
        "LayerNorm",
        (real(3, 4), real(4), real(4)),
        {"output_mean_var": True},
        lambda x, g, b, output_mean_var: (
            _layer_norm(x, g, b),
            x.mean(-1, keepdims=True),
            np.sqrt(x.var(-1, keepdims=True) + 1e-5),
        ),
        label="statistics",
    ),
    Row(
        "softmax_cross_entropy",
        (real(3, 4), integers(3, high=4)),
        {},
        lambda x, label: np.array([-np.log(_softmax(x))[np.arange(3), label.astype(int)].sum()]),
    ),
]

# -- outputs whose gradient is a loss's, and not their own -------------------------------------------------------------

_LOSS: dict[str, Any] = {"order": 0, "reason": "its gradient is that of a loss", "argnums": ()}
_LABELS = integers(3, high=4)


def _cross_entropy(x: np.ndarray, label: np.ndarray) -> float:
    return float(-np.log(_softmax(x))[np.arange(3), label.astype(int)].sum())


def _squared_hinge(x: np.ndarray, label: np.ndarray) -> float:
    signs = np.where(np.arange(4) == label[:, None], 1, -1)
    return float((np.maximum(0, 1 - signs * x) ** 2).sum())


# The regressions divide by the number of outputs an example, which is 4 here.
ROWS += [
    Row("SoftmaxOutput", (real(3, 4), _LABELS), {}, lambda x, label: _softmax(x), loss=_cross_entropy, **_LOSS),
    Row(
        "LinearRegressionOutput",
        (real(3, 4), real(3, 4)),
        {},
        lambda x, label: x,
        loss=lambda x, label: ((x - label) ** 2).sum() / 2 / 4,
        **_LOSS,
    ),
    Row(
        "LogisticRegressionOutput",
        (real(3, 4), real(3, 4)),
        {},
        lambda x, label: 1 / (1 + np.exp(-x)),
        loss=lambda x, label: (np.log(1 + np.exp(x)) - label * x).sum() / 4,
        **_LOSS,
    ),
    Row(
        "MAERegressionOutput",
        (real(3, 4), real(3, 4)),
        {},
        lambda x, label: x,
        loss=lambda x, label: abs(x - label).sum() / 4,
        **_LOSS,
    ),
    Row("SVMOutput", (real(3, 4), _LABELS), {}, lambda x, label: x, loss=_squared_hinge, **_LOSS),
    Row("MakeLoss", real(3, 4), {}, lambda x: x, loss=np.sum, **_LOSS),
    Row("make_loss", real(3, 4), {}, lambda x: x, loss=np.sum, **_LOSS),
]

# -- drawing, and updating ---------------------------------------------------------------------------------------------

ROWS += [
    Row("_shuffle", real(5), {}, random=True, order=0, reason="an order drawn at random"),
    Row(
        "sample_multinomial",
        Spec((2, 3), values=[[0, 1, 0], [0, 0, 1]]),
        {"shape": 2},
        lambda x, shape: np.array([[1, 1], [2, 2]]),
        order=0,
        reason="integer answer",
    ),
]
