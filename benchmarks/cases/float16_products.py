"""A fully connected layer of float16, forward: computed in float32 and rounded once, as is the same in NumPy."""

from __future__ import annotations

import numpy as np

from harness.case import Array, Case, Step


def inputs() -> tuple[Array, ...]:
    random = np.random.RandomState(0)
    return tuple(random.uniform(-1, 1, shape).astype(np.float16) for shape in ((128, 784), (512, 784)))


def product(rows: Array, weight: Array) -> Array:
    """Cast up, multiplied, cast down."""
    return (rows.astype(np.float32) @ weight.astype(np.float32).T).astype(np.float16)


case = Case(
    "a fully connected layer of float16, 784 to 512, batch 128, forward",
    inputs,
    lambda rows, weight: (product(rows, weight),),
    targets={"numpy": 1.2},
    rtol=2e-3,
    atol=2e-3,
)


@case.implementation("minpy")
def with_minpy(rows: Array, weight: Array) -> Step:
    import minpy as mx

    x, w = (mx.nd.array(one, dtype="float16") for one in (rows, weight))
    return lambda: mx.nd.FullyConnected(x, w, num_hidden=512, no_bias=True)


@case.implementation("numpy")
def with_numpy(rows: Array, weight: Array) -> Step:
    return lambda: product(rows, weight)


@case.implementation("numpy in float32", peer="numpy")
def with_numpy_in_float32(rows: Array, weight: Array) -> Step:
    x, w = rows.astype(np.float32), weight.astype(np.float32)
    return lambda: x @ w.T


@case.implementation("torch")
def with_torch(rows: Array, weight: Array) -> Step:
    import torch

    x, w = torch.tensor(rows), torch.tensor(weight)
    return lambda: torch.nn.functional.linear(x, w)
