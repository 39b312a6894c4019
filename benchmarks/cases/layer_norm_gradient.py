"""Layer normalization, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Case, Checked, Step
from harness.customops import layer_norm, layer_norm_inputs, layer_norm_pull, plain_gradients
from harness.gradients import bound_gradients, hybrid_gradients, jax_gradients, torch_gradients

ROWS, COLUMNS = 1024, 768


def inputs() -> tuple[Array, ...]:
    return layer_norm_inputs(ROWS, COLUMNS)


def expected(*arrays: Array) -> tuple[Array, ...]:
    return plain_gradients(layer_norm, layer_norm_pull, arrays[:3], arrays[3], np.float64)()


case = Case(
    f"layer normalization of {ROWS}x{COLUMNS} float32, hybridized, forward and backward",
    inputs,
    expected,
    targets={"torch": 0.9, "torch compile": 0.9},
    check_calls=5,
    rtol=1e-3,
    atol=1e-4,
)


def network(F: Any, x: Any, gain: Any, shift: Any) -> Any:
    return F.LayerNorm(x, gain, shift)


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return hybrid_gradients(mx, network, arrays[:3], arrays[3])


@case.implementation("minpy executor", peer="minpy")
def with_executor(*arrays: Array) -> Checked:
    import minpy as mx

    names = ("x", "gain", "shift")
    symbol = network(mx.sym, *map(mx.sym.Variable, names))
    return bound_gradients(mx, symbol, dict(zip(names, arrays[:3], strict=True)), arrays[3])


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return hybrid_gradients(mx, network, arrays[:3], arrays[3])


def with_torch_step(compiled: bool, *arrays: Array) -> Step:
    from torch.nn import functional

    def function(x, gain, shift):
        return functional.layer_norm(x, (COLUMNS,), gain, shift)

    return torch_gradients(function, arrays[:3], arrays[3], compiled)


@case.implementation("torch")
def with_torch(*arrays: Array) -> Step:
    return with_torch_step(False, *arrays)


@case.implementation("torch compile", peer="torch")
def with_torch_compile(*arrays: Array) -> Step:
    return with_torch_step(True, *arrays)


@case.implementation("jax jit", peer="jax")
def with_jax(*arrays: Array) -> Step:
    def function(x, gain, shift):
        centred = x - x.mean(-1, keepdims=True)
        return centred / ((centred * centred).mean(-1, keepdims=True) + 1e-5) ** 0.5 * gain + shift

    return jax_gradients(function, arrays[:3], arrays[3])


@case.implementation("numpy")
def with_numpy(*arrays: Array) -> Step:
    return plain_gradients(layer_norm, layer_norm_pull, arrays[:3], arrays[3])
