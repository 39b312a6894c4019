"""What a recorded call of a hybridized block around one small operator costs more than that of the operator."""

from __future__ import annotations

from harness.case import Array, Case, Step
from harness.extra import extra_step, inputs

case = Case(
    "what a recorded call of a hybridized block of relu on 4x4 takes more than relu",
    inputs,
    limit=12e-6,
    self_timed=True,
)


@case.implementation("minpy")
def with_minpy(x: Array) -> Step:
    import minpy as mx

    return extra_step(mx, x, recorded=True)


@case.implementation("minpy, backward", peer="minpy")
def with_minpy_backward(x: Array) -> Step:
    import minpy as mx

    return extra_step(mx, x, recorded=True, backward=True)


@case.implementation("mxnet")
def with_mxnet(x: Array) -> Step:
    import mxnet as mx

    return extra_step(mx, x, recorded=True)


@case.implementation("mxnet, backward", peer="mxnet")
def with_mxnet_backward(x: Array) -> Step:
    import mxnet as mx

    return extra_step(mx, x, recorded=True, backward=True)
