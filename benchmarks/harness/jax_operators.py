"""A softplus written in NumPy as a function of JAX's, beside one written by hand: value and gradient under `jit`."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Case, Checked

__all__ = ["softplus_case"]

_BETA = 2.0


def softplus_case(size: str, shape: tuple[int, ...], through: str, by_hand: str, target: float) -> Case:
    """Return the case of arrays of a shape; `through`: as for `to_jax`; `by_hand`: 'jnp' or 'callback'."""
    name = f"{by_hand} by hand"

    def inputs() -> tuple[Array, ...]:
        return (np.random.default_rng(0).normal(size=shape).astype(np.float32),)

    case = Case(
        f"the value and the gradient of a sum of softplus of {size} float32 under jax.jit, as a function of "
        f"{'jax.numpy' if through == 'graph' else 'NumPy that is called'}",
        inputs,
        lambda x: (np.logaddexp(0, _BETA * x).sum() / _BETA, 1 / (1 + np.exp(-_BETA * x))),
        targets={name: target},
        check_calls=3,
    )

    @case.implementation("minpy")
    def with_minpy(x: Array) -> Checked:
        from minpy import customop
        from minpy.frameworks import to_jax

        @customop("numpy")
        def softplus(x, *, beta: float = 1.0):
            return np.logaddexp(0, beta * x) / beta

        softplus.def_grad(lambda ans, x, *, beta: lambda g: g / (1 + np.exp(-beta * x)))
        operator = to_jax(softplus, through=through)
        return _step(lambda x: operator(x, beta=_BETA), x)

    @case.implementation(name, peer="minpy")
    def with_jax(x: Array) -> Checked:
        return _step(_with_jnp() if by_hand == "jnp" else _with_callback(), x)

    return case


def _step(function: Any, x: Array) -> Checked:
    import jax

    compiled = jax.jit(jax.value_and_grad(lambda x: function(x).sum()))
    x = jax.numpy.asarray(x)
    return lambda: jax.block_until_ready(compiled(x)), tuple


def _with_jnp() -> Any:
    import jax
    from jax import numpy as jnp

    @jax.custom_vjp
    def softplus(x):
        return jnp.logaddexp(0, _BETA * x) / _BETA

    softplus.defvjp(lambda x: (softplus(x), x), lambda x, g: (g / (1 + jnp.exp(-_BETA * x)),))
    return softplus


def _with_callback() -> Any:
    import jax

    def called(function, x, *more):
        result = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(function, result, x, *more, vmap_method="sequential")

    def value(x):
        return np.logaddexp(0, _BETA * np.asarray(x)) / _BETA

    def gradient(x, g):
        return np.asarray(g) / (1 + np.exp(-_BETA * np.asarray(x)))

    @jax.custom_vjp
    def softplus(x):
        return called(value, x)

    softplus.defvjp(lambda x: (softplus(x), x), lambda x, g: (called(gradient, x, g),))
    return softplus
