"""One addition, nothing recorded: what the array type itself costs."""

from __future__ import annotations

import numpy as np

from harness.case import Array, Case, Step

ADDITIONS = range(100)


def inputs() -> tuple[Array, ...]:
    random = np.random.RandomState(0)
    return tuple(random.uniform(-1, 1, (4, 4)).astype(np.float32) for _ in range(2))


def expected(x: Array, y: Array) -> tuple[Array, ...]:
    return (x + y,)


case = Case("x + y on 4x4 float32, not recorded", inputs, expected, targets={"torch": 0.8}, per=len(ADDITIONS))


def addition(x: Array, y: Array) -> Step:
    def step():
        for _ in ADDITIONS:
            z = x + y
        return z

    return step


@case.implementation("minpy")
def with_minpy(x: Array, y: Array) -> Step:
    import minpy as mx

    return addition(mx.nd.array(x), mx.nd.array(y))


@case.implementation("torch")
def with_torch(x: Array, y: Array) -> Step:
    import torch

    return addition(torch.tensor(x), torch.tensor(y))


@case.implementation("numpy")
def with_numpy(x: Array, y: Array) -> Step:
    return addition(x, y)


@case.implementation("mxnet")
def with_mxnet(x: Array, y: Array) -> Step:
    import mxnet as mx

    add = addition(mx.nd.array(x), mx.nd.array(y))

    def step():
        z = add()
        z.wait_to_read()
        return z

    return step


@case.implementation("jax")
def with_jax(x: Array, y: Array) -> Step:
    import jax.numpy as jnp

    add = addition(jnp.asarray(x), jnp.asarray(y))
    return lambda: add().block_until_ready()
