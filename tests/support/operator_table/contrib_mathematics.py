"""Rows of `minpy.ops.contrib`, of its mathematics: functions, positions, Fourier transforms, sketches, processes."""

from __future__ import annotations

from typing import Any

import numpy as np

from operator_table.row import Row, Spec, real


def _given(values: Any) -> Spec:
    return Spec(np.shape(values), values=values, integers=True)


def _rounded(x: Any) -> Any:
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def _fft(x: Any, **_: Any) -> Any:
    angles = -2j * np.pi * np.outer(np.arange(x.shape[-1]), np.arange(x.shape[-1])) / x.shape[-1]
    found = x @ np.exp(angles)
    return np.stack([found.real, found.imag], -1).reshape(*x.shape[:-1], -1)


def _ifft(x: Any, **_: Any) -> Any:
    count = x.shape[-1] // 2
    angles = 2j * np.pi * np.outer(np.arange(count), np.arange(count)) / count
    return ((x[..., ::2] + 1j * x[..., 1::2]) @ np.exp(angles)).real


def _index_copy(old: Any, index: Any, new: Any) -> Any:
    result = [*old]
    for row, value in zip(index.astype(int), new, strict=True):
        result[row] = value
    return np.stack(result)


def _count_sketch(x: Any, h: Any, s: Any, *, out_dim: int) -> Any:
    onto = np.zeros((x.shape[-1], out_dim))
    onto[np.arange(x.shape[-1]), h.reshape(-1).astype(int)] = s.reshape(-1)
    return x @ onto


_X = real(3, 4)
_ROWS = _given([3, 0, 1])
_TWICE = _given([3, 1, 3])

ROWS = [
    Row("_contrib_quadratic", _X, {"a": 1.5, "b": -2.0, "c": 0.5}, lambda x, a, b, c: a * x**2 + b * x + c),
    Row("_contrib_quadratic", _X, {}, lambda x: 0 * x, label="zero"),
    Row("_contrib_div_sqrt_dim", _X, reference=lambda x: x / 2),
    Row("_contrib_round_ste", real(3, 4, away_from=(-1.5, -0.5, 0.5, 1.5)), reference=_rounded, loss=lambda x: x),
    Row("_contrib_sign_ste", real(3, 4, away_from=(0.0,)), reference=np.sign, loss=lambda x: x),
    Row(
        "_contrib_gradientmultiplier",
        _X,
        {"scalar": -0.5},
        lambda x, scalar: x,
        loss=lambda x, scalar: scalar * x,
    ),
    Row(
        "_contrib_allclose",
        (_X, _X),
        {"rtol": 0.0, "atol": 1.0},
        lambda a, b, rtol, atol: np.array(all(abs(x - y) <= atol for x, y in zip(a.flat, b.flat, strict=True))),
        order=0,
        reason="piecewise constant",
    ),
    Row(
        "_contrib_arange_like",
        real(2, 3),
        {"start": 1.0, "step": 0.5, "repeat": 2},
        lambda x, start, step, repeat: np.array([[1, 1, 1.5], [1.5, 2, 2]]),
        order=0,
        reason="no value is read",
    ),
    Row(
        "_contrib_arange_like",
        real(2, 3),
        {"axis": -1},
        lambda x, axis: np.array([0.0, 1, 2]),
        order=0,
        reason="no value is read",
        label="axis",
    ),
    Row(
        "_contrib_index_array",
        real(2, 3),
        reference=lambda x: np.moveaxis(np.indices(x.shape), 0, -1),
        order=0,
        reason="no value is read",
    ),
    Row(
        "_contrib_index_array",
        real(2, 3, 2),
        {"axes": (2, -2)},
        lambda x, axes: np.stack([np.indices(x.shape)[2], np.indices(x.shape)[1]], -1),
        order=0,
        reason="no value is read",
        label="axes",
    ),
    Row("_contrib_index_copy", (real(4, 2), _ROWS, real(3, 2)), reference=_index_copy),
    Row("_contrib_index_copy", (real(4, 2), _TWICE, real(3, 2)), reference=_index_copy, label="twice"),
    Row(
        "_contrib_boolean_mask",
        (real(3, 2), _given([1, 0, 2])),
        reference=lambda x, mask: np.stack([row for row, kept in zip(x, mask, strict=True) if kept]),
        bound=False,
    ),
    Row(
        "_contrib_boolean_mask",
        (real(2, 3, 2), _given([0, 1, 1])),
        {"axis": -2},
        lambda x, mask, axis: x[:, 1:],
        bound=False,
        label="axis",
    ),
    Row("_contrib_fft", real(2, 5), reference=_fft),
    Row("_contrib_fft", real(2, 1, 2, 4), {"compute_size": 2}, _fft, label="four_axes"),
    Row("_contrib_ifft", real(2, 6), reference=_ifft),
    Row("_contrib_ifft", real(8), reference=_ifft, label="vector"),
    Row(
        "_contrib_count_sketch",
        (real(2, 4), _given([[2, 0, 2, 1]]), Spec((1, 4), values=[[1, -1, 1, -1]])),
        {"out_dim": 4},
        _count_sketch,
    ),
    Row(
        "_contrib_count_sketch",
        (real(2, 2, 3), _given([0, 4, 1]), Spec((3,), values=[-1, 1, 1])),
        {"out_dim": 5},
        _count_sketch,
        label="vectors",
    ),
]


def _hawkes(
    lda: Any, alpha: Any, beta: Any, state: Any, lags: Any, marks: Any, valid_length: Any, max_time: Any
) -> tuple[Any, Any]:
    """Return the log likelihood by going from event to event, each process from one of its own to the next."""
    totals, states = np.zeros(len(lda)), state.copy()
    for sample in range(len(lda)):
        now, since = 0.0, np.zeros(len(alpha))
        for event in range(int(valid_length[sample])):
            now += lags[sample, event]
            k = int(marks[sample, event])
            decay = np.exp(-beta[k] * (now - since[k]))
            intensity = lda[sample, k] + alpha[k] * beta[k] * states[sample, k] * decay
            totals[sample] += np.log(intensity) - lda[sample, k] * (now - since[k])
            totals[sample] -= alpha[k] * states[sample, k] * (1 - decay)
            states[sample, k], since[k] = 1 + states[sample, k] * decay, now
        for k in range(len(alpha)):
            rest = max_time[sample] - since[k]
            decay = np.exp(-beta[k] * rest)
            totals[sample] -= lda[sample, k] * rest + alpha[k] * states[sample, k] * (1 - decay)
            states[sample, k] *= decay
    return totals, states


_LIKE = real(3, 2, low=0.3, high=1.0)
ROWS += [
    Row(
        "_contrib_hawkesll",
        (
            _LIKE,
            real(2, low=0.2, high=0.6),
            real(2, low=0.5, high=1.5),
            _LIKE,
            real(3, 5, low=0.2, high=1.0),
            _given([[0, 1, 1, 0, 1], [1, 1, 0, 1, 0], [0, 0, 0, 0, 0]]),
            _given([5, 2, 0]),
            real(3, low=5.0, high=7.0),
        ),
        reference=_hawkes,
        argnums=(0, 1, 2, 4, 7),
        loss=lambda *inputs: (_hawkes(*inputs)[0], np.zeros_like(inputs[3])),
        dtypes=("float32",),
        float16_tolerance=3e-2,
    ),
]

CALLED = {
    "_contrib_boolean_mask*": "how many rows there are depends on values",
    "_contrib_count_sketch*": "refuses positions that are out of range",
    "_contrib_hawkesll": "refuses marks that are no process",
    "_contrib_index_copy*": "refuses indices that are out of range",
}
KINDS_OF_STEPS = {
    "": "_contrib_arange_like _contrib_index_array",
    "elementwise": (
        "_contrib_div_sqrt_dim _contrib_gradientmultiplier _contrib_quadratic _contrib_round_ste _contrib_sign_ste"
    ),
    "elementwise reduce view": "_contrib_allclose",
    "elementwise view call": "_contrib_fft _contrib_ifft",
}
