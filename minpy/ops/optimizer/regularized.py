"""Follow the regularized leader, and follow the moving leader."""

from __future__ import annotations

import numpy as np

from minpy.ops.optimizer.adam import decayed
from minpy.ops.optimizer.documenting import documented
from minpy.ops.optimizer.updates import Update, clipped, rescaled

__all__ = ["ftml_update", "ftrl_update"]


def _ftrl_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    z: np.ndarray,
    n: np.ndarray,
    *,
    lr: float,
    lamda1: float,
    beta: float,
    wd: float,
    rescale_grad: float,
    clip_gradient: float,
) -> None:
    step, root = work[:2]
    rescaled(step, weight, grad, rescale_grad, clip_gradient, 0.0, root)
    z += step
    step *= step
    np.sqrt(n, root)
    n += step
    np.sqrt(n, step)
    root -= step  # √n before, less √n now
    root /= lr
    root *= weight
    z += root
    step += beta
    step /= lr
    step += wd
    np.clip(z, -lamda1, lamda1, root)
    root -= z
    np.divide(root, step, out)


def _ftml_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    d: np.ndarray,
    v: np.ndarray,
    z: np.ndarray,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    t: int,
    wd: float,
    rescale_grad: float,
    clip_grad: float,
) -> None:
    step, other = work[:2]
    decayed(step, weight, grad, rescale_grad, clip_grad, wd, other)
    z *= beta1
    np.multiply(step, 1 - beta1, other)
    z += other
    step *= step
    step *= 1 - beta2
    v *= beta2
    v += step
    np.divide(v, 1 - beta2**t, step)
    np.sqrt(step, step)
    step += epsilon
    step *= (1 - beta1**t) / lr
    d *= -beta1
    d += step
    d *= weight
    z -= d
    np.copyto(d, step)
    np.divide(z, step, other)
    np.negative(other, out)


@documented(
    """
    Return the weight after a step of FTRL-Proximal, which keeps weights at zero unless gradients insist.

    g = clip(rescale_grad · grad); z += g - (√(n + g²) - √n) · weight / lr; n += g²;
    (sign(z) · lamda1 - z) / ((beta + √n) / lr + wd) where |z| > lamda1, else 0.
    """,
    arrays="weight, grad, z, n : NDArray\n    Of equal shapes; `z` and `n` are changed in place.",
    lamda1="How strongly weights are drawn to zero: the L1 penalty.",
    beta="Added to the root of the sum of squares.",
    wd="Weight decay: the L2 penalty.",
    source="McMahan et al., Ad Click Prediction: a View from the Trenches, KDD 2013, algorithm 1.",
    example="""
    >>> from minpy import nd
    >>> weight, z, n = nd.array([0, 0]), nd.zeros(2), nd.zeros(2)
    >>> nd.ftrl_update(weight, nd.array([1, 0.25]), z, n, lr=1.0, lamda1=0.5, out=weight).asnumpy()
    array([-0.25,  0.  ], dtype=float32)
    """,
)
def _ftrl_update(
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
    grad = clipped(grad * rescale_grad, clip_gradient)
    z += grad - (np.sqrt(n + grad * grad) - np.sqrt(n)) * weight / lr
    n += grad * grad
    return (np.clip(z, -lamda1, lamda1) - z) / ((beta + np.sqrt(n)) / lr + wd)


@documented(
    """
    Return the weight after a step of FTML.

    g = clip(rescale_grad · grad + wd · weight); v = beta2 · v + (1 - beta2) · g²;
    d' = (1 - beta1ᵗ) / lr · (√(v / (1 - beta2ᵗ)) + epsilon);
    z = beta1 · z + (1 - beta1) · g - (d' - beta1 · d) · weight; d = d'; -z / d.
    """,
    arrays="weight, grad, d, v, z : NDArray\n    Of equal shapes; `d`, `v` and `z` are changed in place.",
    clip_grad="Clips the sum of gradient and weight decay to [-clip_grad, clip_grad]; not if negative.",
    source="Zheng and Kwok, Follow the Moving Leader in Deep Learning, ICML 2017, algorithm 1.",
    example="""
    >>> from minpy import nd
    >>> weight, d, v, z = nd.array([1, 2]), nd.zeros(2), nd.zeros(2), nd.zeros(2)
    >>> nd.ftml_update(weight, nd.array([1, -2]), d, v, z, lr=0.5, t=1, out=weight).asnumpy()
    array([0.5, 2.5], dtype=float32)
    """,
)
def _ftml_update(
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
    grad = clipped(grad * rescale_grad + wd * weight, clip_grad)
    v[...] = beta2 * v + (1 - beta2) * grad * grad
    new = (1 - beta1**t) / lr * (np.sqrt(v / (1 - beta2**t)) + epsilon)
    z[...] = beta1 * z + (1 - beta1) * grad - (new - beta1 * d) * weight
    d[...] = new
    return -z / d


ftrl_update = Update(_ftrl_update, _ftrl_step, name="ftrl_update", work=2, states=("z", "n"))
ftml_update = Update(_ftml_update, _ftml_step, name="ftml_update", work=2, states=("d", "v", "z"))
