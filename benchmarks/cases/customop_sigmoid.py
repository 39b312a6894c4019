"""A sigmoid written by hand in NumPy, `@customop` beside what other libraries offer for it."""

from __future__ import annotations

import numpy as np

from harness.case import Array, Case, Step
from harness.sigmoids import expected, inputs, torch_step, tutorial_step

case = Case(
    "a hand-written NumPy sigmoid on 4x4 float32, recorded forward and backward",
    inputs,
    expected,
    targets={"torch Function": 0.5, "mxnet Custom": 0.02},
)


@case.implementation("minpy")
def with_minpy(x: Array) -> Step:
    import minpy as mx
    from minpy import customop

    @customop("numpy")
    def sigmoid(x):
        return 1.0 / (1.0 + np.exp(-x))

    sigmoid.def_grad(lambda y, x: lambda g: g * (1.0 - y) * y)

    x = mx.nd.array(x)
    x.attach_grad()

    def step():
        with mx.autograd.record():
            y = sigmoid(x)
        y.backward()
        return y, x.grad

    return step


@case.implementation("torch Function", peer="torch")
def with_torch(x: Array) -> Step:
    return torch_step(x)


@case.implementation("mxnet Custom", peer="mxnet")
def with_mxnet(x: Array) -> Step:
    import mxnet as mx

    return tutorial_step(mx, x)


@case.implementation("autograd primitive", peer="autograd")
def with_autograd(x: Array) -> Step:
    from autograd import make_vjp
    from autograd.extend import defvjp, primitive

    @primitive
    def sigmoid(x):
        return 1.0 / (1.0 + np.exp(-x))

    defvjp(sigmoid, lambda y, x: lambda g: g * (1.0 - y) * y)
    ones = np.ones_like(x)
    with_gradient = make_vjp(sigmoid)

    def step():
        vjp, y = with_gradient(x)
        return y, vjp(ones)

    return step
