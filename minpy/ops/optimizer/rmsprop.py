"""RMSProp: gradients over the root of the average of their squares, centered or not."""

from __future__ import annotations

import numpy as np

from minpy.ops.optimizer.declaring import CLIPS_SUM, update
from minpy.ops.optimizer.updates import clipped, rescaled, with_decay

__all__ = ["rmsprop_update", "rmspropalex_update"]


@update(states=("n",), attributes={"gamma1": "The decay of the average `n` of squares.", **CLIPS_SUM})
def rmsprop_update(
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
    """Return the weight after a step of RMSProp.

    g = clip(rescale_grad · grad + wd · weight); n = gamma1 · n + (1 - gamma1) · g²; weight - lr · g / √(n + epsilon).

    References
    ----------
    Tieleman and Hinton, Lecture 6.5: rmsprop, Neural Networks for Machine Learning, 2012.

    Examples
    --------
    >>> from minpy import nd
    >>> weight, n = nd.array([1, 2]), nd.zeros(2)
    >>> nd.rmsprop_update(weight, nd.array([1, -2]), n, lr=0.25, gamma1=0.75, out=weight).asnumpy()
    array([0.5, 2.5], dtype=float32)
    >>> n.asnumpy()
    array([0.25, 1.  ], dtype=float32)
    """
    grad = clipped(with_decay(rescaled(grad, rescale_grad), wd, weight), clip_gradient)
    n *= gamma1
    n += (1 - gamma1) * (grad * grad)
    return clipped(weight - lr * (grad / np.sqrt(n + epsilon)), clip_weights)


@update(
    states=("n", "g", "delta"),
    attributes={
        "gamma1": "The decay of the averages, `n` of squares and `g` of gradients.",
        "gamma2": "How much of `delta` stays: the momentum.",
        **CLIPS_SUM,
    },
)
def rmspropalex_update(
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
    """Return the weight after a step of centered RMSProp with momentum.

    grad = clip(rescale_grad · grad + wd · weight); n = gamma1 · n + (1 - gamma1) · grad²;
    g = gamma1 · g + (1 - gamma1) · grad; delta = gamma2 · delta - lr · grad / √(n - g² + epsilon); weight + delta.

    References
    ----------
    Graves, Generating Sequences With Recurrent Neural Networks, 2013, eq. 38-45.

    Examples
    --------
    >>> from minpy import nd
    >>> weight, n, g, delta = nd.array([1, 2]), nd.zeros(2), nd.zeros(2), nd.zeros(2)
    >>> nd.rmspropalex_update(weight, nd.array([1, -2]), n, g, delta, lr=0.25, gamma1=0.5, out=weight).asnumpy()
    array([0.5, 2.5], dtype=float32)
    >>> n.asnumpy(), g.asnumpy()
    (array([0.5, 2. ], dtype=float32), array([ 0.5, -1. ], dtype=float32))
    """
    grad = clipped(with_decay(rescaled(grad, rescale_grad), wd, weight), clip_gradient)
    n *= gamma1
    n += (1 - gamma1) * (grad * grad)
    g *= gamma1
    g += (1 - gamma1) * grad
    delta *= gamma2
    delta -= lr * (grad / np.sqrt(n - g * g + epsilon))
    return clipped(weight + delta, clip_weights)
