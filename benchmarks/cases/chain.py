"""A chain of 60 small elementwise operators: what one recorded operator costs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.case import Array, Builder, Case, Step
from harness.gradients import torch_gradients

REPEATS = 20


def chain(x: Array, y: Array, tanh: Callable[[Array], Array], repeats: int = REPEATS) -> Array:
    z = x
    for _ in range(repeats):
        z = z * y
        z = z + y
        z = tanh(z)
    return z


def inputs() -> tuple[Array, ...]:
    random = np.random.RandomState(0)
    return tuple(random.uniform(-1, 1, (4, 4)).astype(np.float32) for _ in range(2))


def expected(x: Array, y: Array, repeats: int = REPEATS) -> tuple[Array, ...]:
    """The chain's value and the gradients of its sum with regard to x and y, in float64."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    befores, afters = [], []
    z = x
    for _ in range(repeats):
        befores.append(z)
        z = np.tanh(z * y + y)
        afters.append(z)
    g, gradient_y = np.ones_like(z), np.zeros_like(z)
    for before, after in zip(reversed(befores), reversed(afters), strict=True):
        g = g * (1 - after * after)
        gradient_y += g * (before + 1)
        g = g * y
    return z, g, gradient_y


case = Case(
    "60 elementwise operators on 4x4 float32, recorded forward and backward",
    inputs,
    expected,
    targets={"torch": 0.65, "autograd": 0.3, "mxnet": 0.15},
)


@case.implementation("minpy")
def with_minpy(x: Array, y: Array) -> Step:
    import minpy as mx

    x, y = mx.nd.array(x), mx.nd.array(y)
    x.attach_grad()
    y.attach_grad()

    def step():
        with mx.autograd.record():
            z = chain(x, y, mx.nd.tanh)
        z.backward()
        return z, x.grad, y.grad

    return step


@case.implementation("torch")
def with_torch(x: Array, y: Array) -> Step:
    import torch

    x, y = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
    ones = torch.ones(4, 4)

    def step():
        x.grad = y.grad = None
        z = chain(x, y, torch.tanh)
        z.backward(ones)
        return z, x.grad, y.grad

    return step


@case.implementation("autograd")
def with_autograd(x: Array, y: Array) -> Step:
    import autograd.numpy as anp
    from autograd import make_vjp

    ones = np.ones((4, 4), np.float32)
    with_gradients = make_vjp(lambda x, y: chain(x, y, anp.tanh), argnum=(0, 1))

    def step():
        vjp, z = with_gradients(x, y)
        return (z, *vjp(ones))

    return step


@case.implementation("mxnet")
def with_mxnet(x: Array, y: Array) -> Step:
    import mxnet as mx

    x, y = mx.nd.array(x), mx.nd.array(y)
    x.attach_grad()
    y.attach_grad()

    def step():
        with mx.autograd.record():
            z = chain(x, y, mx.nd.tanh)
        z.backward()
        x.grad.wait_to_read()
        y.grad.wait_to_read()
        return z, x.grad, y.grad

    return step


def jax_step(x: Array, y: Array, wrap: Callable[[Builder], Builder]) -> Step:
    import jax
    import jax.numpy as jnp

    x, y, ones = jnp.asarray(x), jnp.asarray(y), jnp.ones((4, 4), jnp.float32)

    def value_and_gradients(x, y):
        z, vjp = jax.vjp(lambda x, y: chain(x, y, jnp.tanh), x, y)
        return (z, *vjp(ones))

    compute = wrap(value_and_gradients)
    return lambda: jax.block_until_ready(compute(x, y))


@case.implementation("jax eager", peer="jax")
def with_jax_eager(x: Array, y: Array) -> Step:
    return jax_step(x, y, wrap=lambda function: function)


@case.implementation("jax jit", peer="jax")
def with_jax_jit(x: Array, y: Array) -> Step:
    import jax

    return jax_step(x, y, wrap=jax.jit)


def with_torch_compile(x: Array, y: Array) -> Step:
    """A row of other cases: this one is of what runs as it is written."""
    import torch

    return torch_gradients(lambda x, y: chain(x, y, torch.tanh), (x, y), np.ones_like(x), compiled=True)


def value_and_gradients(x: Array, y: Array) -> tuple[Array, ...]:
    """The chain and its gradients by hand, with a fresh array for each result of NumPy."""
    befores, afters = [], []
    z = x
    for _ in range(REPEATS):
        befores.append(z)
        z = np.tanh(z * y + y)
        afters.append(z)
    g, gradient_y = np.ones_like(z), np.zeros_like(z)
    for number in range(REPEATS - 1, -1, -1):
        after = afters[number]
        g = g - g * after * after
        gradient_y += g
        gradient_y += g * befores[number]
        g = g * y
    return z, g, gradient_y


def by_hand(x: Array, y: Array) -> Step:
    return lambda: value_and_gradients(x, y)


def with_numba(x: Array, y: Array) -> Step:
    import numba

    compiled = numba.njit(value_and_gradients)
    return lambda: compiled(x, y)
