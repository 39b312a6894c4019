"""A training step of the perceptron in Gluon, hybridized, in mixed precision: what that costs beside float32."""

from __future__ import annotations

from cases import mlp_step
from cases.gluon_mlp_step import gluon_step
from harness.case import Array, Case, Checked

case = Case(
    "one training step of a 784-512-512-10 perceptron in Gluon, hybridized, batch 128, in mixed precision (float16)",
    mlp_step.inputs,
    mlp_step.expected,
    targets={"numpy": 4.0},
    check_calls=mlp_step.STEPS_CHECKED,
    rtol=2e-2,
    atol=2e-2,
)

case.implementation("numpy")(mlp_step.numpy_step)


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx
    from minpy.contrib import amp

    amp.init()
    return gluon_step(mx, True, *arrays)
