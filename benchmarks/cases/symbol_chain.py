"""The chain of 60 operators as a bound symbol: what an operator costs once its graph has been compiled."""

from __future__ import annotations

from typing import Any

from cases import chain
from harness.case import Array, Case, Checked

case = Case(
    "60 elementwise operators on 4x4 float32 as a bound symbol, forward and backward",
    chain.inputs,
    chain.expected,
    targets={"minpy eager": 0.5, "jax jit": 0.3},
    check_calls=5,
)


def bound_step(mx: Any, x: Array, y: Array) -> Checked:
    """The chain through `bind`, for MXNet and for minpy."""
    symbol = chain.chain(mx.sym.Variable("x"), mx.sym.Variable("y"), mx.sym.tanh)
    arguments = {"x": mx.nd.array(x), "y": mx.nd.array(y)}
    gradients = {name: mx.nd.zeros(array.shape) for name, array in arguments.items()}
    executor = symbol.bind(mx.cpu(), arguments, gradients)
    ones = mx.nd.ones(x.shape)

    def step():
        (z,) = executor.forward(is_train=True)
        executor.backward(ones)
        mx.nd.waitall()
        return z, gradients["x"], gradients["y"]

    return step, lambda results: results


@case.implementation("minpy")
def with_minpy(x: Array, y: Array) -> Checked:
    import minpy as mx

    return bound_step(mx, x, y)


case.implementation("minpy eager", peer="minpy")(chain.with_minpy)
case.implementation("torch")(chain.with_torch)
case.implementation("torch compile", peer="torch")(chain.with_torch_compile)
case.implementation("jax jit", peer="jax")(chain.with_jax_jit)
case.implementation("numba")(chain.with_numba)


@case.implementation("mxnet")
def with_mxnet(x: Array, y: Array) -> Checked:
    import mxnet as mx

    return bound_step(mx, x, y)


case.implementation("numpy")(chain.by_hand)
