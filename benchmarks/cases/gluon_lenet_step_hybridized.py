"""A training step of LeNet in Gluon, hybridized."""

from __future__ import annotations

from cases import gluon_lenet_step
from cases.gluon_lenet_step import STEPS_CHECKED, expected, gluon_step, inputs
from harness.case import Array, Case, Checked

case = Case(
    "one training step of LeNet (20 and 50 filters, 500 units) in Gluon, hybridized, batch 64, 28x28 float32, SGD with "
    "momentum",
    inputs,
    expected,
    targets={"mxnet": 1.0, "torch": 0.6},
    check_calls=STEPS_CHECKED,
    rtol=1e-3,
    atol=1e-5,
)

case.implementation("torch")(gluon_lenet_step.with_torch)
case.implementation("torch compile", peer="torch")(gluon_lenet_step.with_torch_compile)


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return gluon_step(mx, True, *arrays)


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return gluon_step(mx, True, *arrays)
