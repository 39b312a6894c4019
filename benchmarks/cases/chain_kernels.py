"""The chain of 60 operators as native code, without what calls it: what is left when nothing is around the kernels."""

from __future__ import annotations

import numpy as np

from cases import chain
from harness.case import Array, Case, Checked
from harness.gradients import bound_gradients
from harness.kernels import calls_alone

case = Case(
    "60 elementwise operators on 4x4 float32, forward and backward: the native code alone",
    chain.inputs,
    chain.expected,
    limit=1e-6,
)


@case.implementation("minpy")
def with_minpy(x: Array, y: Array) -> Checked:
    import minpy as mx

    symbol = chain.chain(mx.sym.Variable("x"), mx.sym.Variable("y"), mx.sym.tanh)
    step, view = bound_gradients(mx, symbol, {"x": x, "y": y}, np.ones_like(x))
    alone = calls_alone(step)
    y = step()
    return alone, lambda _: view(y)


case.implementation("jax jit", peer="jax")(chain.with_jax_jit)
case.implementation("numba")(chain.with_numba)
case.implementation("numpy")(chain.by_hand)
