"""One step of SGD with momentum on fifty parameters, as of a small residual network: what an optimizer costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Case, Checked, Step

SHAPES = (((64,), 26), ((64, 64, 3, 3), 16), ((512, 512), 4), ((128, 64, 1, 1), 4))
RATE = 0.01
MOMENTUM = 0.9
STEPS_CHECKED = 3


def inputs() -> tuple[Array, ...]:
    """Fifty weights, then their gradients."""
    random = np.random.RandomState(0)
    shapes = [shape for shape, count in SHAPES for _ in range(count)]
    return tuple(random.normal(0, 0.1, shape).astype(np.float32) for shape in (*shapes, *shapes))


def halves(arrays: tuple[Array, ...]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """The weights and the gradients."""
    return arrays[: len(arrays) // 2], arrays[len(arrays) // 2 :]


def numpy_step(*arrays: Array) -> Step:
    """The step by hand, in place."""
    weights, gradients = halves(arrays)
    momenta = [np.zeros_like(weight) for weight in weights]
    works = {weight.shape: np.empty_like(weight) for weight in weights}

    def step():
        for weight, gradient, momentum in zip(weights, gradients, momenta, strict=True):
            work = works[weight.shape]
            np.multiply(gradient, RATE, work)
            momentum *= MOMENTUM
            momentum -= work
            weight += momentum
        return weights

    return step


def expected(*arrays: Array) -> tuple[Array, ...]:
    """The weights after the steps that are checked, in float64."""
    step = numpy_step(*(array.astype(np.float64) for array in arrays))
    for _ in range(STEPS_CHECKED - 1):
        step()
    return tuple(step())


case = Case(
    "one step of SGD with momentum on 50 parameters (64 to 512×512), float32",
    inputs,
    expected,
    targets={"torch": 1.0},
    check_calls=STEPS_CHECKED,
)

case.implementation("numpy")(numpy_step)


def mxnet_step(mx: Any, optimizer: Any, *arrays: Array) -> Checked:
    """The step in MXNet's interface, for MXNet and for minpy."""
    weights, gradients = ([mx.nd.array(array) for array in half] for half in halves(arrays))
    update = mx.optimizer.get_updater(optimizer)
    indices = list(range(len(weights)))

    def step():
        update(indices, gradients, weights)
        mx.nd.waitall()
        return weights

    return step, tuple


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return mxnet_step(mx, mx.optimizer.SGD(learning_rate=RATE, momentum=MOMENTUM), *arrays)


def torch_step(torch: Any, make: Any, *arrays: Array) -> Checked:
    """The step of an optimizer of PyTorch's."""
    weights, gradients = halves(arrays)
    parameters = [torch.tensor(array, requires_grad=True) for array in weights]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = torch.tensor(gradient)
    optimizer = make(parameters)

    def step():
        optimizer.step()
        return parameters

    return step, tuple


@case.implementation("torch")
def with_torch(*arrays: Array) -> Checked:
    import torch

    return torch_step(torch, lambda given: torch.optim.SGD(given, lr=RATE, momentum=MOMENTUM), *arrays)


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return mxnet_step(mx, mx.optimizer.SGD(learning_rate=RATE, momentum=MOMENTUM), *arrays)
