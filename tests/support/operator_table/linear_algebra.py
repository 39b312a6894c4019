"""Rows of `minpy.ops.linalg`, but for `dot`. The references go element by element, or by another factorization."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from operator_table.row import Row, Spec, real

_SINGLE: dict[str, Any] = {"dtypes": ("float32",)}


def _turn(matrices: Any, turn: bool) -> Any:
    return np.swapaxes(matrices, -1, -2) if turn else matrices


def _gemm(
    A: Any,
    B: Any,
    C: Any = 0.0,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
) -> Any:
    left, right = (np.moveaxis(matrices, axis, -2) for matrices in (A, B))
    found = np.einsum("...ij,...jk->...ik", _turn(left, transpose_a), _turn(right, transpose_b))
    return alpha * np.moveaxis(found, -2, axis) + beta * C


def _triangle(A: Any, lower: bool) -> Any:
    return np.tril(A) if lower else np.triu(A)


def _trmm(
    A: Any, B: Any, *, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0
) -> Any:
    factor = _turn(_triangle(A, lower), transpose)
    left, right = (B, factor) if rightside else (factor, B)
    return alpha * np.einsum("...ij,...jk->...ik", left, right)


def _trsm(
    A: Any, B: Any, *, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0
) -> Any:
    inverse = np.linalg.inv(_turn(_triangle(A, lower), transpose))
    left, right = (B, inverse) if rightside else (inverse, B)
    return alpha * np.einsum("...ij,...jk->...ik", left, right)


def _each(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a function of one matrix as a function of many."""

    @functools.wraps(function)
    def of_many(A: Any, **attributes: Any) -> Any:
        found = [function(matrix, **attributes) for matrix in A.reshape(-1, *A.shape[-2:])]
        if isinstance(found[0], tuple):
            return tuple(np.reshape(part, A.shape[:-2] + np.shape(part[0])) for part in zip(*found, strict=True))
        return np.reshape(found, A.shape[:-2] + np.shape(found[0]) or (1,))

    return of_many


@_each
def _potrf(A: Any) -> Any:
    L = np.zeros_like(A)
    for row in range(len(A)):
        for column in range(row + 1):
            rest = A[row, column] - L[row, :column] @ L[column, :column]
            L[row, column] = np.sqrt(rest) if row == column else rest / L[column, column]
    return L


@_each
def _potri(A: Any) -> Any:
    return np.linalg.inv(np.tril(A) @ np.tril(A).T)


@_each
def _gelqf(A: Any) -> tuple[Any, Any]:
    rows: list[Any] = []
    for row in A:  # Gram and Schmidt
        for other in rows:
            row = row - (row @ other) * other
        rows.append(row / np.sqrt(row @ row))
    # LAPACK's reflections turn each row to the negative side of its first axis.
    signs = -np.sign([1.0] * len(rows)) if not len(rows) else _reflected(A)
    Q = signs[:, None] * np.array(rows)
    return Q, A @ Q.T


def _reflected(A: Any) -> Any:
    return np.sign(np.diagonal(np.linalg.qr(A.T)[1])) * np.sign(np.diagonal(np.linalg.cholesky(A @ A.T)))


@_each
def _syevd(A: Any) -> tuple[Any, Any]:
    values, vectors = np.linalg.eig(A)
    order = np.argsort(values)
    rows = vectors.T[order]
    largest = rows[np.arange(len(rows)), np.abs(rows).argmax(1)]
    return rows * np.sign(largest)[:, None], values[order]


def _det(A: Any) -> Any:
    """Return the determinant by Laplace's expansion."""
    if not len(A):
        return 1.0
    minors = [np.delete(A[1:], column, 1) for column in range(len(A))]
    return sum((-1) ** column * A[0, column] * _det(minor) for column, minor in enumerate(minors))


def _symmetric(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the symmetric part of matrices, which must be nearly symmetric: what gradients are of."""

    def of_symmetric(A: Any) -> Any:
        if np.abs(A - np.swapaxes(A, -1, -2)).max(initial=0) > 0.01:
            raise ValueError("the matrices are not symmetric")
        return function((A + np.swapaxes(A, -1, -2)) / 2)

    return of_symmetric


_RANDOM = np.random.RandomState(11)
_SQUARE = _RANDOM.normal(size=(2, 3, 3))
_DEFINITE = _SQUARE @ np.swapaxes(_SQUARE, -1, -2) + np.eye(3)
_EVEN = _SQUARE + np.swapaxes(_SQUARE, -1, -2)
_FACTOR = np.tril(_SQUARE) + 3 * np.eye(3)


def _given(values: Any) -> Spec:
    return Spec(np.shape(values), values=values)


_GEMM: list[tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ("plain", (2, 3), (3, 4), (2, 4), {}),
    ("batch", (2, 2, 3), (2, 3, 2), (2, 2, 2), {"alpha": 2.0, "beta": -0.5}),
    ("transpose_a", (3, 2), (3, 4), (2, 4), {"transpose_a": True}),
    ("transpose_b", (2, 3), (4, 3), (2, 4), {"transpose_b": True, "alpha": 0.5}),
    ("axis", (2, 2, 3), (3, 2, 4), (2, 2, 4), {"axis": 0}),
    ("axis_transposed", (3, 2, 2), (4, 2, 3), (2, 2, 4), {"axis": -3, "transpose_a": True, "transpose_b": True}),
]
_TRIANGULAR: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    ("plain", (3, 2), {}),
    ("upper", (2, 3, 2), {"lower": False, "alpha": 2.0}),
    ("transpose", (2, 3, 2), {"transpose": True}),
    ("rightside", (2, 2, 3), {"rightside": True}),
    ("everything", (2, 3), {"rightside": True, "transpose": True, "lower": False, "alpha": -0.5}),
]


def _triangular(shape: tuple[int, ...]) -> Spec:
    return _given((_SQUARE + 3 * np.eye(3))[: (shape[0] if len(shape) > 2 else 1)].reshape(*shape[:-2], 3, 3))


ROWS = [
    *[
        Row("_linalg_gemm", (real(*a), real(*b), real(*c)), attributes, _gemm, label=label)
        for label, a, b, c, attributes in _GEMM
    ],
    *[
        Row(
            "_linalg_gemm2",
            (real(*a), real(*b)),
            {name: value for name, value in attributes.items() if name != "beta"},
            _gemm,
            label=label,
        )
        for label, a, b, c, attributes in _GEMM
    ],
    *[
        Row("_linalg_trmm", (_triangular(shape), real(*shape)), attributes, _trmm, label=label)
        for label, shape, attributes in _TRIANGULAR
    ],
    *[
        Row("_linalg_trsm", (_triangular(shape), real(*shape)), attributes, _trsm, label=label, **_SINGLE)
        for label, shape, attributes in _TRIANGULAR
    ],
    Row("_linalg_syrk", real(2, 3), reference=lambda A: A @ A.T),
    Row(
        "_linalg_syrk",
        real(2, 2, 3),
        {"transpose": True, "alpha": 0.5},
        lambda A, transpose, alpha: alpha * np.einsum("bij,bik->bjk", A, A),
        label="transpose",
    ),
    Row("_linalg_potrf", _given(_DEFINITE), reference=_potrf, loss=_symmetric(np.linalg.cholesky), **_SINGLE),
    Row("_linalg_potri", _given(_FACTOR), reference=_potri, **_SINGLE),
    Row("_linalg_gelqf", real(2, 2, 3), reference=_gelqf, **_SINGLE),
    Row("_linalg_gelqf", _given(_FACTOR[0]), reference=_gelqf, label="square", **_SINGLE),
    Row("_linalg_syevd", _given(_EVEN), reference=_syevd, loss=_symmetric(_syevd), **_SINGLE),
    Row("_linalg_inverse", _given(_DEFINITE), reference=_each(lambda A: np.linalg.solve(A, np.eye(3))), **_SINGLE),
    Row("_linalg_det", _given(_SQUARE), reference=_each(_det), **_SINGLE),
    Row("_linalg_det", _given(_SQUARE[0]), reference=_each(_det), label="matrix", **_SINGLE),
    Row(
        "_linalg_slogdet",
        _given(_SQUARE),
        reference=_each(lambda A: (np.sign(_det(A)), np.log(abs(_det(A))))),
        **_SINGLE,
    ),
    Row(
        "_linalg_sumlogdiag",
        real(2, 3, 3, low=0.5),
        reference=_each(lambda A: sum(np.log(A[i, i]) for i in range(len(A)))),
    ),
    Row("_linalg_sumlogdiag", real(2, 2, low=0.5), reference=lambda A: np.log(A[:1, 0] * A[1:, 1]), label="matrix"),
    *[
        Row(
            "_linalg_extractdiag",
            real(2, 3, 3),
            {"offset": offset},
            lambda A, offset: np.diagonal(A, offset, -2, -1),
            label=f"offset{offset}",
        )
        for offset in (0, 1, -2)
    ],
    *[
        Row(
            "_linalg_makediag",
            real(2, 2),
            {"offset": offset},
            lambda A, offset: np.array([np.diag(row, offset) for row in A]),
            label=f"offset{offset}",
        )
        for offset in (0, 1, -2)
    ],
]


def _places(count: int, offset: int, lower: bool) -> list[tuple[int, int]]:
    """Return the places of a triangle in order, in matrices of so many rows."""
    if offset > 0 or (offset == 0 and not lower):
        return [(row, column) for column in range(count) for row in range(count) if column - row >= offset]
    return [(row, column) for row in range(count) for column in range(count) if column - row <= offset]


def _extracttrian(A: Any, *, offset: int = 0, lower: bool = True) -> Any:
    places = _places(A.shape[-1], offset, lower)
    return np.stack([A[..., row, column] for row, column in places], -1)


def _maketrian(A: Any, *, offset: int = 0, lower: bool = True) -> Any:
    size = 2 + abs(offset)
    result = np.zeros((*A.shape[:-1], size, size))
    for number, (row, column) in enumerate(_places(size, offset, lower)):
        result[..., row, column] = A[..., number]
    return result


_TRIANGLES: list[tuple[str, dict[str, Any]]] = [
    ("lower", {}),
    ("upper", {"lower": False}),
    ("above", {"offset": 1}),
    ("below", {"offset": -1, "lower": False}),
]
ROWS += [
    row
    for label, attributes in _TRIANGLES
    for row in (
        Row("_linalg_extracttrian", real(2, 3, 3), attributes, _extracttrian, label=label),
        Row("_linalg_maketrian", real(2, 3), attributes, _maketrian, label=label),
    )
]


def _khatri_rao(*matrices: Any) -> Any:
    return np.stack([functools.reduce(np.kron, columns) for columns in zip(*(m.T for m in matrices), strict=True)], 1)


ROWS += [
    Row("khatri_rao", (real(2, 3), real(4, 3)), reference=_khatri_rao),
    Row("khatri_rao", (real(2, 2), real(3, 2), real(1, 2)), reference=_khatri_rao, label="three"),
    Row("khatri_rao", real(2, 3), reference=_khatri_rao, label="one"),
]

KINDS_OF_STEPS = {
    "call": (
        "_linalg_extractdiag _linalg_extracttrian _linalg_inverse _linalg_makediag _linalg_maketrian _linalg_potrf"
    ),
    "elementwise reduce view": "_linalg_sumlogdiag",
    "elementwise reduce view call": "_linalg_syevd",
    "elementwise view": "khatri_rao",
    "elementwise view call": "_linalg_trsm",
    "elementwise view product": "_linalg_gemm _linalg_gemm2 _linalg_syrk _linalg_trmm",
    "elementwise view product call": "_linalg_potri",
    "view call": "_linalg_det _linalg_gelqf _linalg_slogdet",
}
