"""Inference of a ResNet-18 that came as an ONNX file, one image: imported by minpy, and run by onnxruntime."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from harness.case import Array, Case, Checked

SIDE = 224


def inputs() -> tuple[Array, ...]:
    return (np.random.RandomState(0).standard_normal((1, 3, SIDE, SIDE)).astype("float32"),)


def network(image: Array) -> Any:
    """The network of the zoo, with drawn weights, running statistics among them."""
    import minpy as mx

    mx.random.seed(0)
    net = mx.gluon.model_zoo.vision.resnet18_v1()
    net.initialize(mx.init.Xavier())
    net(mx.nd.array(image))
    draw = np.random.RandomState(1)
    for name, parameter in net.collect_params().items():
        if name.endswith(("running_mean", "running_var", "gamma", "beta")):
            parameter.set_data(mx.nd.array(draw.uniform(0.5, 1.5, parameter.shape).astype("float32")))
    return net


def model_file(image: Array) -> str:
    """The network in ONNX, written once a process."""
    import tempfile

    import minpy as mx

    path = os.path.join(tempfile.mkdtemp(), "resnet18.onnx")
    network(image).export_onnx(path, mx.nd.array(image))
    return path


def expected(image: Array) -> tuple[Array, ...]:
    import minpy as mx

    return (network(image)(mx.nd.array(image)).asnumpy(),)


case = Case(
    f"inference of resnet18_v1 from an ONNX file, batch 1, {SIDE}x{SIDE} float32",
    inputs,
    expected,
    targets={"onnxruntime": 1.3},
    rtol=1e-3,
    atol=1e-3,
    check_calls=4,
)


def gluon_step(net: Any, image: Array) -> Checked:
    import minpy as mx

    net.hybridize(static_alloc=True, static_shape=True)
    image = mx.nd.array(image)

    def step() -> Any:
        y = net(image)
        mx.nd.waitall()
        return y

    return step, lambda y: (y.asnumpy(),)


@case.implementation("minpy")
def with_minpy(image: Array) -> Checked:
    import minpy as mx

    return gluon_step(mx.onnx.import_to_gluon(model_file(image)), image)


@case.implementation("minpy, not exported", peer="minpy")
def with_the_network_itself(image: Array) -> Checked:
    return gluon_step(network(image), image)


@case.implementation("onnxruntime", peer="minpy")
def with_onnxruntime(image: Array) -> Checked:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS", "0"))
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model_file(image), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda: session.run(None, {name: image})
