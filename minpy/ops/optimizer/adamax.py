"""Adam's kin: Adamax, and Nadam, which is Adam with Nesterov's momentum."""

from __future__ import annotations

import numpy as np

from minpy.ops.optimizer.adam import decayed, move_averages
from minpy.ops.optimizer.updates import Update, clipped

__all__ = ["adamax_update", "nadam_update"]


def _adamax_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    mean: np.ndarray,
    largest: np.ndarray,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    wd: float,
    rescale_grad: float,
    clip_gradient: float,
) -> None:
    step, other = work[:2]
    decayed(step, weight, grad, rescale_grad, clip_gradient, wd, other)
    np.multiply(step, 1 - beta1, other)
    mean *= beta1
    mean += other
    largest *= beta2
    np.maximum(largest, np.abs(step, step), out=largest)
    np.multiply(mean, lr, step)
    np.divide(step, largest, step, where=largest != 0)  # where no gradient has come yet, the step is 0
    np.subtract(weight, step, out)


def _adamax(
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
    """Return the weight after a step of Adamax: see `mx.optimizer.Adamax`."""
    grad = clipped(grad * rescale_grad + wd * weight, clip_gradient)
    mean[...] = beta1 * mean + (1 - beta1) * grad
    largest[...] = np.maximum(beta2 * largest, np.abs(grad))
    return weight - np.divide(lr * mean, largest, np.zeros_like(mean), where=largest != 0)


def _nadam_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    *,
    lr: float,
    of_grad: float,
    of_mean: float,
    of_var: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    wd: float,
    rescale_grad: float,
    clip_gradient: float,
) -> None:
    step, other, direction = work[:3]
    decayed(step, weight, grad, rescale_grad, clip_gradient, wd, other)
    np.multiply(step, of_grad, direction)
    move_averages(step, mean, var, beta1, beta2, other)
    direction += np.multiply(mean, of_mean, other)
    np.multiply(var, of_var, other)
    np.sqrt(other, other)
    other += epsilon
    direction /= other
    direction *= lr
    np.subtract(weight, direction, out)


def _nadam(
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
    grad = clipped(grad * rescale_grad + wd * weight, clip_gradient)
    mean[...] = beta1 * mean + (1 - beta1) * grad
    var[...] = beta2 * var + (1 - beta2) * grad * grad
    return weight - lr * (of_grad * grad + of_mean * mean) / (np.sqrt(of_var * var) + epsilon)


adamax_update = Update(_adamax, _adamax_step, name="adamax_update", work=2, states=("mean", "largest"), public=False)
nadam_update = Update(_nadam, _nadam_step, name="nadam_update", work=3, states=("mean", "var"), public=False)
