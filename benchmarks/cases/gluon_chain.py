"""The chain of 60 operators as a hybridized block under `record()`: what a block adds around native code."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import chain
from harness.case import Array, Case, Checked
from harness.gradients import hybrid_gradients

case = Case(
    "60 elementwise operators on 4x4 float32 as a hybridized block, recorded forward and backward",
    chain.inputs,
    chain.expected,
    targets={"jax jit": 0.8},
    check_calls=5,
)


def gluon_step(mx: Any, x: Array, y: Array) -> Checked:
    """The chain in a block, for MXNet and for minpy."""
    return hybrid_gradients(mx, lambda F, x, y: chain.chain(x, y, F.tanh), (x, y), np.ones_like(x))


@case.implementation("minpy")
def with_minpy(x: Array, y: Array) -> Checked:
    import minpy as mx

    return gluon_step(mx, x, y)


case.implementation("jax jit", peer="jax")(chain.with_jax_jit)
case.implementation("torch")(chain.with_torch)
case.implementation("torch compile", peer="torch")(chain.with_torch_compile)
case.implementation("numba")(chain.with_numba)
case.implementation("numpy")(chain.by_hand)


@case.implementation("mxnet")
def with_mxnet(x: Array, y: Array) -> Checked:
    import mxnet as mx

    return gluon_step(mx, x, y)
