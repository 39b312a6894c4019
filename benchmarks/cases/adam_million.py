"""A step of Adam on a million numbers: as a function of NumPy's, compiled, and as the libraries' own updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.case import Array, Case, Checked, Step

SIZE = 1_000_000
RATE, BETA1, BETA2, EPSILON = 0.001, 0.9, 0.999, 1e-8
STEPS_CHECKED = 5


def inputs() -> tuple[Array, ...]:
    """The parameter and its gradient."""
    random = np.random.RandomState(0)
    return tuple(random.normal(0, 1, SIZE).astype(np.float32) for _ in range(2))


def update(w: Array, g: Array, m: Array, v: Array) -> tuple[Array, ...]:
    """Adam (Kingma and Ba, arXiv:1412.6980, algorithm 1), the corrections left to the rate."""
    m = BETA1 * m + (1 - BETA1) * g
    v = BETA2 * v + (1 - BETA2) * (g * g)
    return w - RATE * m / (v**0.5 + EPSILON), m, v


def update_in_place(w: Array, g: Array, m: Array, v: Array) -> None:
    """The same, as it is mostly written in NumPy: the arrays that are given are changed."""
    m *= BETA1
    m += (1 - BETA1) * g
    v *= BETA2
    v += (1 - BETA2) * g * g
    w -= RATE * m / (np.sqrt(v) + EPSILON)


def stepped(function: Callable[..., Any], w: Array, g: Array, m: Array, v: Array) -> Step:
    state = [w, m, v]

    def step():
        state[:] = function(state[0], g, *state[1:])
        return tuple(state)

    return step


def zeros(count: int) -> list[Array]:
    return [np.zeros(SIZE, np.float32) for _ in range(count)]


def expected(w: Array, g: Array) -> tuple[Array, ...]:
    w, g, m, v = (array.astype(np.float64) for array in (w, g, *zeros(2)))
    for _ in range(STEPS_CHECKED):
        w, m, v = update(w, g, m, v)
    return w, m, v


case = Case(
    "a step of Adam on 1,000,000 float32, written in NumPy and compiled",
    inputs,
    expected,
    targets={"torch": 0.9, "torch compile": 0.9},
    check_calls=STEPS_CHECKED,
)


@case.implementation("minpy")
def with_minpy(w: Array, g: Array) -> Step:
    import minpy

    m, v = zeros(2)
    w = w.copy()
    compiled = minpy.compile(update_in_place)

    def step():
        compiled(w, g, m, v)
        return w, m, v

    return step


@case.implementation("minpy new arrays", peer="minpy")
def with_new_arrays(w: Array, g: Array) -> Step:
    """The function that returns what it computes, and changes nothing."""
    import minpy

    return stepped(minpy.compile(update), w, g, *zeros(2))


@case.implementation("minpy adam_update", peer="minpy")
def with_update(w: Array, g: Array) -> Step:
    import minpy as mx

    w, g, m, v = (mx.nd.array(array) for array in (w, g, *zeros(2)))

    def step():
        mx.nd.adam_update(w, g, m, v, lr=RATE, beta1=BETA1, beta2=BETA2, epsilon=EPSILON, out=w)
        return w, m, v

    return step


@case.implementation("mxnet")
def with_mxnet(w: Array, g: Array) -> Step:
    import mxnet as mx

    w, g, m, v = (mx.nd.array(array) for array in (w, g, *zeros(2)))

    def step():
        mx.nd.adam_update(w, g, m, v, lr=RATE, beta1=BETA1, beta2=BETA2, epsilon=EPSILON, out=w)
        mx.nd.waitall()
        return w, m, v

    return step


@case.implementation("torch")
def with_torch(w: Array, g: Array) -> Step:
    """The calls of PyTorch's own Adam for one parameter, without the corrections."""
    import torch

    w, g, m, v = (torch.tensor(array) for array in (w, g, *zeros(2)))

    def step():
        m.lerp_(g, 1 - BETA1)
        v.mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
        w.addcdiv_(m, v.sqrt().add_(EPSILON), value=-RATE)
        return w, m, v

    return step


@case.implementation("torch compile", peer="torch")
def with_torch_compile(w: Array, g: Array) -> Step:
    import torch

    w, g, m, v = (torch.tensor(array) for array in (w, g, *zeros(2)))

    @torch.compile
    def in_place(w, g, m, v):
        for old, new in zip((w, m, v), update(w, g, m, v), strict=True):
            old.copy_(new)

    def step():
        in_place(w, g, m, v)
        return w, m, v

    return step


@case.implementation("jax jit", peer="jax")
def with_jax(w: Array, g: Array) -> Checked:
    import jax

    w, g, m, v = (jax.numpy.asarray(array) for array in (w, g, *zeros(2)))
    advance = stepped(jax.jit(update, donate_argnums=(0, 2, 3)), w, g, m, v)
    return lambda: jax.block_until_ready(advance())


@case.implementation("numba")
def with_numba(w: Array, g: Array) -> Step:
    """A loop in place, cut for Numba's threads."""
    import numba

    m, v = zeros(2)
    rate, beta1, beta2, epsilon, one = map(np.float32, (RATE, BETA1, BETA2, EPSILON, 1))

    def loop(w, g, m, v):
        for i in numba.prange(len(w)):
            m[i] = beta1 * m[i] + (one - beta1) * g[i]
            v[i] = beta2 * v[i] + (one - beta2) * g[i] * g[i]
            w[i] -= rate * m[i] / (np.sqrt(v[i]) + epsilon)

    compiled = numba.njit(loop, parallel=numba.get_num_threads() > 1)

    def step():
        compiled(w, g, m, v)
        return w, m, v

    return step


@case.implementation("numpy")
def with_numpy(w: Array, g: Array) -> Step:
    return stepped(update, w, g, *zeros(2))
