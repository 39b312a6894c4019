"""Rows of `minpy.ops.nn.masked_softmax`."""

from __future__ import annotations

from typing import Any

import numpy as np

from operator_table.row import Row, Spec, real


def _masked_softmax(x: Any, mask: Any, *, axis: int = -1, temperature: float = 1.0) -> Any:
    powers = np.exp(x / temperature) * (mask != 0)
    total = powers.sum(axis, keepdims=True)
    return np.divide(powers, total, out=np.zeros_like(powers), where=total != 0)


def _masked_log_softmax(x: Any, mask: Any, **attributes: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.log(_masked_softmax(x, mask, **attributes))


def _mask(values: Any) -> Spec:
    return Spec(np.shape(values), values=values, integers=True)


_MASK = _mask([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]])

ROWS = [
    Row("_npx_masked_softmax", (real(3, 4), _MASK), reference=_masked_softmax),
    Row(
        "_npx_masked_softmax",
        (real(2, 3, 4), _mask([[[1], [0], [1]]])),
        {"axis": 1, "temperature": 0.5},
        _masked_softmax,
        label="axis",
    ),
    Row("_npx_masked_log_softmax", (real(3, 4), _mask(np.ones((3, 4)))), reference=_masked_log_softmax),
    Row(
        "_npx_masked_log_softmax",
        (real(2, 4), _mask([[1], [1]])),
        {"axis": 0, "temperature": 2.0},
        _masked_log_softmax,
        label="axis",
    ),
]

KINDS_OF_STEPS = {"elementwise reduce": "_npx_masked_log_softmax _npx_masked_softmax"}
