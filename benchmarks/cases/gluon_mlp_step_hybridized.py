"""A training step of the perceptron in Gluon, hybridized: beside the same step written by hand in NumPy."""

from __future__ import annotations

from cases import gluon_mlp_step, mlp_step
from cases.gluon_mlp_step import gluon_step
from harness.case import Array, Case, Checked

case = Case(
    "one training step of a 784-512-512-10 perceptron in Gluon, hybridized, batch 128, float32, SGD with momentum",
    mlp_step.inputs,
    mlp_step.expected,
    targets={"numpy": 1.0, "numpy products": 1.1},
    check_calls=mlp_step.STEPS_CHECKED,
)

case.implementation("numpy")(mlp_step.numpy_step)
case.implementation("numpy products", peer="numpy", checked=False)(mlp_step.numpy_products)
case.implementation("torch products", peer="torch", checked=False)(mlp_step.torch_products)
case.implementation("torch")(gluon_mlp_step.with_torch)
case.implementation("torch compile", peer="torch")(gluon_mlp_step.with_torch_compile)
case.implementation("jax jit", peer="jax")(gluon_mlp_step.with_jax)


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return gluon_step(mx, True, *arrays)


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return gluon_step(mx, True, *arrays)
