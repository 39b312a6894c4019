"""The sigmoid of MXNet's tutorial, unchanged, through `nd.Custom`."""

from __future__ import annotations

from harness.case import Array, Case, Step
from harness.sigmoids import expected, inputs, torch_step, tutorial_step

case = Case(
    "the CustomOp sigmoid of MXNet's tutorial on 4x4 float32, recorded forward and backward",
    inputs,
    expected,
    targets={"mxnet": 0.04, "torch Function": 1.2},
)


@case.implementation("minpy")
def with_minpy(x: Array) -> Step:
    import minpy as mx

    return tutorial_step(mx, x)


@case.implementation("mxnet")
def with_mxnet(x: Array) -> Step:
    import mxnet as mx

    return tutorial_step(mx, x)


@case.implementation("torch Function", peer="torch")
def with_torch(x: Array) -> Step:
    return torch_step(x)
