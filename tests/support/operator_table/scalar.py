"""Rows of `minpy.ops.tensor`: `scalar`, an array and a number; `elementwise`, two arrays of equal shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from operator_table.row import Row, integers, real

_POSITIVE = real(3, 4, low=0.3, high=3.0)
_WHOLE = integers(3, 4, low=-1, high=4)


def _row(name: str, inputs: Any, reference: Callable[..., Any], scalar: float = 1.7, label: str = "") -> Row:
    return Row(f"_{name}_scalar", inputs, {"scalar": scalar}, lambda x, scalar: reference(x, scalar), label=label)


def _relation(name: str, reference: Callable[..., Any]) -> Row:
    return Row(
        f"_{name}_scalar",
        _WHOLE,
        {"scalar": 2, "is_int": False},
        lambda x, scalar, is_int: np.where(reference(x, scalar), 1.0, 0.0),
        order=0,
        reason="piecewise constant",
    )


def _equal_shapes(name: str, inputs: Any, reference: Callable[..., Any], **options: Any) -> Row:
    return Row(f"_{name}", (inputs, inputs), reference=reference, **options)


_CONSTANT: dict[str, Any] = {"order": 0, "reason": "piecewise constant"}

ROWS = (
    _row("plus", real(), lambda x, s: -(-s - x)),
    _row("minus", real(), lambda x, s: -(s - x)),
    _row("rminus", real(), lambda x, s: -x + s),
    _row("mul", real(), lambda x, s: x / (1 / s)),
    _row("div", real(), lambda x, s: x * (1 / s)),
    _row("rdiv", _POSITIVE, lambda x, s: s * x**-1),
    _row("mod", real(away_from=(-1.7, 0.0, 1.7)), lambda x, s: x - s * np.floor(x / s)),
    _row("rmod", real(low=0.9, high=1.6), lambda x, s: s - x * np.floor(s / x)),
    _row("power", _POSITIVE, lambda x, s: np.exp(s * np.log(x))),
    _row("power", real(), lambda x, s: x * x * x, scalar=3, label="whole"),
    _row("power", real(away_from=(0.0,)), lambda x, s: np.ones_like(x), scalar=0, label="zero"),
    _row("rpower", real(), lambda x, s: np.exp(x * np.log(s))),
    _row("maximum", real(away_from=(0.3,)), lambda x, s: np.where(x > s, x, s), scalar=0.3),
    _row("minimum", real(away_from=(0.3,)), lambda x, s: np.where(x < s, x, s), scalar=0.3),
    _row("hypot", real(), lambda x, s: np.sqrt(x * x + s * s)),
    _relation("equal", lambda x, s: x - s == 0),
    _relation("not_equal", lambda x, s: x - s != 0),
    _relation("greater", lambda x, s: x - s > 0),
    _relation("greater_equal", lambda x, s: x - s >= 0),
    _relation("lesser", lambda x, s: x - s < 0),
    _relation("lesser_equal", lambda x, s: x - s <= 0),
    _relation("logical_and", lambda x, s: x * s != 0),
    _relation("logical_or", lambda x, s: abs(x) + abs(s) != 0),
    _relation("logical_xor", lambda x, s: (x != 0) != (s != 0)),
    _equal_shapes("mod", real(low=0.4, high=2.0), lambda x, y: x - y * np.floor(x / y)),
    _equal_shapes("power", _POSITIVE, lambda x, y: np.exp(y * np.log(x))),
    _equal_shapes("maximum", real(), lambda x, y: np.where(x > y, x, y)),
    _equal_shapes("minimum", real(), lambda x, y: np.where(x < y, x, y)),
    _equal_shapes("hypot", real(), lambda x, y: np.sqrt(x * x + y * y)),
    _equal_shapes("equal", _WHOLE, lambda x, y: np.where(x - y == 0, 1.0, 0.0), **_CONSTANT),
    _equal_shapes("not_equal", _WHOLE, lambda x, y: np.where(x - y != 0, 1.0, 0.0), **_CONSTANT),
    _equal_shapes("greater", _WHOLE, lambda x, y: np.where(x - y > 0, 1.0, 0.0), **_CONSTANT),
    _equal_shapes("greater_equal", _WHOLE, lambda x, y: np.where(x - y >= 0, 1.0, 0.0), **_CONSTANT),
    _equal_shapes("lesser", _WHOLE, lambda x, y: np.where(x - y < 0, 1.0, 0.0), **_CONSTANT),
    _equal_shapes("lesser_equal", _WHOLE, lambda x, y: np.where(x - y <= 0, 1.0, 0.0), **_CONSTANT),
    _equal_shapes("logical_and", _WHOLE, lambda x, y: np.where(x * y != 0, 1.0, 0.0), **_CONSTANT),
    _equal_shapes("logical_or", _WHOLE, lambda x, y: np.where(abs(x) + abs(y) != 0, 1.0, 0.0), **_CONSTANT),
    _equal_shapes("logical_xor", _WHOLE, lambda x, y: np.where((x != 0) != (y != 0), 1.0, 0.0), **_CONSTANT),
    _equal_shapes("identity_with_attr_like_rhs", real(), lambda x, y: x),
)
