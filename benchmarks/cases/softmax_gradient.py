"""Softmax of rows, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Case, Checked, Step
from harness.gradients import bound_gradients, hybrid_gradients, jax_gradients, torch_gradients

SHAPE = (1000, 1000)


def inputs() -> tuple[Array, ...]:
    random = np.random.RandomState(0)
    return tuple(random.normal(0, scale, SHAPE).astype(np.float32) for scale in (2, 1))


def by_hand(x: Array, head: Array) -> tuple[Array, ...]:
    y = np.exp(x - x.max(-1, keepdims=True))
    y /= y.sum(-1, keepdims=True)
    return y, y * (head - (head * y).sum(-1, keepdims=True))


def expected(*arrays: Array) -> tuple[Array, ...]:
    return by_hand(*(array.astype(np.float64) for array in arrays))


case = Case(
    "softmax of the rows of 1000x1000 float32, hybridized, forward and backward",
    inputs,
    expected,
    targets={"torch": 0.9, "torch compile": 0.9},
    check_calls=5,
)


@case.implementation("minpy")
def with_minpy(x: Array, head: Array) -> Checked:
    import minpy as mx

    return hybrid_gradients(mx, lambda F, x: F.softmax(x), (x,), head)


@case.implementation("minpy executor", peer="minpy")
def with_executor(x: Array, head: Array) -> Checked:
    import minpy as mx

    return bound_gradients(mx, mx.sym.softmax(mx.sym.Variable("x")), {"x": x}, head)


@case.implementation("torch")
def with_torch(x: Array, head: Array) -> Step:
    return torch_gradients(lambda x: x.softmax(-1), (x,), head)


@case.implementation("torch compile", peer="torch")
def with_torch_compile(x: Array, head: Array) -> Step:
    return torch_gradients(lambda x: x.softmax(-1), (x,), head, compiled=True)


@case.implementation("jax jit", peer="jax")
def with_jax(x: Array, head: Array) -> Step:
    import jax

    return jax_gradients(jax.nn.softmax, (x,), head)


@case.implementation("numpy")
def with_numpy(x: Array, head: Array) -> Step:
    return lambda: by_hand(x, head)


@case.implementation("mxnet")
def with_mxnet(x: Array, head: Array) -> Any:
    import mxnet as mx

    return hybrid_gradients(mx, lambda F, x: F.softmax(x), (x,), head)
