"""One training step of a perceptron: what a whole network costs beside the same step written by hand in NumPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from harness.case import Array, Case, Checked, Step

SIZES = (784, 512, 512, 10)
BATCH = 128
RATE = 0.01
MOMENTUM = 0.9
STEPS_CHECKED = 5


def inputs() -> tuple[Array, ...]:
    """Images, labels, and the weight and bias of each layer."""
    random = np.random.RandomState(0)
    images = random.normal(0, 1, (BATCH, SIZES[0])).astype(np.float32)
    label = random.randint(0, SIZES[-1], BATCH)
    parameters = []
    for fan_in, fan_out in pairwise(SIZES):
        parameters.append(random.normal(0, fan_in**-0.5, (fan_out, fan_in)).astype(np.float32))
        parameters.append(random.normal(0, 0.1, fan_out).astype(np.float32))
    return (images, label, *parameters)


def numpy_step(images: Array, label: Array, *parameters: Array) -> Step:
    """The step by hand: in place wherever that saves an array."""
    w1, b1, w2, b2, w3, b3 = parameters
    gradients = [np.empty_like(array) for array in parameters]
    velocities = [np.zeros_like(array) for array in parameters]
    dw1, db1, dw2, db2, dw3, db3 = gradients
    rows = np.arange(len(label))

    def step():
        h1 = images @ w1.T
        h1 += b1
        np.maximum(h1, 0, out=h1)
        h2 = h1 @ w2.T
        h2 += b2
        np.maximum(h2, 0, out=h2)
        p = h2 @ w3.T
        p += b3

        p -= p.max(axis=1, keepdims=True)
        np.exp(p, out=p)
        p /= p.sum(axis=1, keepdims=True)
        loss = -np.log(p[rows, label]).mean()

        p[rows, label] -= 1
        p /= len(label)
        np.matmul(p.T, h2, out=dw3)
        p.sum(axis=0, out=db3)
        dh2 = p @ w3
        dh2 *= h2 > 0
        np.matmul(dh2.T, h1, out=dw2)
        dh2.sum(axis=0, out=db2)
        dh1 = dh2 @ w2
        dh1 *= h1 > 0
        np.matmul(dh1.T, images, out=dw1)
        dh1.sum(axis=0, out=db1)

        for parameter, gradient, velocity in zip(parameters, gradients, velocities, strict=True):
            gradient *= RATE
            velocity *= MOMENTUM
            velocity -= gradient
            parameter += velocity
        return (loss, *parameters)

    return step


def expected(images: Array, *others: Array) -> tuple[Array, ...]:
    """The mean loss of the last step checked, and the parameters after it, in float64."""
    label, *parameters = others
    step = numpy_step(images.astype(np.float64), label, *(array.astype(np.float64) for array in parameters))
    for _ in range(STEPS_CHECKED - 1):
        step()
    return step()


case = Case(
    "one training step of a 784-512-512-10 perceptron, batch 128, float32, SGD with momentum",
    inputs,
    expected,
    targets={"numpy": 1.1, "torch": 1.0},
    check_calls=STEPS_CHECKED,
)

case.implementation("numpy")(numpy_step)


def numpy_products(images: Array, label: Array, *parameters: Array) -> Step:
    """Only the eight products of a step: what other cases are measured by."""
    w1, _, w2, _, w3, _ = parameters
    h1, h2 = images @ w1.T, images @ w1.T
    p = h2 @ w3.T

    def step():
        return images @ w1.T, h1 @ w2.T, h2 @ w3.T, p.T @ h2, p @ w3, h2.T @ h1, h2 @ w2, h1.T @ images

    return step


def torch_products(*arrays: Array) -> Step:
    """The same products in PyTorch."""
    import torch

    return numpy_products(*map(torch.tensor, arrays))


def mxnet_step(mx: Any, images: Array, label: Array, *arrays: Array) -> Checked:
    """The step in MXNet's interface, for MXNet and for minpy."""
    nd = mx.nd
    images, label = nd.array(images), nd.array(label)
    parameters = [nd.array(array) for array in arrays]
    velocities = [nd.zeros(array.shape) for array in arrays]
    for parameter in parameters:
        parameter.attach_grad()
    w1, b1, w2, b2, w3, b3 = parameters

    def step():
        with mx.autograd.record():
            h1 = nd.relu(nd.FullyConnected(images, w1, b1, num_hidden=SIZES[1]))
            h2 = nd.relu(nd.FullyConnected(h1, w2, b2, num_hidden=SIZES[2]))
            out = nd.FullyConnected(h2, w3, b3, num_hidden=SIZES[3])
            loss = nd.softmax_cross_entropy(out, label)
        loss.backward()
        for parameter, velocity in zip(parameters, velocities, strict=True):
            nd.sgd_mom_update(
                parameter,
                parameter.grad,
                velocity,
                lr=RATE,
                momentum=MOMENTUM,
                rescale_grad=1 / BATCH,
                out=parameter,
            )
        mx.nd.waitall()
        return loss

    return step, lambda loss: (loss / BATCH, *parameters)


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return mxnet_step(mx, *arrays)


@case.implementation("torch")
def with_torch(images: Array, label: Array, *arrays: Array) -> Checked:
    import torch
    from torch.nn import functional

    images, label = torch.tensor(images), torch.tensor(label)
    parameters = [torch.tensor(array, requires_grad=True) for array in arrays]
    w1, b1, w2, b2, w3, b3 = parameters
    optimizer = torch.optim.SGD(parameters, lr=RATE, momentum=MOMENTUM)

    def step():
        optimizer.zero_grad()
        h1 = functional.relu(functional.linear(images, w1, b1))
        h2 = functional.relu(functional.linear(h1, w2, b2))
        loss = functional.cross_entropy(functional.linear(h2, w3, b3), label)
        loss.backward()
        optimizer.step()
        return loss

    return step, lambda loss: (loss, *parameters)


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return mxnet_step(mx, *arrays)
