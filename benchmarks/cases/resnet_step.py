"""A training step of a bound ResNet-18, forward and backward, without the update."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Case, Step
from harness.resnet import resnet18

BATCH, CHANNELS, SIDE = 32, 3, 32


def inputs() -> tuple[Array, ...]:
    random = np.random.RandomState(0)
    images = random.normal(0, 1, (BATCH, CHANNELS, SIDE, SIDE)).astype(np.float32)
    return images, random.randint(0, 10, BATCH).astype(np.float32)


case = Case("forward and backward of a bound ResNet-18, batch 32, 32x32 float32", inputs)


def bound_step(mx: Any, images: Array, label: Array) -> Step:
    network = resnet18(mx.sym)
    given = ("data", "softmax_label")
    requests = {name: "null" if name in given else "write" for name in network.list_arguments()}
    executor = network.simple_bind(mx.cpu(), grad_req=requests, data=images.shape, softmax_label=label.shape)
    random = np.random.RandomState(1)
    for name, array in executor.arg_dict.items():
        if name not in given:
            shape = array.shape
            array[:] = mx.nd.array(np.ones(shape) if name.endswith("gamma") else random.normal(0, 0.05, shape))
    executor.arg_dict["data"][:] = mx.nd.array(images)
    executor.arg_dict["softmax_label"][:] = mx.nd.array(label)

    def step():
        executor.forward(is_train=True)
        executor.backward()
        mx.nd.waitall()
        return executor.outputs[0]

    return step


@case.implementation("minpy")
def with_minpy(images: Array, label: Array) -> Step:
    import minpy as mx

    return bound_step(mx, images, label)


@case.implementation("mxnet")
def with_mxnet(images: Array, label: Array) -> Step:
    import mxnet as mx

    return bound_step(mx, images, label)
