"""The chain of 60 operators as a function of NumPy's, compiled with its gradients by `minpy.compile`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import chain
from harness.case import Array, Case, Checked, Step

GRADIENTS = (0, 1)


def expected(x: Array, y: Array) -> tuple[Array, ...]:
    z, *gradients = chain.expected(x, y)
    return (z.sum(), *gradients)


def total(x: Array, y: Array) -> Any:
    return np.sum(chain.chain(x, y, np.tanh))


case = Case(
    "60 elementwise operators on 4x4 float32 and their sum, written in NumPy and compiled with gradients",
    chain.inputs,
    expected,
    targets={"jax jit": 0.3},
    check_calls=5,
)


def flat(result: Any) -> tuple[Array, ...]:
    value, gradients = result
    return (value, *gradients)


@case.implementation("minpy")
def with_minpy(x: Array, y: Array) -> Checked:
    import minpy

    function = minpy.compile(minpy.value_and_grad(total, argnum=GRADIENTS))
    return lambda: function(x, y), flat


@case.implementation("minpy eager", peer="minpy")
def with_minpy_eager(x: Array, y: Array) -> Checked:
    import minpy

    function = minpy.value_and_grad(total, argnum=GRADIENTS)
    return lambda: function(x, y), flat


@case.implementation("jax jit", peer="jax")
def with_jax(x: Array, y: Array) -> Checked:
    import jax
    from jax import numpy as jnp

    function = jax.jit(jax.value_and_grad(lambda x, y: jnp.sum(chain.chain(x, y, jnp.tanh)), argnums=GRADIENTS))
    x, y = jnp.asarray(x), jnp.asarray(y)
    return lambda: jax.block_until_ready(function(x, y)), flat


def with_torch_step(x: Array, y: Array, compiled: bool) -> Step:
    import torch

    def function(x, y):
        return chain.chain(x, y, torch.tanh).sum()

    x, y = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
    called = torch.compile(function) if compiled else function

    def step():
        x.grad = y.grad = None
        z = called(x, y)
        z.backward()
        return z, x.grad, y.grad

    return step


@case.implementation("torch")
def with_torch(x: Array, y: Array) -> Step:
    return with_torch_step(x, y, compiled=False)


@case.implementation("torch compile", peer="torch")
def with_torch_compile(x: Array, y: Array) -> Step:
    return with_torch_step(x, y, compiled=True)


@case.implementation("numba")
def with_numba(x: Array, y: Array) -> Step:
    step = chain.with_numba(x, y)

    def summed():
        z, *gradients = step()
        return (z.sum(), *gradients)

    return summed


@case.implementation("numpy")
def by_hand(x: Array, y: Array) -> Step:
    def summed():
        z, *gradients = chain.value_and_gradients(x, y)
        return (z.sum(), *gradients)

    return summed
