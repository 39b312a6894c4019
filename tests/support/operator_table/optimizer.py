"""Rows of `minpy.ops.optimizer`. The references are written for one number, in Python's arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from operator_table.row import Row, Spec, real

Numbers = Sequence[float]


def _clip(value: float, limit: float) -> float:
    return min(max(value, -limit), limit) if limit >= 0 else value


def _sgd(w: float, g: float, *, lr: float, wd: float = 0, rescale_grad: float = 1, clip_gradient: float = -1) -> float:
    return w * (1 - lr * wd) - lr * _clip(g * rescale_grad, clip_gradient)


def _sgd_mom(w: float, g: float, m: float, *, momentum: float, **rates: float) -> float:
    return _sgd(w, g, **rates) + momentum * m


def _nag(w: float, g: float, m: float, *, momentum: float, **rates: float) -> float:
    moved = _sgd_mom(0, g + 0, m, momentum=momentum, **{**rates, "wd": 0}) - rates["lr"] * rates["wd"] * w
    return _sgd(w, g, **rates) + momentum * moved


def _signsgd(w: float, g: float, *, lr: float, wd: float, rescale_grad: float, clip_gradient: float) -> float:
    return w - lr * wd * w - math.copysign(lr, g)


def _signum(w: float, g: float, m: float, *, momentum: float, wd_lh: float, **rates: float) -> float:
    step = _clip(g * rates["rescale_grad"], rates["clip_gradient"]) + rates["wd"] * w
    return w - rates["lr"] * wd_lh * w + math.copysign(rates["lr"], momentum * m - (1 - momentum) * step)


def _adam(w: float, g: float, m: float, v: float, **rates: float) -> float:
    g = _clip(g * rates["rescale_grad"] + rates["wd"] * w, rates["clip_gradient"])
    m = m + (1 - rates["beta1"]) * (g - m)
    v = v + (1 - rates["beta2"]) * (g**2 - v)
    return w - rates["lr"] * m / (v**0.5 + rates["epsilon"])


def _adamw(w: float, g: float, m: float, v: float, scale: float, *, eta: float, wd: float, **rates: float) -> float:
    moved = _adam(w, g, m, v, rescale_grad=scale, wd=0, **rates)
    return w + eta * (moved - w) - eta * wd * w


def _direction(
    w: float, g: float, m: float, v: float, *, t: int, bias_correction: bool = True, **rates: float
) -> float:
    g = _clip(g * rates["rescale_grad"], rates["clip_gradient"])
    m = m + (1 - rates["beta1"]) * (g - m)
    v = v + (1 - rates["beta2"]) * (g**2 - v)
    if bias_correction:
        m, v = m / (1 - rates["beta1"] ** t), v / (1 - rates["beta2"] ** t)
    return m / (v**0.5 + rates["epsilon"]) + rates["wd"] * w


def _scaled(w: float, g: float, r1: float, r2: float, *, lr: float, lower_bound: float, upper_bound: float) -> float:
    return w - lr * g * min(max(r1, lower_bound), upper_bound) / r2


def _rmsprop(w: float, g: float, n: float, *, gamma1: float, clip_weights: float, **rates: float) -> float:
    g = _clip(g * rates["rescale_grad"] + rates["wd"] * w, rates["clip_gradient"])
    n = n + (1 - gamma1) * (g**2 - n)
    return _clip(w - rates["lr"] * g * (n + rates["epsilon"]) ** -0.5, clip_weights)


def _rmspropalex(w: float, g: float, n: float, mean: float, delta: float, *, gamma2: float, **rates: float) -> float:
    g = _clip(g * rates["rescale_grad"] + rates["wd"] * w, rates["clip_gradient"])
    n = n + (1 - rates["gamma1"]) * (g**2 - n)
    mean = mean + (1 - rates["gamma1"]) * (g - mean)
    step = rates["lr"] * g * (n - mean**2 + rates["epsilon"]) ** -0.5
    return _clip(w + gamma2 * delta - step, rates["clip_weights"])


def _ftrl(w: float, g: float, z: float, n: float, *, lamda1: float, beta: float, **rates: float) -> float:
    g, lr = _clip(g * rates["rescale_grad"], rates["clip_gradient"]), rates["lr"]
    z += g - ((n + g * g) ** 0.5 - n**0.5) / lr * w
    if abs(z) <= lamda1:
        return 0.0
    return (math.copysign(lamda1, z) - z) / ((beta + (n + g * g) ** 0.5) / lr + rates["wd"])


def _ftml(w: float, g: float, d: float, v: float, z: float, *, t: int, **rates: float) -> float:
    g = _clip(g * rates["rescale_grad"] + rates["wd"] * w, rates["clip_grad"])
    beta1, beta2 = rates["beta1"], rates["beta2"]
    v = v + (1 - beta2) * (g**2 - v)
    new = (1 - beta1**t) * ((v / (1 - beta2**t)) ** 0.5 + rates["epsilon"]) / rates["lr"]
    return -(beta1 * z + (1 - beta1) * g - (new - beta1 * d) * w) / new


def _elementwise(function: Callable[..., float], *, master: int | None = None) -> Callable[..., np.ndarray]:
    """Return a reference on arrays; with `master` the input at that position is the weight."""

    def reference(*arrays: np.ndarray, **attributes: Any) -> np.ndarray:
        attributes.pop("lazy_update", None)
        given = list(arrays)
        if master is not None:
            given[0] = given.pop(master)
        found: np.ndarray = np.vectorize(lambda *numbers: function(*numbers, **attributes))(*given)
        return found

    return reference


def _norm_scaled(w: np.ndarray, g: np.ndarray, m: np.ndarray, v: np.ndarray, *, lr: float, **rates: Any) -> np.ndarray:
    low, high = rates.pop("lower_bound"), rates.pop("upper_bound")
    step = _elementwise(_direction)(w, g, m, v, **rates)
    norm = min(max(math.hypot(*w.ravel()), low), high)
    return w - lr * norm / math.hypot(*step.ravel()) * step


def _multi(single: Callable[..., Any], stride: int, lists: dict[str, str], shared: int = 0) -> Callable[..., Any]:
    """Return a reference for several weights from that of one."""

    def reference(*arrays: np.ndarray, **attributes: Any) -> tuple[np.ndarray, ...]:
        number = (len(arrays) - shared) // stride
        last = list(arrays[number * stride :])
        rates = {own: attributes.pop(key) if key in attributes else last.pop(0) for key, own in lists.items()}
        attributes = {key: value for key, value in attributes.items() if not key.startswith("num_")}
        return tuple(
            single(
                *arrays[index * stride : (index + 1) * stride],
                *last,
                **attributes,
                **{key: float(values[index]) for key, values in rates.items()},
            )
            for index in range(number)
        )

    return reference


def _group_adagrad(w: np.ndarray, g: np.ndarray, h: np.ndarray, **rates: float) -> np.ndarray:
    rows = []
    for weight, grad, old in zip(w, g, h.ravel(), strict=True):
        grads = [_clip(x * rates["rescale_grad"], rates["clip_gradient"]) for x in grad]
        new = old + sum(x * x for x in grads) / len(grads)
        rows.append(
            [x - rates["lr"] * y / math.sqrt(new + rates["epsilon"]) for x, y in zip(weight, grads, strict=True)]
        )
    return np.array(rows)


def _lars(lr: float, w: float, g: float, wd: float, *, eta: float, eps: float, rescale_grad: float) -> float:
    if not w or not g:
        return lr
    return lr * eta * w**0.5 / (g**0.5 * rescale_grad + wd * w**0.5 + eps)


_W, _G = real(3, 4), real(3, 4, away_from=(0.0,))
_M, _V = real(3, 4), real(3, 4, low=0.5, high=2)
_ONE = Spec((1,), low=0.5, high=2)
_RATES: dict[str, Any] = {"lr": 0.1, "wd": 0.5, "rescale_grad": 2.0, "clip_gradient": 1.5}
_BETAS: dict[str, Any] = {"beta1": 0.75, "beta2": 0.5, "epsilon": 0.25}
_ADAMW: dict[str, Any] = {**_BETAS, "lr": 0.1, "wd": 0.5, "eta": 0.5, "clip_gradient": 1.5}
_PHASE1: dict[str, Any] = {**_BETAS, "t": 3, "wd": 0.5, "rescale_grad": 2.0, "clip_gradient": 1.5}
_BOUNDS: dict[str, Any] = {"lower_bound": 0.75, "upper_bound": 1.25}
_LAMB: dict[str, Any] = {**_BETAS, **_BOUNDS, "rescale_grad": 2.0, "clip_gradient": 1.5}
_SQUARES: dict[str, Any] = {**_RATES, "gamma1": 0.75, "epsilon": 0.25, "clip_weights": 1.75}
_ULPS = 16.0


def _row(name: str, inputs: Sequence[Spec], attributes: dict[str, Any], reference: Any, **options: Any) -> Row:
    return Row(name, inputs, attributes, reference, order=0, reason="an update", **{"ulps": _ULPS, **options})


def _twice(*specs: Spec) -> list[Spec]:
    """Return the inputs of a second, smaller weight after those of a first."""
    smaller = [Spec((5,), spec.low, spec.high, away_from=spec.away_from) for spec in specs]
    return [*specs, *smaller]


_PAIRS: dict[str, Any] = {"lrs": (0.1, 0.2), "wds": (0.5, 0.25)}
_TWO = {"rescale_grad": 2.0, "clip_gradient": 1.5, "num_weights": 2}
_LISTS = {"lrs": "lr", "wds": "wd"}
_ARRAYS = [Spec((2,), values=[0.1, 0.2]), Spec((2,), values=[0.5, 0.25])]
_SGD = {
    "sgd_update": ([_W, _G], {}, _elementwise(_sgd)),
    "sgd_mom_update": ([_W, _G, _M], {"momentum": 0.9}, _elementwise(_sgd_mom)),
    "mp_sgd_update": ([_W, _G, _M], {}, _elementwise(_sgd, master=2)),
    "mp_sgd_mom_update": ([_W, _G, _M, _W], {"momentum": 0.9}, _elementwise(_sgd_mom, master=3)),
}

ROWS = [
    *[_row(name, inputs, {**_RATES, **further}, check) for name, (inputs, further, check) in _SGD.items()],
    _row("sgd_update", [_W, _G], {"lr": 0.5}, lambda w, g, lr: w - lr * g, label="plain"),
    _row("sgd_mom_update", [_W, _G, _M], {"lr": 0.5, "momentum": 0.5}, _elementwise(_sgd_mom), label="plain", ulps=64),
    _row("nag_mom_update", [_W, _G, _M], {**_RATES, "momentum": 0.9}, _elementwise(_nag)),
    _row("mp_nag_mom_update", [_W, _G, _M, _W], {**_RATES, "momentum": 0.9}, _elementwise(_nag, master=3)),
    _row("signsgd_update", [_W, _G], _RATES, _elementwise(_signsgd)),
    _row("signum_update", [_W, _G, _V], {**_RATES, "momentum": 0.9, "wd_lh": 0.25}, _elementwise(_signum)),
    _row("adam_update", [_W, _G, _M, _V], {**_RATES, **_BETAS}, _elementwise(_adam)),
    _row("_adamw_update", [_W, _G, _M, _V, _ONE], _ADAMW, _elementwise(_adamw)),
    _row("_mp_adamw_update", [_W, _G, _M, _V, _W, _ONE], _ADAMW, _elementwise(_adamw, master=4)),
    _row("lamb_update_phase1", [_W, _G, _M, _V], _PHASE1, _elementwise(_direction)),
    _row(
        "lamb_update_phase1",
        [_W, _G, _M, _V],
        {**_PHASE1, "bias_correction": False},
        _elementwise(_direction),
        label="biased",
    ),
    _row("mp_lamb_update_phase1", [_W, _G, _M, _V, _W], _PHASE1, _elementwise(_direction, master=4)),
    _row("lamb_update_phase2", [_W, _G, _ONE, _ONE], {"lr": 0.1, **_BOUNDS}, _elementwise(_scaled)),
    _row("mp_lamb_update_phase2", [_W, _G, _ONE, _ONE, _W], {"lr": 0.1, **_BOUNDS}, _elementwise(_scaled, master=4)),
    _row("rmsprop_update", [_W, _G, _V], _SQUARES, _elementwise(_rmsprop)),
    _row(
        "rmspropalex_update",
        [_W, _G, _V, real(3, 4, low=-0.5, high=0.5), _M],
        {**_SQUARES, "gamma2": 0.5},
        _elementwise(_rmspropalex),
    ),
    _row("ftrl_update", [_W, _G, _M, _V], {**_RATES, "lamda1": 0.5, "beta": 0.5}, _elementwise(_ftrl), ulps=64),
    _row(
        "ftml_update",
        [_W, _G, _V, _V, _M],
        {**_BETAS, "lr": 0.1, "wd": 0.5, "rescale_grad": 2.0, "clip_grad": 1.5, "t": 3},
        _elementwise(_ftml),
    ),
    _row(
        "_contrib_group_adagrad_update",
        [_W, _G, real(3, 1, low=0.5, high=2)],
        {"lr": 0.1, "rescale_grad": 2.0, "clip_gradient": 1.5, "epsilon": 0.25},
        _group_adagrad,
    ),
    _row(
        "multi_lars",
        [real(4, low=0.1, high=0.5), real(4, low=0.5, high=2), real(4, low=0.5, high=2), real(4, low=0, high=0.5)],
        {"eta": 0.5, "eps": 0.25, "rescale_grad": 2.0},
        _elementwise(_lars),
    ),
    *[
        _row(f"multi_{name}", _twice(*inputs), {**_PAIRS, **_TWO, **further}, _multi(check, len(inputs), _LISTS))
        for name, (inputs, further, check) in _SGD.items()
    ],
    *[
        _row(
            f"preloaded_multi_{name}",
            [*_twice(*inputs), *_ARRAYS],
            {**_TWO, **further},
            _multi(check, len(inputs), _LISTS, 2),
        )
        for name, (inputs, further, check) in _SGD.items()
    ],
    *[
        _row(
            f"_multi_{mp}adamw_update",
            [*_twice(_W, _G, _M, _V, *[_W] * (mp != "")), _ONE],
            {**_PAIRS, **_BETAS, "etas": (1.0, 0.5), "clip_gradient": 1.5, "num_weights": 2},
            _multi(_elementwise(_adamw, master=4 if mp else None), 5 if mp else 4, {**_LISTS, "etas": "eta"}, 1),
        )
        for mp in ("", "mp_")
    ],
    *[
        _row(
            f"_multi_{mp}lamb_update",
            _twice(_W, _G, _M, _V, *[_W] * (mp != "")),
            {**_LAMB, "learning_rates": (0.1, 0.2), "wds": (0.5, 0.25), "step_count": (3, 4), "num_tensors": 2},
            _multi(
                (lambda w, g, m, v, master, **rates: _norm_scaled(master, g, m, v, **rates)) if mp else _norm_scaled,
                5 if mp else 4,
                {"learning_rates": "lr", "wds": "wd", "step_count": "t"},
            ),
        )
        for mp in ("", "mp_")
    ],
]

KINDS_OF_STEPS = {"elementwise": "multi_lars sgd_update signsgd_update", "elementwise view": "lamb_update_phase2"}
CALLED = {
    "*_update_phase1*": "moves the states",
    "*_mom_update*": "moves the states",
    "mp_*": "moves the states",
    "*adam*_update": "moves the states",
    "signum_update": "moves the states",
    "rmsprop*_update": "moves the states",
    "ft?l_update": "moves the states",
    "ftml_update": "moves the states",
    "*adagrad_update": "moves the states",
    "*multi_*sgd_update": "takes any number of weights",
    "_multi_*lamb_update": "moves the states",
}
