"""Two operators that a user wrote in NumPy, between dense layers: beside PyTorch with operators from its library."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Case, Checked, Step
from harness.customops import gelu, gelu_pull, layer_norm, layer_norm_pull, with_rule
from harness.gradients import hybrid_gradients, jax_gradients, torch_gradients

ROWS, OUTSIDE, INSIDE = 256, 256, 512


def inputs() -> tuple[Array, ...]:
    """Data, the parameters of the layers in their order, and the gradient of the result."""
    random = np.random.RandomState(0)
    arrays = (
        random.normal(0, 1, (ROWS, OUTSIDE)),
        *(random.normal(0, OUTSIDE**-0.5, (INSIDE, OUTSIDE)), random.normal(0, 0.1, INSIDE)),
        *(random.normal(1, 0.2, INSIDE), random.normal(0, 1, INSIDE)),
        *(random.normal(0, INSIDE**-0.5, (OUTSIDE, INSIDE)), random.normal(0, 0.1, OUTSIDE)),
        random.normal(0, 1, (ROWS, OUTSIDE)),
    )
    return tuple(array.astype(np.float32) for array in arrays)


def by_hand(dtype: Any, *arrays: Array) -> tuple[Array, ...]:
    x, w1, b1, gain, shift, w2, b2, head = (array.astype(dtype, copy=False) for array in arrays)
    first = x @ w1.T + b1
    normal = layer_norm(first, gain, shift)
    smooth = gelu(normal)
    y = smooth @ w2.T + b2
    (g,) = gelu_pull(smooth, normal)(head @ w2)
    g, g_gain, g_shift = layer_norm_pull(normal, first, gain, shift)(g)
    return y, g @ w1, g.T @ x, g.sum(0), g_gain, g_shift, head.T @ smooth, head.sum(0)


def expected(*arrays: Array) -> tuple[Array, ...]:
    return by_hand(np.float64, *arrays)


case = Case(
    f"dense {OUTSIDE} to {INSIDE}, two operators written in NumPy, dense {INSIDE} to {OUTSIDE}: hybridized, "
    f"forward and backward, batch {ROWS}",
    inputs,
    expected,
    targets={"torch": 1.0},
    check_calls=5,
    rtol=1e-3,
    atol=1e-3,
)


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    norm, smooth = with_rule(layer_norm, layer_norm_pull), with_rule(gelu, gelu_pull)

    def network(F, x, w1, b1, gain, shift, w2, b2):
        inside = norm(F.FullyConnected(x, w1, b1, num_hidden=INSIDE), gain, shift)
        return F.FullyConnected(smooth(inside), w2, b2, num_hidden=OUTSIDE)

    return hybrid_gradients(mx, network, arrays[:-1], arrays[-1])


@case.implementation("numpy")
def with_numpy(*arrays: Array) -> Step:
    return lambda: by_hand(np.float32, *arrays)


@case.implementation("numpy products", peer="numpy", checked=False)
def with_products(*arrays: Array) -> Step:
    """Only the six products."""
    x, w1, _, _, _, w2, _, head = arrays
    inside = x @ w1.T

    def step():
        return x @ w1.T, inside @ w2.T, head @ w2, head.T @ inside, inside.T @ x, inside @ w1

    return step


def torch_network(x, w1, b1, gain, shift, w2, b2):
    from torch.nn import functional

    inside = functional.layer_norm(functional.linear(x, w1, b1), (INSIDE,), gain, shift)
    return functional.linear(functional.gelu(inside, approximate="tanh"), w2, b2)


@case.implementation("torch")
def with_torch(*arrays: Array) -> Step:
    return torch_gradients(torch_network, arrays[:-1], arrays[-1])


@case.implementation("torch compile", peer="torch")
def with_torch_compile(*arrays: Array) -> Step:
    return torch_gradients(torch_network, arrays[:-1], arrays[-1], compiled=True)


@case.implementation("jax jit", peer="jax")
def with_jax(*arrays: Array) -> Step:
    import jax

    def network(x, w1, b1, gain, shift, w2, b2):
        inside = x @ w1.T + b1
        centred = inside - inside.mean(-1, keepdims=True)
        normal = centred / ((centred * centred).mean(-1, keepdims=True) + 1e-5) ** 0.5
        return jax.nn.gelu(normal * gain + shift) @ w2.T + b2

    return jax_gradients(network, arrays[:-1], arrays[-1])
