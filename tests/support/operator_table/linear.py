"""Rows of `minpy.ops.linalg.dot`."""

from __future__ import annotations

from typing import Any

import numpy as np

from operator_table.row import Row, real


def _dense(x: Any, w: Any, b: Any = None, *, num_hidden: int, no_bias: bool = False, flatten: bool = True) -> Any:
    rows = x.reshape(len(x), -1) if flatten else x
    return np.einsum("...i,oi->...o", rows, w) + (0 if b is None else b)


def _dot(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    return np.atleast_1d(np.tensordot(a, b, ([0] if transpose_a else [-1], [-1] if transpose_b else [0])))


def _batch_dot(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    left, right = ("kn" if transpose_a else "nk"), ("mk" if transpose_b else "km")
    return np.einsum(f"...{left},...{right}->...nm", a, b)


_FULLY_CONNECTED: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("bias", (real(3, 4), real(5, 4), real(5)), {}),
    ("no_bias", (real(3, 4), real(5, 4)), {"no_bias": True}),
    ("flattens", (real(3, 2, 2), real(5, 4), real(5)), {}),
    ("keeps_axes", (real(2, 3, 4), real(5, 4), real(5)), {"flatten": False}),
    ("vector", (real(4), real(5, 4), real(5)), {"flatten": False}),
]

_DOT = [
    ("matrices", (2, 3), (3, 4), {}),
    ("transpose_a", (3, 2), (3, 4), {"transpose_a": True}),
    ("transpose_b", (2, 3), (4, 3), {"transpose_b": True}),
    ("transpose_both", (3, 2), (4, 3), {"transpose_a": True, "transpose_b": True}),
    ("vectors", (3,), (3,), {}),
    ("matrix_vector", (2, 3), (3,), {}),
    ("vector_matrix", (3,), (3, 2), {}),
    ("cubes", (2, 3, 4), (4, 2, 3), {}),
    ("cubes_transposed", (4, 2, 3), (2, 3, 4), {"transpose_a": True, "transpose_b": True}),
]

_BATCH_DOT: list[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ("plain", (2, 3, 4), (2, 4, 5), {}),
    ("transpose_a", (2, 4, 3), (2, 4, 5), {"transpose_a": True}),
    ("transpose_b", (2, 3, 4), (2, 5, 4), {"transpose_b": True}),
    ("four_axes", (2, 2, 4, 3), (2, 2, 5, 4), {"transpose_a": True, "transpose_b": True}),
]

ROWS = [
    *[
        Row("FullyConnected", inputs, {"num_hidden": 5, **attributes}, _dense, label=label)
        for label, inputs, attributes in _FULLY_CONNECTED
    ],
    *[Row("dot", (real(*a), real(*b)), attributes, _dot, label=label) for label, a, b, attributes in _DOT],
    *[
        Row("batch_dot", (real(*a), real(*b)), attributes, _batch_dot, label=label)
        for label, a, b, attributes in _BATCH_DOT
    ],
]
