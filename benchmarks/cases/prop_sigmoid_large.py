"""The sigmoid of MXNet's tutorial on a large array, beside its two bare NumPy expressions."""

from __future__ import annotations

import numpy as np

from harness import sigmoids
from harness.case import Array, Case, Step


def inputs() -> tuple[Array, ...]:
    return sigmoids.inputs((1024, 1024))


case = Case(
    "the CustomOp sigmoid of MXNet's tutorial on 1024x1024 float32, recorded forward and backward",
    inputs,
    sigmoids.expected,
    targets={"numpy": 1.1},
)


@case.implementation("minpy")
def with_minpy(x: Array) -> Step:
    import minpy as mx

    return sigmoids.tutorial_step(mx, x)


@case.implementation("numpy")
def with_numpy(x: Array) -> Step:
    dy = np.ones_like(x)

    def step():
        y = 1.0 / (1.0 + np.exp(-x))
        dx = dy * (1.0 - y) * y
        return y, dx

    return step


@case.implementation("mxnet")
def with_mxnet(x: Array) -> Step:
    import mxnet as mx

    return sigmoids.tutorial_step(mx, x)


@case.implementation("torch Function", peer="torch")
def with_torch(x: Array) -> Step:
    return sigmoids.torch_step(x)
