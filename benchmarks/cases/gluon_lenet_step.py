"""A training step of LeNet in Gluon, run as it is written."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.lenet_stages import BATCH, FILTERS, stage, stage_backward
from harness.case import Array, Case, Checked
from harness.training import MOMENTUM, RATE, gluon_training, torch_training

HIDDEN, CLASSES = 500, 10
STEPS_CHECKED = 4
SHAPES = (
    (FILTERS[0], 1, 5, 5),
    (FILTERS[0],),
    (FILTERS[1], FILTERS[0], 5, 5),
    (FILTERS[1],),
    (HIDDEN, FILTERS[1] * 4 * 4),
    (HIDDEN,),
    (CLASSES, HIDDEN),
    (CLASSES,),
)


def inputs() -> tuple[Array, ...]:
    """Images, labels, and the weight and bias of each layer."""
    random = np.random.RandomState(0)
    images = random.normal(0, 1, (BATCH, 1, 28, 28)).astype(np.float32)
    label = random.randint(0, CLASSES, BATCH)
    scales = [0.1 if len(shape) == 1 else np.prod(shape[1:]) ** -0.5 for shape in SHAPES]
    arrays = [random.normal(0, scale, shape) for scale, shape in zip(scales, SHAPES, strict=True)]
    return (images, label, *(array.astype(np.float32) for array in arrays))


def expected(*arrays: Array) -> tuple[Array, ...]:
    """The mean loss of the last step checked, and the parameters after it, by einsum in float64."""
    images, label, *parameters = arrays
    x, *parameters = (array.astype(np.float64) for array in (images, *parameters))
    velocities = [np.zeros_like(array) for array in parameters]
    rows = np.arange(BATCH)
    for _ in range(STEPS_CHECKED):
        w1, b1, w2, b2, w3, b3, w4, b4 = parameters
        y1, best1, h1 = stage(x, w1, b1)
        y2, best2, h2 = stage(h1, w2, b2)
        flat = h2.reshape(BATCH, -1)
        h3 = np.maximum(flat @ w3.T + b3, 0)
        p = h3 @ w4.T + b4
        p = np.exp(p - p.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        loss = -np.log(p[rows, label]).mean()

        p[rows, label] -= 1
        p /= BATCH
        dh3 = p @ w4 * (h3 > 0)
        dh1, dw2, db2 = stage_backward((dh3 @ w3).reshape(h2.shape), h1, w2, y2, best2)
        _, dw1, db1 = stage_backward(dh1, x, w1, y1, best1)
        gradients = [dw1, db1, dw2, db2, dh3.T @ flat, dh3.sum(0), p.T @ h3, p.sum(0)]
        velocities = [MOMENTUM * v - RATE * g for v, g in zip(velocities, gradients, strict=True)]
        parameters = [w + v for w, v in zip(parameters, velocities, strict=True)]
    return (loss, *parameters)


case = Case(
    "one training step of LeNet (20 and 50 filters, 500 units) in Gluon, eager, batch 64, 28x28 float32, SGD with "
    "momentum",
    inputs,
    expected,
    targets={"torch": 1.3},
    check_calls=STEPS_CHECKED,
    rtol=1e-3,
    atol=1e-5,
)


def gluon_lenet(mx: Any) -> Any:
    """The network in the layers of MXNet or of minpy: `mx` is the library."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    with net.name_scope():
        for count in FILTERS:
            net.add(nn.Conv2D(count, kernel_size=5, activation="relu"), nn.MaxPool2D(pool_size=2, strides=2))
        net.add(nn.Dense(HIDDEN, activation="relu"), nn.Dense(CLASSES))
    return net


def torch_lenet() -> Any:
    """The network as a PyTorch module."""
    from torch import nn

    return nn.Sequential(
        *(nn.Conv2d(1, FILTERS[0], 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(*FILTERS, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        *(nn.Linear(FILTERS[1] * 16, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES)),
    )


def gluon_step(mx: Any, hybridized: bool, images: Array, label: Array, *arrays: Array) -> Checked:
    """The step in Gluon, for MXNet and for minpy."""
    return gluon_training(mx, gluon_lenet(mx), images, label, arrays, hybridized)


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return gluon_step(mx, False, *arrays)


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return gluon_step(mx, False, *arrays)


def torch_step(compiled: bool, images: Array, label: Array, *arrays: Array) -> Checked:
    # In the layouts that Inductor chooses, the gradients of this network's convolutions are zeros (PyTorch 2.13.0).
    options = {"layout_optimization": False}
    return torch_training(torch_lenet(), images, label, arrays, compiled=compiled, options=options)


@case.implementation("torch")
def with_torch(*arrays: Array) -> Checked:
    return torch_step(False, *arrays)


def with_torch_compile(*arrays: Array) -> Checked:
    """A row of the hybridized case."""
    return torch_step(True, *arrays)
