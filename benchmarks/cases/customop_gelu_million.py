"""A GELU that a user wrote in NumPy, with its gradient, compiled alone, on a million numbers."""

from __future__ import annotations

import numpy as np

from harness.case import Array, Case, Checked, Step
from harness.customops import CUBIC, SCALE, gelu, gelu_pull, operator_gradients, plain_gradients, with_rule
from harness.gradients import jax_gradients, torch_gradients

SIZE = 1_000_000


def inputs() -> tuple[Array, ...]:
    random = np.random.RandomState(0)
    return tuple(random.normal(0, scale, SIZE).astype(np.float32) for scale in (2, 1))


def expected(x: Array, head: Array) -> tuple[Array, ...]:
    return plain_gradients(gelu, gelu_pull, (x,), head, np.float64)()


case = Case(
    "a GELU written in NumPy with its gradient, eager, forward and backward, 1,000,000 float32",
    inputs,
    expected,
    targets={"numpy": 0.25, "torch compile": 1.0, "numba": 1.0},
    check_calls=10,
    atol=2e-5,
)


@case.implementation("minpy")
def with_minpy(x: Array, head: Array) -> Checked:
    return operator_gradients(with_rule(gelu, gelu_pull, compile=True), (x,), head)


@case.implementation("minpy not compiled", peer="minpy")
def with_minpy_python(x: Array, head: Array) -> Checked:
    return operator_gradients(with_rule(gelu, gelu_pull), (x,), head)


@case.implementation("minpy through HIPS autograd", peer="minpy")
def with_hips(x: Array, head: Array) -> Step:
    from autograd import make_vjp

    both = make_vjp(with_rule(gelu, gelu_pull, compile=True))

    def step():
        pull, y = both(x)
        return y, pull(head)

    return step


@case.implementation("numpy")
def with_numpy(x: Array, head: Array) -> Step:
    return plain_gradients(gelu, gelu_pull, (x,), head)


@case.implementation("torch")
def with_torch(x: Array, head: Array) -> Step:
    """PyTorch's own operator."""
    from torch.nn import functional

    return torch_gradients(lambda x: functional.gelu(x, approximate="tanh"), (x,), head)


@case.implementation("torch compile", peer="torch")
def with_torch_compile(x: Array, head: Array) -> Step:
    import torch

    def function(x):
        return 0.5 * x * (1.0 + torch.tanh(SCALE * (x + CUBIC * x * x * x)))

    return torch_gradients(function, (x,), head, compiled=True)


@case.implementation("jax jit", peer="jax")
def with_jax(x: Array, head: Array) -> Step:
    import jax

    return jax_gradients(jax.nn.gelu, (x,), head)


@case.implementation("numba")
def with_numba(x: Array, head: Array) -> Step:
    """Loops, cut for Numba's threads, with the same calls between them as a tape has."""
    import numba

    half, one, scale, cubic, slope = map(np.float32, (0.5, 1, SCALE, CUBIC, 3 * SCALE * CUBIC))

    def forward(x, out):
        for i in numba.prange(len(x)):
            a = x[i]
            out[i] = half * a * (one + np.tanh(scale * (a + cubic * a * a * a)))

    def backward(x, g, out):
        for i in numba.prange(len(x)):
            a = x[i]
            t = np.tanh(scale * (a + cubic * a * a * a))
            out[i] = g[i] * (half * (one + t) + half * a * (one - t * t) * (scale + slope * a * a))

    many = numba.get_num_threads() > 1
    forward, backward = (numba.njit(loop, parallel=many) for loop in (forward, backward))

    def step():
        y, gradient = np.empty_like(x), np.empty_like(x)
        forward(x, y)
        backward(x, head, gradient)
        return y, gradient

    return step
