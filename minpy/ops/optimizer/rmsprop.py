"""RMSProp: gradients over the root of the average of their squares, centered or not."""

from __future__ import annotations

import numpy as np

from minpy.ops.optimizer.adam import decayed
from minpy.ops.optimizer.documenting import documented
from minpy.ops.optimizer.updates import Update, clipped

__all__ = ["rmsprop_update", "rmspropalex_update"]


def _rmsprop_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    n: np.ndarray,
    *,
    lr: float,
    gamma1: float,
    epsilon: float,
    wd: float,
    rescale_grad: float,
    clip_gradient: float,
    clip_weights: float,
) -> None:
    step, other = work[:2]
    decayed(step, weight, grad, rescale_grad, clip_gradient, wd, other)
    np.multiply(step, step, other)
    other *= 1 - gamma1
    n *= gamma1
    n += other
    np.add(n, epsilon, other)
    np.sqrt(other, other)
    step /= other
    step *= lr
    np.subtract(weight, step, out)
    if clip_weights >= 0:
        np.clip(out, -clip_weights, clip_weights, out)


def _rmspropalex_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    n: np.ndarray,
    g: np.ndarray,
    delta: np.ndarray,
    *,
    lr: float,
    gamma1: float,
    gamma2: float,
    epsilon: float,
    wd: float,
    rescale_grad: float,
    clip_gradient: float,
    clip_weights: float,
) -> None:
    step, other = work[:2]
    decayed(step, weight, grad, rescale_grad, clip_gradient, wd, other)
    np.multiply(step, step, other)
    other *= 1 - gamma1
    n *= gamma1
    n += other
    np.multiply(step, 1 - gamma1, other)
    g *= gamma1
    g += other
    np.multiply(g, g, other)
    np.subtract(n, other, other)
    other += epsilon
    np.sqrt(other, other)
    step /= other
    step *= lr
    delta *= gamma2
    delta -= step
    np.add(weight, delta, out)
    if clip_weights >= 0:
        np.clip(out, -clip_weights, clip_weights, out)


_CLIP = "Clips the sum of gradient and weight decay to [-clip_gradient, clip_gradient]; not if negative."


@documented(
    """
    Return the weight after a step of RMSProp.

    g = clip(rescale_grad · grad + wd · weight); n = gamma1 · n + (1 - gamma1) · g²; weight - lr · g / √(n + epsilon).
    """,
    arrays="weight, grad, n : NDArray\n    Of equal shapes; `n` is changed in place.",
    gamma1="The decay of the average `n` of squares.",
    clip_gradient=_CLIP,
    source="Tieleman and Hinton, Lecture 6.5: rmsprop, Neural Networks for Machine Learning, 2012.",
    example="""
    >>> from minpy import nd
    >>> weight, n = nd.array([1, 2]), nd.zeros(2)
    >>> nd.rmsprop_update(weight, nd.array([1, -2]), n, lr=0.25, gamma1=0.75, out=weight).asnumpy()
    array([0.5, 2.5], dtype=float32)
    >>> n.asnumpy()
    array([0.25, 1.  ], dtype=float32)
    """,
)
def _rmsprop_update(
    weight: np.ndarray,
    grad: np.ndarray,
    n: np.ndarray,
    *,
    lr: float,
    gamma1: float = 0.95,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
) -> np.ndarray:
    grad = clipped(grad * rescale_grad + wd * weight, clip_gradient)
    n[...] = gamma1 * n + (1 - gamma1) * grad * grad
    return clipped(weight - lr * grad / np.sqrt(n + epsilon), clip_weights)


@documented(
    """
    Return the weight after a step of centered RMSProp with momentum.

    grad = clip(rescale_grad · grad + wd · weight); n = gamma1 · n + (1 - gamma1) · grad²;
    g = gamma1 · g + (1 - gamma1) · grad; delta = gamma2 · delta - lr · grad / √(n - g² + epsilon); weight + delta.
    """,
    arrays="weight, grad, n, g, delta : NDArray\n    Of equal shapes; `n`, `g` and `delta` are changed in place.",
    gamma1="The decay of the averages, `n` of squares and `g` of gradients.",
    gamma2="How much of `delta` stays: the momentum.",
    clip_gradient=_CLIP,
    source="Graves, Generating Sequences With Recurrent Neural Networks, 2013, eq. 38-45.",
    example="""
    >>> from minpy import nd
    >>> weight, n, g, delta = nd.array([1, 2]), nd.zeros(2), nd.zeros(2), nd.zeros(2)
    >>> nd.rmspropalex_update(weight, nd.array([1, -2]), n, g, delta, lr=0.25, gamma1=0.5, out=weight).asnumpy()
    array([0.5, 2.5], dtype=float32)
    >>> n.asnumpy(), g.asnumpy()
    (array([0.5, 2. ], dtype=float32), array([ 0.5, -1. ], dtype=float32))
    """,
)
def _rmspropalex_update(
    weight: np.ndarray,
    grad: np.ndarray,
    n: np.ndarray,
    g: np.ndarray,
    delta: np.ndarray,
    *,
    lr: float,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
) -> np.ndarray:
    grad = clipped(grad * rescale_grad + wd * weight, clip_gradient)
    n[...] = gamma1 * n + (1 - gamma1) * grad * grad
    g[...] = gamma1 * g + (1 - gamma1) * grad
    delta[...] = gamma2 * delta - lr * grad / np.sqrt(n - g * g + epsilon)
    return clipped(weight + delta, clip_weights)


rmsprop_update = Update(_rmsprop_update, _rmsprop_step, name="rmsprop_update", work=2, states=("n",))
rmspropalex_update = Update(
    _rmspropalex_update, _rmspropalex_step, name="rmspropalex_update", work=2, states=("n", "g", "delta")
)
