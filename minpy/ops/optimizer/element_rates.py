"""AdaGrad and AdaDelta: rates of their own for each element, from the squares of its gradients."""

from __future__ import annotations

import numpy as np

from minpy.ops.optimizer.declaring import update
from minpy.ops.optimizer.updates import rescaled, with_decay

__all__ = ["adadelta_update", "adagrad_update"]


@update(states=("history",), public=False)
def adagrad_update(
    weight: np.ndarray,
    grad: np.ndarray,
    history: np.ndarray,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    epsilon: float = 1e-7,
) -> np.ndarray:
    """Return the weight after a step of AdaGrad: see `mx.optimizer.AdaGrad`."""
    grad = rescaled(grad, rescale_grad, clip_gradient)
    history += grad * grad
    return weight - lr * with_decay(grad / np.sqrt(history + epsilon), wd, weight)


@update(states=("squares", "deltas"), public=False)
def adadelta_update(
    weight: np.ndarray,
    grad: np.ndarray,
    squares: np.ndarray,
    deltas: np.ndarray,
    *,
    rho: float = 0.9,
    epsilon: float = 1e-5,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> np.ndarray:
    """Return the weight after a step of AdaDelta: see `mx.optimizer.AdaDelta`."""
    grad = rescaled(grad, rescale_grad, clip_gradient)
    squares *= rho
    squares += (1 - rho) * (grad * grad)
    step = np.sqrt(deltas + epsilon) / np.sqrt(squares + epsilon) * grad
    deltas *= rho
    deltas += (1 - rho) * (step * step)
    return weight - with_decay(step, wd, weight)
