"""A batch of `Module.fit`, beside the same batch through the bound executor in a loop written by hand."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from cases import mlp_step
from cases.mlp_step import BATCH, MOMENTUM, RATE, SIZES
from harness.case import Array, Case, Step

BATCHES = 24

case = Case(
    "a batch of Module.fit (with its metric, and its share of the end of an epoch), 784-512-512-10 perceptron, batch "
    "128, float32, SGD with momentum; executor: forward, backward, and an updater for each array",
    mlp_step.inputs,
    targets={"executor": 1.05, "mxnet": 1.0},
    per=BATCHES,
    check_calls=0,
)

OPTIONS = {"learning_rate": RATE, "momentum": MOMENTUM, "rescale_grad": 1 / BATCH}


def network_of(sym: Any) -> Any:
    """The perceptron, with its loss."""
    hidden = sym.Variable("data")
    for number, width in enumerate(SIZES[1:], 1):
        hidden = sym.FullyConnected(hidden, num_hidden=width, name=f"fc{number}")
        if number < len(SIZES) - 1:
            hidden = sym.Activation(hidden, act_type="relu")
    return sym.SoftmaxOutput(hidden, sym.Variable("softmax_label"), name="softmax")


def parameters_of(mx: Any, network: Any, arrays: tuple[Array, ...]) -> dict[str, Any]:
    names = [name for name in network.list_arguments() if name not in ("data", "softmax_label")]
    return {name: mx.nd.array(array) for name, array in zip(names, arrays, strict=True)}


def data_of(mx: Any, images: Array, label: Array) -> Any:
    return mx.io.NDArrayIter(np.concatenate([images] * BATCHES), np.concatenate([label] * BATCHES), BATCH)


def fitted(mx: Any, images: Array, label: Array, *arrays: Array) -> Step:
    """An epoch of `fit`, for MXNet and for minpy."""
    silent = logging.getLogger("module_fit_step")
    silent.setLevel(logging.CRITICAL)
    network = network_of(mx.sym)
    module = mx.mod.Module(network, logger=silent)
    data = data_of(mx, images, label)
    module.bind(data.provide_data, data.provide_label)
    module.init_params(arg_params=parameters_of(mx, network, arrays), aux_params={})
    module.init_optimizer(optimizer_params=OPTIONS)

    def step():
        module.fit(data, num_epoch=1, force_init=False)
        mx.nd.waitall()
        return module

    return step


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Step:
    import minpy as mx

    return fitted(mx, *arrays)


@case.implementation("executor", peer="minpy")
def by_hand(images: Array, label: Array, *arrays: Array) -> Step:
    import minpy as mx

    network = network_of(mx.sym)
    parameters = parameters_of(mx, network, arrays)
    gradients = {name: mx.nd.zeros(array.shape) for name, array in parameters.items()}
    inputs = {"data": mx.nd.zeros((BATCH, SIZES[0])), "softmax_label": mx.nd.zeros(BATCH)}
    executor = network.bind(mx.cpu(), {**inputs, **parameters}, gradients)
    update = mx.optimizer.get_updater(mx.optimizer.create("sgd", **OPTIONS))
    data = data_of(mx, images, label)
    rows = list(enumerate(zip(gradients.values(), parameters.values(), strict=True)))

    def step():
        data.reset()
        for batch in data:
            executor.forward(is_train=True, data=batch.data[0], softmax_label=batch.label[0])
            executor.backward()
            for index, (gradient, weight) in rows:
                update(index, gradient, weight)
        return executor

    return step


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Step:
    import mxnet as mx

    return fitted(mx, *arrays)
