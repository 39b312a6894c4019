"""Rows of `minpy.ops.tensor.comparison`."""

from __future__ import annotations

from typing import Any

import numpy as np

from operator_table.row import Row, integers, real

_LEFT = integers(3, 4, low=-1, high=2)
_RIGHT = integers(3, 1, low=-1, high=2)


def _relation(name: str, reference: Any) -> Row:
    return Row(
        f"broadcast_{name}",
        (_LEFT, _RIGHT),
        reference=lambda x, y: np.where(reference(x, y), 1.0, 0.0),
        order=0,
        reason="piecewise constant",
    )


_X = real(3, 4)
_CONDITION = integers(3, 4, low=0, high=2)

ROWS = (
    _relation("equal", lambda x, y: x - y == 0),
    _relation("not_equal", lambda x, y: x - y != 0),
    _relation("greater", lambda x, y: x - y > 0),
    _relation("greater_equal", lambda x, y: x - y >= 0),
    _relation("lesser", lambda x, y: x - y < 0),
    _relation("lesser_equal", lambda x, y: x - y <= 0),
    _relation("logical_and", lambda x, y: x * y != 0),
    _relation("logical_or", lambda x, y: abs(x) + abs(y) != 0),
    _relation("logical_xor", lambda x, y: (x != 0) != (y != 0)),
    Row(
        "logical_not",
        _LEFT,
        reference=lambda x: np.where(x == 0, 1.0, 0.0),
        order=0,
        reason="piecewise constant",
    ),
    Row("where", (_CONDITION, _X, _X), reference=lambda c, x, y: c * x + (1 - c) * y),
    Row(
        "where",
        (integers(3, values=[1, 0, 1], high=2), _X, _X),
        reference=lambda c, x, y: c[:, None] * x + (1 - c[:, None]) * y,
        label="rows",
    ),
)
