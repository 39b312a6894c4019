"""Rows of `minpy.ops.tensor.creation` and `minpy.ops.random.samplers`: operators without inputs, and ones that draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.ops.random.distributions import DISTRIBUTIONS
from operator_table.row import Row, real

_MADE: dict[str, Any] = {"inputs": (), "order": 0, "reason": "no inputs", "dtypes": ()}
_DRAWN: dict[str, Any] = {"order": 0, "reason": "drawn at random", "random": True}
_SHAPE = {"shape": (2, 3), "dtype": "float64"}

ROWS = [
    Row("_zeros", attributes=_SHAPE, reference=lambda shape, dtype: np.full(shape, 0.0), **_MADE),
    Row("_ones", attributes=_SHAPE, reference=lambda shape, dtype: np.full(shape, 1.0), **_MADE),
    Row(
        "_full",
        attributes={**_SHAPE, "value": 2.5},
        reference=lambda shape, dtype, value: np.zeros(shape) + value,
        **_MADE,
    ),
    Row(
        "_zeros_without_dtype",
        attributes={"shape": (2, 3)},
        reference=lambda shape: np.zeros(shape, "float32"),
        **_MADE,
    ),
    Row(
        "_arange",
        attributes={"start": 1, "stop": 6, "step": 2, "repeat": 2},
        reference=lambda start, stop, step, repeat: np.array([1.0, 1, 3, 3, 5, 5]),
        **_MADE,
    ),
    Row("_arange", attributes={"start": 3}, reference=lambda start: np.array([0.0, 1, 2]), label="stop", **_MADE),
    Row(
        "_linspace",
        attributes={"start": 0, "stop": 1, "num": 5},
        reference=lambda start, stop, num: np.arange(5) / 4,
        **_MADE,
    ),
    Row(
        "_eye",
        attributes={"N": 2, "M": 3, "k": 1},
        reference=lambda N, M, k: np.array([[0.0, 1, 0], [0, 0, 1]]),
        **_MADE,
    ),
    Row("_random_randint", attributes={"low": 2, "high": 9, "shape": (2, 3)}, **_MADE, random=True),
]
for _name, _distribution in DISTRIBUTIONS.items():
    _inputs = [real(2, 3, low=0.2, high=0.5), real(2, 3, low=0.6, high=0.9)][: len(_distribution.parameters)]
    ROWS += [
        Row(f"_random_{_name}", attributes=_SHAPE, **_MADE, random=True),
        Row(f"_random_{_name}_like", real(2, 3), **_DRAWN),
        Row(f"_sample_{_name}", _inputs, {"shape": (4,), "dtype": "float64"}, dtypes=(), **_DRAWN),
    ]
