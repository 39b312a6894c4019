"""Adam's kin: Adamax, and Nadam, which is Adam with Nesterov's momentum."""

from __future__ import annotations

import numpy as np

from minpy.ops.optimizer.adam_updates import move_averages
from minpy.ops.optimizer.declaring import update
from minpy.ops.optimizer.updates import clipped, rescaled, with_decay

__all__ = ["adamax_update", "nadam_update"]

_TINY = float(np.finfo(np.float32).tiny)  # keeps the divisor from 0, and is lost beside any other


@update(states=("mean", "largest"), public=False)
def adamax_update(
    weight: np.ndarray,
    grad: np.ndarray,
    mean: np.ndarray,
    largest: np.ndarray,
    *,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> np.ndarray:
    """Return the weight after a step of Adamax, which is 0 where no gradient has come: see `mx.optimizer.Adamax`."""
    grad = clipped(with_decay(rescaled(grad, rescale_grad), wd, weight), clip_gradient)
    mean *= beta1
    mean += (1 - beta1) * grad
    largest *= beta2
    np.maximum(largest, np.abs(grad), out=largest)
    return weight - lr * mean / (largest + _TINY)


@update(states=("mean", "var"), public=False)
def nadam_update(
    weight: np.ndarray,
    grad: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    *,
    lr: float,
    of_grad: float,
    of_mean: float,
    of_var: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> np.ndarray:
    """Return the weight after a step of Nadam, whose schedule says the three factors: see `mx.optimizer.Nadam`."""
    grad = clipped(with_decay(rescaled(grad, rescale_grad), wd, weight), clip_gradient)
    move_averages(grad, mean, var, beta1, beta2)
    return weight - lr * (of_grad * grad + of_mean * mean) / (np.sqrt(of_var * var) + epsilon)
