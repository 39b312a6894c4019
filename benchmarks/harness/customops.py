"""Two operators as users write them, in NumPy with their gradients: GELU and layer normalization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.case import Array, Checked, Step

__all__ = [
    "gelu",
    "gelu_pull",
    "layer_norm",
    "layer_norm_pull",
    "operator_gradients",
    "plain_gradients",
    "with_rule",
]

SCALE, CUBIC = float(np.sqrt(2 / np.pi)), 0.044715
EPSILON = 1e-5


def gelu(x: Array) -> Array:
    """The approximation by tanh (Hendrycks and Gimpel, arXiv:1606.08415, section 2)."""
    return 0.5 * x * (1.0 + np.tanh(SCALE * (x + CUBIC * x * x * x)))


def gelu_pull(ans: Array, x: Array) -> Callable[[Array], tuple[Array]]:
    def pull(g: Array) -> tuple[Array]:
        t = np.tanh(SCALE * (x + CUBIC * x * x * x))
        return (g * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * (SCALE + 3.0 * SCALE * CUBIC * x * x)),)

    return pull


def layer_norm(x: Array, gain: Array, shift: Array) -> Array:
    """Rows with mean 0 and variance 1, scaled and shifted (Ba, Kiros and Hinton, arXiv:1607.06450)."""
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + EPSILON) * gain + shift


def layer_norm_inputs(rows: int, columns: int) -> tuple[Array, ...]:
    """The rows, gain and shift of a layer normalization, and the gradient of its answer, in float32."""
    random = np.random.RandomState(0)
    arrays = (
        random.normal(1, 2, (rows, columns)),
        random.normal(1, 0.2, columns),
        random.normal(0, 1, columns),
        random.normal(0, 1, (rows, columns)),
    )
    return tuple(array.astype(np.float32) for array in arrays)


def layer_norm_pull(ans: Array, x: Array, gain: Array, shift: Array) -> Callable[[Array], tuple[Array, ...]]:
    def pull(g: Array) -> tuple[Array, ...]:
        centred = x - np.mean(x, axis=-1, keepdims=True)
        scale = 1.0 / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + EPSILON)
        normal = centred * scale
        h = g * gain
        inner = h - np.mean(h, axis=-1, keepdims=True) - normal * np.mean(h * normal, axis=-1, keepdims=True)
        return scale * inner, np.sum(g * normal, axis=0), np.sum(g, axis=0)

    return pull


def with_rule(function: Callable[..., Any], pull: Callable[..., Any], **how: Any) -> Any:
    """The function as a customop of minpy's with its rule."""
    from minpy import customop

    operator = customop("numpy", **how)(function)
    if function is gelu:
        operator.def_grad(lambda ans, x: lambda g: pull(ans, x)(g)[0])
    else:
        operator.def_multiple_grad()(pull)
    return operator


def operator_gradients(operator: Callable[..., Any], arrays: Any, head: Array) -> Checked:
    """The step of an operator of minpy's on the tape, as it is written."""
    import minpy as mx

    given, head = [mx.nd.array(array) for array in arrays], mx.nd.array(head)
    for array in given:
        array.attach_grad()

    def step():
        with mx.autograd.record():
            y = operator(*given)
        y.backward(head)
        return y

    return step, lambda y: (y, *(array.grad for array in given))


def plain_gradients(
    function: Callable[..., Any], pull: Callable[..., Any], arrays: Any, head: Array, dtype: Any = np.float32
) -> Step:
    """The step in plain NumPy."""
    given, head = [np.asarray(array, dtype) for array in arrays], np.asarray(head, dtype)

    def step():
        y = function(*given)
        return (y, *pull(y, *given)(head))

    return step
