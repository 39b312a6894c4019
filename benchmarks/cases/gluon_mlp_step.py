"""A training step of the perceptron in Gluon, run as it is written: layers, a loss, `backward`, and a Trainer."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from cases import mlp_step
from cases.mlp_step import MOMENTUM, RATE, SIZES
from harness.case import Array, Case, Checked
from harness.training import gluon_training, torch_training

case = Case(
    "one training step of a 784-512-512-10 perceptron in Gluon, eager, batch 128, float32, SGD with momentum",
    mlp_step.inputs,
    mlp_step.expected,
    targets={"torch": 1.0, "mxnet": 1.0},
    check_calls=mlp_step.STEPS_CHECKED,
)


def gluon_step(mx: Any, hybridized: bool, images: Array, label: Array, *arrays: Array) -> Checked:
    """The step in Gluon, for MXNet and for minpy."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    with net.name_scope():
        for width in SIZES[1:-1]:
            net.add(nn.Dense(width, activation="relu"))
        net.add(nn.Dense(SIZES[-1]))
    return gluon_training(mx, net, images, label, arrays, hybridized)


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return gluon_step(mx, False, *arrays)


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return gluon_step(mx, False, *arrays)


def torch_step(compiled: bool, images: Array, label: Array, *arrays: Array) -> Checked:
    from torch import nn

    layers: list[Any] = []
    for fan_in, fan_out in pairwise(SIZES):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    return torch_training(nn.Sequential(*layers[:-1]), images, label, arrays, compiled=compiled)


@case.implementation("torch")
def with_torch(*arrays: Array) -> Checked:
    return torch_step(False, *arrays)


def with_torch_compile(*arrays: Array) -> Checked:
    """A row of the hybridized case."""
    return torch_step(True, *arrays)


@case.implementation("jax jit", peer="jax")
def with_jax(images: Array, label: Array, *arrays: Array) -> Checked:
    import jax
    from jax import numpy as jnp

    images, label = jnp.asarray(images), jnp.asarray(label)

    def loss_of(parameters, images, label):
        hidden = images
        for number in range(0, len(parameters), 2):
            hidden = jnp.maximum(hidden, 0) if number else hidden
            hidden = hidden @ parameters[number].T + parameters[number + 1]
        return -jnp.take_along_axis(jax.nn.log_softmax(hidden), label[:, None], axis=1).mean()

    @jax.jit
    def update(parameters, velocities, images, label):
        loss, gradients = jax.value_and_grad(loss_of)(parameters, images, label)
        velocities = [MOMENTUM * v - RATE * g for v, g in zip(velocities, gradients, strict=True)]
        return loss, [p + v for p, v in zip(parameters, velocities, strict=True)], velocities

    state = [[jnp.asarray(array) for array in arrays], [jnp.zeros(array.shape, np.float32) for array in arrays]]

    def step():
        loss, *state[:] = update(*state, images, label)
        jax.block_until_ready(state)
        return loss

    return step, lambda loss: (loss, *state[0])


case.implementation("numpy")(mlp_step.numpy_step)
