"""A chain of 30,000 operators: no recursion limit, and a cost for each operator that does not grow with the graph."""

from __future__ import annotations

import numpy as np

from cases.chain import chain, inputs
from cases.chain import expected as expected_of_chain
from harness.case import Array, Case, Step

REPEATS = 10_000


def expected(x: Array, y: Array) -> tuple[Array, ...]:
    return expected_of_chain(x, y, REPEATS)


case = Case(
    "one of 30,000 chained operators on 4x4 float32, recorded forward and backward",
    inputs,
    expected,
    per=3 * REPEATS,
)


@case.implementation("minpy")
def with_minpy(x: Array, y: Array) -> Step:
    import minpy as mx

    x, y = mx.nd.array(x), mx.nd.array(y)
    x.attach_grad()
    y.attach_grad()

    def step():
        with mx.autograd.record():
            z = chain(x, y, mx.nd.tanh, REPEATS)
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
        z = chain(x, y, torch.tanh, REPEATS)
        z.backward(ones)
        return z, x.grad, y.grad

    return step


@case.implementation("autograd")
def with_autograd(x: Array, y: Array) -> Step:
    import autograd.numpy as anp
    from autograd import make_vjp

    ones = np.ones((4, 4), np.float32)
    with_gradients = make_vjp(lambda x, y: chain(x, y, anp.tanh, REPEATS), argnum=(0, 1))

    def step():
        vjp, z = with_gradients(x, y)
        return (z, *vjp(ones))

    return step
