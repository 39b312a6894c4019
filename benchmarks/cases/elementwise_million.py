"""25 cheap elementwise operators on a million numbers: memory is the limit, and each operator alone meets it."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Case, Step

SIZE = 1_000_000


def mixture(numbers: Any, x: Array, y: Array) -> Array:
    """25 operators in the functions of `numbers`: NumPy, or a library that has its names."""
    z = x
    for factor in (0.5, 0.25, -0.5):
        z = z * y + x
        z = numbers.maximum(z, -factor * x)
        z = z - factor * y
        z = z * factor
    return numbers.sqrt(z * z + 1.0) - z


def inputs() -> tuple[Array, ...]:
    random = np.random.RandomState(0)
    return tuple(random.uniform(-1, 1, SIZE).astype(np.float32) for _ in range(2))


def expected(x: Array, y: Array) -> tuple[Array, ...]:
    return (mixture(np, x.astype(np.float64), y.astype(np.float64)),)


case = Case(
    "25 cheap elementwise operators on 1,000,000 float32, written in NumPy and compiled",
    inputs,
    expected,
    targets={"jax jit": 1.0, "torch compile": 1.0},
    check_calls=5,
)


@case.implementation("minpy")
def with_minpy(x: Array, y: Array) -> Step:
    import minpy

    function = minpy.compile(lambda x, y: mixture(np, x, y))
    return lambda: function(x, y)


@case.implementation("torch")
def with_torch(x: Array, y: Array) -> Step:
    import torch

    x, y = torch.tensor(x), torch.tensor(y)
    return lambda: mixture(torch, x, y)


@case.implementation("torch compile", peer="torch")
def with_torch_compile(x: Array, y: Array) -> Step:
    import torch

    x, y = torch.tensor(x), torch.tensor(y)
    function = torch.compile(lambda x, y: mixture(torch, x, y))
    return lambda: function(x, y)


@case.implementation("jax jit", peer="jax")
def with_jax(x: Array, y: Array) -> Step:
    import jax
    from jax import numpy as jnp

    x, y = jnp.asarray(x), jnp.asarray(y)
    function = jax.jit(lambda x, y: mixture(jnp, x, y))
    return lambda: function(x, y).block_until_ready()


@case.implementation("numba")
def with_numba(x: Array, y: Array) -> Step:
    """The loop as one writes it for Numba, cut for its threads."""
    import numba

    def loop(x, y, out):
        for i in numba.prange(len(x)):
            a, b = x[i], y[i]
            z = a
            for factor in (np.float32(0.5), np.float32(0.25), np.float32(-0.5)):
                z = (max(z * b + a, -factor * a) - factor * b) * factor
            out[i] = np.sqrt(z * z + np.float32(1)) - z

    compiled = numba.njit(loop, parallel=numba.get_num_threads() > 1)

    def step():
        out = np.empty_like(x)
        compiled(x, y, out)
        return out

    return step


@case.implementation("numpy")
def with_numpy(x: Array, y: Array) -> Step:
    return lambda: mixture(np, x, y)
