"""The perceptron's training step as a bound symbol, beside the same step written by hand in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import mlp_step
from cases.mlp_step import BATCH, MOMENTUM, RATE, SIZES
from harness.case import Array, Case, Checked, Step

case = Case(
    "one training step of a 784-512-512-10 perceptron as a bound symbol, batch 128, float32, SGD with momentum",
    mlp_step.inputs,
    mlp_step.expected,
    targets={"numpy": 1.05, "numpy products": 1.1},
    check_calls=mlp_step.STEPS_CHECKED,
)


@case.implementation("numpy")
def by_hand(*arrays: Array) -> Step:
    return mlp_step.numpy_step(*arrays)


def bound_step(mx: Any, images: Array, label: Array, *arrays: Array) -> Checked:
    """The step through `bind`, for MXNet and for minpy."""
    sym, nd = mx.sym, mx.nd
    hidden = sym.Variable("data")
    for number, width in enumerate(SIZES[1:], 1):
        hidden = sym.FullyConnected(hidden, num_hidden=width, name=f"fc{number}")
        if number < len(SIZES) - 1:
            hidden = sym.Activation(hidden, act_type="relu")
    network = sym.SoftmaxOutput(hidden, sym.Variable("label"), name="softmax")
    names = [name for name in network.list_arguments() if name not in ("data", "label")]
    parameters = {name: nd.array(array) for name, array in zip(names, arrays, strict=True)}
    gradients = {name: nd.zeros(array.shape) for name, array in parameters.items()}
    velocities = {name: nd.zeros(array.shape) for name, array in parameters.items()}
    executor = network.bind(mx.cpu(), {"data": nd.array(images), "label": nd.array(label), **parameters}, gradients)

    def step():
        executor.forward(is_train=True)
        executor.backward()
        for name in names:
            nd.sgd_mom_update(
                parameters[name],
                gradients[name],
                velocities[name],
                lr=RATE,
                momentum=MOMENTUM,
                rescale_grad=1 / BATCH,
                out=parameters[name],
            )
        nd.waitall()
        return executor.outputs[0]

    def view(probabilities: Array) -> tuple[Array, ...]:
        chosen = probabilities.asnumpy()[np.arange(len(label)), label]
        return (np.float32(-np.log(chosen).mean()), *(parameters[name] for name in names))

    return step, view


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return bound_step(mx, *arrays)


case.implementation("numpy products", peer="numpy", checked=False)(mlp_step.numpy_products)
case.implementation("torch products", peer="torch", checked=False)(mlp_step.torch_products)
case.implementation("torch")(mlp_step.with_torch)


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return bound_step(mx, *arrays)
