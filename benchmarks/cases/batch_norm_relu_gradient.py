"""Batch normalization in training and relu, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Case, Checked, Step
from harness.gradients import block_gradients, bound_gradients, jax_gradients, torch_gradients

SHAPE = (32, 64, 32, 32)
AXES = (0, 2, 3)
EPSILON = 1e-5


def inputs() -> tuple[Array, ...]:
    random = np.random.RandomState(0)
    count = SHAPE[1]
    arrays = (
        random.normal(0.5, 2, SHAPE),
        random.normal(1, 0.2, count),
        random.normal(0, 1, count),
        random.normal(0, 1, SHAPE),
    )
    return tuple(array.astype(np.float32) for array in arrays)


def by_hand(x: Array, gain: Array, shift: Array, head: Array) -> tuple[Array, ...]:
    size, gain, shift = x.size // x.shape[1], gain[:, None, None], shift[:, None, None]
    centred = x - x.mean(AXES, keepdims=True)
    scale = 1 / np.sqrt((centred * centred).mean(AXES, keepdims=True) + EPSILON)
    normal = centred * scale
    y = np.maximum(normal * gain + shift, 0)
    g = head * (y > 0)
    g_gain, g_shift = (g * normal).sum(AXES, keepdims=True), g.sum(AXES, keepdims=True)
    g_x = gain * scale * (g - g_shift / size - normal * (g_gain / size))
    return y, g_x, g_gain.reshape(-1), g_shift.reshape(-1)


def expected(*arrays: Array) -> tuple[Array, ...]:
    return by_hand(*(array.astype(np.float64) for array in arrays))


def off_the_edge(*arrays: Array) -> tuple[Array, ...]:
    """The inputs with gradients of 0 where rounding decides what relu lets through."""
    x, gain, shift, head = (array.astype(np.float64) for array in arrays)
    deviation = np.sqrt(x.var(AXES, keepdims=True) + EPSILON)
    before = (x - x.mean(AXES, keepdims=True)) / deviation * gain[:, None, None] + shift[:, None, None]
    return (*arrays[:3], np.where(np.abs(before) < 1e-4, 0, head).astype(np.float32))


case = Case(
    "batch normalization in training and relu, 32x64x32x32 float32, hybridized, forward and backward",
    lambda: off_the_edge(*inputs()),
    expected,
    targets={"torch": 0.9, "torch compile": 0.9},
    check_calls=5,
    rtol=1e-3,
    atol=1e-3,
)


def block_step(mx: Any, *arrays: Array) -> Checked:
    """The layers in Gluon, for MXNet and for minpy."""
    net = mx.gluon.nn.HybridSequential()
    with net.name_scope():
        net.add(mx.gluon.nn.BatchNorm(epsilon=EPSILON), mx.gluon.nn.Activation("relu"))
    return block_gradients(mx, net, arrays[:1], arrays[1:3], arrays[3])


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return block_step(mx, *arrays)


@case.implementation("minpy executor", peer="minpy")
def with_executor(*arrays: Array) -> Checked:
    import minpy as mx

    names = ("x", "bn_gamma", "bn_beta")
    normal = mx.sym.BatchNorm(mx.sym.Variable("x"), fix_gamma=False, eps=EPSILON, name="bn")
    symbol = mx.sym.Activation(normal, act_type="relu")
    states = np.zeros(SHAPE[1], np.float32), np.ones(SHAPE[1], np.float32)
    return bound_gradients(mx, symbol, dict(zip(names, arrays[:3], strict=True)), arrays[3], states)


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return block_step(mx, *arrays)


def with_torch_step(compiled: bool, *arrays: Array) -> Step:
    import torch
    from torch.nn import functional

    mean, variance = torch.zeros(SHAPE[1]), torch.ones(SHAPE[1])

    def function(x, gain, shift):
        return functional.relu(functional.batch_norm(x, mean, variance, gain, shift, training=True, eps=EPSILON))

    return torch_gradients(function, arrays[:3], arrays[3], compiled)


@case.implementation("torch")
def with_torch(*arrays: Array) -> Step:
    return with_torch_step(False, *arrays)


@case.implementation("torch compile", peer="torch")
def with_torch_compile(*arrays: Array) -> Step:
    return with_torch_step(True, *arrays)


@case.implementation("jax jit", peer="jax")
def with_jax(*arrays: Array) -> Step:
    import jax

    def function(x, gain, shift):
        centred = x - x.mean(AXES, keepdims=True)
        normal = centred / ((centred * centred).mean(AXES, keepdims=True) + EPSILON) ** 0.5
        return jax.nn.relu(normal * gain[:, None, None] + shift[:, None, None])

    return jax_gradients(function, arrays[:3], arrays[3])


@case.implementation("numpy")
def with_numpy(*arrays: Array) -> Step:
    return lambda: by_hand(*arrays)
