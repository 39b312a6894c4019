"""One step of Adam on fifty parameters, as of a small residual network: what an optimizer costs."""

from __future__ import annotations

import math

import numpy as np

from cases import sgd_update
from cases.sgd_update import STEPS_CHECKED, halves, mxnet_step, torch_step
from harness.case import Array, Case, Checked, Step

RATE = 0.001
BETA1, BETA2 = 0.9, 0.999
EPSILON = 1e-8


def inputs() -> tuple[Array, ...]:
    """Fifty weights, then their gradients: away from zero, where the libraries put epsilon in different places."""
    weights, gradients = halves(sgd_update.inputs())
    return (*weights, *(np.copysign(np.maximum(np.abs(one), 0.01), one) for one in gradients))


def numpy_step(*arrays: Array) -> Step:
    """The step by hand, in place."""
    weights, gradients = halves(arrays)
    means, squares = ([np.zeros_like(weight) for weight in weights] for _ in range(2))
    works = {weight.shape: np.empty_like(weight) for weight in weights}
    count = 0

    def step():
        nonlocal count
        count += 1
        rate = RATE * math.sqrt(1 - BETA2**count) / (1 - BETA1**count)
        for weight, gradient, mean, square in zip(weights, gradients, means, squares, strict=True):
            work = works[weight.shape]
            np.multiply(gradient, 1 - BETA1, work)
            mean *= BETA1
            mean += work
            np.multiply(gradient, gradient, work)
            work *= 1 - BETA2
            square *= BETA2
            square += work
            np.sqrt(square, work)
            work += EPSILON
            np.divide(mean, work, work)
            work *= rate
            weight -= work
        return weights

    return step


def expected(*arrays: Array) -> tuple[Array, ...]:
    """The weights after the steps that are checked, in float64."""
    step = numpy_step(*(array.astype(np.float64) for array in arrays))
    for _ in range(STEPS_CHECKED - 1):
        step()
    return tuple(step())


case = Case(
    "one step of Adam on 50 parameters (64 to 512×512), float32",
    inputs,
    expected,
    targets={"torch": 1.0},
    check_calls=STEPS_CHECKED,
)

case.implementation("numpy")(numpy_step)


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return mxnet_step(mx, mx.optimizer.Adam(learning_rate=RATE), *arrays)


@case.implementation("torch")
def with_torch(*arrays: Array) -> Checked:
    import torch

    return torch_step(torch, lambda given: torch.optim.Adam(given, lr=RATE), *arrays)


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return mxnet_step(mx, mx.optimizer.Adam(learning_rate=RATE), *arrays)
