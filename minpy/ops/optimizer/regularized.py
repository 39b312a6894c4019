"""Follow the regularized leader, and follow the moving leader."""

from __future__ import annotations

import numpy as np

from minpy.ops.optimizer.declaring import update
from minpy.ops.optimizer.updates import clipped, rescaled, with_decay

__all__ = ["ftml_update", "ftrl_update"]


@update(
    states=("z", "n"),
    attributes={
        "lamda1": "How strongly weights are drawn to zero: the L1 penalty.",
        "beta": "Added to the root of the sum of squares.",
        "wd": "Weight decay: the L2 penalty.",
    },
)
def ftrl_update(
    weight: np.ndarray,
    grad: np.ndarray,
    z: np.ndarray,
    n: np.ndarray,
    *,
    lr: float,
    lamda1: float = 0.01,
    beta: float = 1.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> np.ndarray:
    """Return the weight after a step of FTRL-Proximal, which keeps weights at zero unless gradients insist.

    g = clip(rescale_grad · grad); z += g - (√(n + g²) - √n) · weight / lr; n += g²;
    (sign(z) · lamda1 - z) / ((beta + √n) / lr + wd) where |z| > lamda1, else 0.

    References
    ----------
    McMahan et al., Ad Click Prediction: a View from the Trenches, KDD 2013, algorithm 1.

    Examples
    --------
    >>> from minpy import nd
    >>> weight, z, n = nd.array([0, 0]), nd.zeros(2), nd.zeros(2)
    >>> nd.ftrl_update(weight, nd.array([1, 0.25]), z, n, lr=1.0, lamda1=0.5, out=weight).asnumpy()
    array([-0.25,  0.  ], dtype=float32)
    """
    grad = rescaled(grad, rescale_grad, clip_gradient)
    old_root = np.sqrt(n)
    n += grad * grad
    new_root = np.sqrt(n)
    z += grad
    z += (old_root - new_root) / lr * weight
    return (np.clip(z, -lamda1, lamda1) - z) / ((new_root + beta) / lr + wd)


@update(
    states=("d", "v", "z"),
    attributes={"clip_grad": "Clips the sum of gradient and weight decay to [-clip_grad, clip_grad]; not if negative."},
)
def ftml_update(
    weight: np.ndarray,
    grad: np.ndarray,
    d: np.ndarray,
    v: np.ndarray,
    z: np.ndarray,
    *,
    lr: float,
    beta1: float = 0.6,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    t: int,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_grad: float = -1.0,
) -> np.ndarray:
    """Return the weight after a step of FTML.

    g = clip(rescale_grad · grad + wd · weight); v = beta2 · v + (1 - beta2) · g²;
    d' = (1 - beta1ᵗ) / lr · (√(v / (1 - beta2ᵗ)) + epsilon);
    z = beta1 · z + (1 - beta1) · g - (d' - beta1 · d) · weight; d = d'; -z / d.

    References
    ----------
    Zheng and Kwok, Follow the Moving Leader in Deep Learning, ICML 2017, algorithm 1.

    Examples
    --------
    >>> from minpy import nd
    >>> weight, d, v, z = nd.array([1, 2]), nd.zeros(2), nd.zeros(2), nd.zeros(2)
    >>> nd.ftml_update(weight, nd.array([1, -2]), d, v, z, lr=0.5, t=1, out=weight).asnumpy()
    array([0.5, 2.5], dtype=float32)
    """
    grad = clipped(with_decay(rescaled(grad, rescale_grad), wd, weight), clip_grad)
    v *= beta2
    v += (1 - beta2) * (grad * grad)
    new = (1 - beta1**t) / lr * (np.sqrt(v / (1 - beta2**t)) + epsilon)
    z *= beta1
    z += (1 - beta1) * grad
    z -= (new - beta1 * d) * weight
    d[...] = new
    return -(z / new)
