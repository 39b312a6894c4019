"""Gradient descent that makes up for gradients of a weight that has moved since."""

from __future__ import annotations

import numpy as np

from minpy.ops.optimizer.declaring import update
from minpy.ops.optimizer.updates import rescaled, with_decay

__all__ = ["dcasgd_mom_update", "dcasgd_update"]


@update(states=("previous",), public=False)
def dcasgd_update(
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
    grad = rescaled(grad, rescale_grad, clip_gradient)
    step = with_decay(grad + lamda * (grad * grad * (weight - previous)), wd, weight)
    previous[...] = weight
    return weight - lr * step


@update(states=("mom", "previous"), public=False)
def dcasgd_mom_update(
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
    grad = rescaled(grad, rescale_grad, clip_gradient)
    mom *= momentum
    mom -= lr * with_decay(grad + lamda * (grad * grad * (weight - previous)), wd, weight)
    previous[...] = weight
    return weight + mom
