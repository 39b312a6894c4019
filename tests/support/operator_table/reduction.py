"""Rows of `minpy.ops.tensor.reduction`: over everything, an axis, several, with `keepdims` and with `exclude`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from operator_table.row import Row, Spec, real

NAN = float("nan")

_CASES: dict[str, dict[str, Any]] = {
    "all": {},
    "axis": {"axis": 1},
    "last": {"axis": -1, "keepdims": True},
    "axes": {"axis": (0, 2)},
    "exclude": {"axis": 1, "exclude": True},
    "kept": {"keepdims": True},
}


def _reference(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reduction written as a loop over the rows that are reduced."""

    def reduce(x: np.ndarray, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> np.ndarray:
        axes = tuple(range(x.ndim)) if axis is None else tuple(a % x.ndim for a in np.atleast_1d(axis))
        if exclude:
            axes = tuple(a for a in range(x.ndim) if a not in axes)
        rest = [a for a in range(x.ndim) if a not in axes]
        rows = np.transpose(x, (*rest, *axes)).reshape(int(np.prod([x.shape[a] for a in rest])), -1)
        values = np.array([function(row) for row in rows])
        if keepdims:
            return values.reshape([1 if a in axes else n for a, n in enumerate(x.shape)])
        return values.reshape([x.shape[a] for a in rest] or 1)

    return reduce


def _rows(name: str, function: Any, inputs: Spec, cases: Any = tuple(_CASES), **options: Any) -> Iterator[Row]:
    for case in cases:
        yield Row(name, inputs, _CASES[case], reference=_reference(function), label=case, **options)


def _product(row: np.ndarray) -> float:
    return float(np.exp(np.sum(np.log(np.abs(row)))) * (-1) ** np.sum(row < 0))


_X = real(2, 3, 4)
_DISTINCT = real(2, 3, 4, distinct=True)
_NONZERO = real(2, 3, 4, away_from=(0,), margin=0.5)
_WITH_NAN = real(2, 3, 4, values=np.where(np.arange(24) % 5 == 2, NAN, np.linspace(-2, 1.7, 24)).reshape(2, 3, 4))

ROWS = (
    *_rows("sum", lambda row: sum(row.tolist()), _X, float16_tolerance=3e-2),
    *_rows("nansum", lambda row: sum(v for v in row.tolist() if v == v), _WITH_NAN, float16_tolerance=3e-2),
    *_rows("mean", lambda row: sum(row.tolist()) / len(row), _X),
    *_rows("prod", _product, _NONZERO, cases=("axis", "last", "exclude"), float16_tolerance=3e-2),
    *_rows("prod", _product, real(2, 2, low=0.5), cases=("all", "kept"), float16_tolerance=3e-2),
    Row("prod", real(2, 3, values=[[0, 2, 3], [0, 0, 5]]), {"axis": 1}, label="zeros"),
    Row("prod", real(5, values=[2, 0, 3, -1, 0]), {}, label="zeros_odd"),
    Row(
        "prod",
        real(2, 3, 2, values=[[[2, 0], [3, 1], [0, 4]], [[1, 5], [0, 2], [3, 2]]]),
        {"axis": (0, 2)},
        label="zeros_axes",
    ),
    Row("nanprod", real(4, values=[2, 0, NAN, 3]), {}, argnums=(0,), label="zeros"),
    *_rows(
        "nanprod",
        lambda row: _product(row[row == row]),
        real(2, 3, 4, values=np.where(np.arange(24) % 5 == 2, NAN, np.linspace(-2, 1.7, 24)).reshape(2, 3, 4)),
        cases=("axis", "last"),
    ),
    *_rows("max", lambda row: sorted(row.tolist())[-1], _DISTINCT),
    *_rows("min", lambda row: sorted(row.tolist())[0], _DISTINCT),
    *(
        Row(
            "norm",
            _NONZERO,
            {"ord": order, **_CASES[case]},
            reference=lambda x, ord, **attributes: _reference(lambda row: np.sum(np.abs(row) ** ord) ** (1 / ord))(
                x, **attributes
            ),
            float16_tolerance=2e-2,
            label=f"{case}-ord{order}",
        )
        for case in ("all", "axis", "last", "axes", "kept")
        for order in (1, 2)
    ),
    *(
        Row(
            name,
            _DISTINCT,
            _CASES[case],
            reference=_reference(function),
            order=0,
            reason="piecewise constant",
            label=case,
        )
        for name, function in (("argmax", np.argmax), ("argmin", np.argmin))
        for case in ("all", "axis", "last", "kept")
    ),
    Row(
        "argmax_channel",
        _DISTINCT,
        reference=lambda x: np.array(
            [[x[i, :, k].tolist().index(max(x[i, :, k])) for k in range(4)] for i in range(2)]
        ),
        order=0,
        reason="piecewise constant",
    ),
    *(
        Row(
            "moments",
            _X,
            {"axes": axes, "keepdims": keepdims},
            reference=lambda x, axes, keepdims: (x.mean(axes, keepdims=keepdims), x.var(axes, keepdims=keepdims)),
            float16_tolerance=2e-2,
            label=label,
        )
        for label, axes, keepdims in (("axis", 1, False), ("axes", (0, 2), False), ("kept", (0, -1), True))
    ),
)
