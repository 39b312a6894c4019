"""Gradient descent that makes up for gradients of a weight that has moved since."""

from __future__ import annotations

import numpy as np

from minpy.ops.optimizer.updates import Update, clipped, rescaled

__all__ = ["dcasgd_mom_update", "dcasgd_update"]


def _direction(
    work: list[np.ndarray],
    weight: np.ndarray,
    grad: np.ndarray,
    previous: np.ndarray,
    wd: float,
    lamda: float,
    rescale_grad: float,
    clip_gradient: float,
) -> np.ndarray:
    """Return what a step goes along, in `work[0]`: the gradient, weight decay, and the correction by `lamda`."""
    step, other, moved = work[:3]
    rescaled(step, weight, grad, rescale_grad, clip_gradient, 0.0, other)
    np.subtract(weight, previous, moved)
    moved *= step
    moved *= step
    moved *= lamda
    step += moved
    if wd:
        step += np.multiply(weight, wd, other)
    return step


def _dcasgd_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    previous: np.ndarray,
    *,
    lr: float,
    wd: float,
    lamda: float,
    rescale_grad: float,
    clip_gradient: float,
) -> None:
    step = _direction(work, weight, grad, previous, wd, lamda, rescale_grad, clip_gradient)
    step *= lr
    np.copyto(previous, weight)
    np.subtract(weight, step, out)


def _dcasgd_mom_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    mom: np.ndarray,
    previous: np.ndarray,
    *,
    lr: float,
    momentum: float,
    wd: float,
    lamda: float,
    rescale_grad: float,
    clip_gradient: float,
) -> None:
    step = _direction(work, weight, grad, previous, wd, lamda, rescale_grad, clip_gradient)
    step *= lr
    mom *= momentum
    mom -= step
    np.copyto(previous, weight)
    np.add(weight, mom, out)


def _dcasgd(
    weight: np.ndarray,
    grad: np.ndarray,
    previous: np.ndarray,
    *,
    lr: float,
    wd: float = 0.0,
    lamda: float = 0.04,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> np.ndarray:
    """Return the weight after a step of DCASGD: see `mx.optimizer.DCASGD`."""
    grad = clipped(grad * rescale_grad, clip_gradient)
    step = grad + wd * weight + lamda * grad * grad * (weight - previous)
    previous[...] = weight
    return weight - lr * step


def _dcasgd_mom(
    weight: np.ndarray,
    grad: np.ndarray,
    mom: np.ndarray,
    previous: np.ndarray,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    lamda: float = 0.04,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> np.ndarray:
    """Return the weight after a step of DCASGD with momentum: see `mx.optimizer.DCASGD`."""
    grad = clipped(grad * rescale_grad, clip_gradient)
    mom[...] = momentum * mom - lr * (grad + wd * weight + lamda * grad * grad * (weight - previous))
    previous[...] = weight
    return weight + mom


dcasgd_update = Update(_dcasgd, _dcasgd_step, name="dcasgd_update", work=3, states=("previous",), public=False)
dcasgd_mom_update = Update(
    _dcasgd_mom, _dcasgd_mom_step, name="dcasgd_mom_update", work=3, states=("mom", "previous"), public=False
)
