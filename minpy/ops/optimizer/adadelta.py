"""AdaGrad and AdaDelta: rates of their own for each element, from the squares of what it was given so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.ops.optimizer.updates import Update, clipped, rescaled

__all__ = ["adadelta_update", "adagrad_update"]


def _adagrad_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    history: np.ndarray,
    *,
    lr: float,
    wd: float,
    rescale_grad: float,
    clip_gradient: float,
    epsilon: float,
) -> None:
    step, other = work[:2]
    rescaled(step, weight, grad, rescale_grad, clip_gradient, 0.0, other)
    history += np.multiply(step, step, other)
    np.sqrt(np.add(history, epsilon, other), other)
    step /= other
    if wd:
        step += np.multiply(weight, wd, other)
    step *= lr
    np.subtract(weight, step, out)


def _adagrad(
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
    grad = clipped(grad * rescale_grad, clip_gradient)
    history[...] = history + grad * grad
    return weight - lr * (grad / np.sqrt(history + epsilon) + wd * weight)


def _adadelta_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    squares: np.ndarray,
    deltas: np.ndarray,
    *,
    rho: float,
    epsilon: float,
    wd: float,
    rescale_grad: float,
    clip_gradient: float,
) -> None:
    step, other = work[:2]
    rescaled(step, weight, grad, rescale_grad, clip_gradient, 0.0, other)
    np.multiply(step, step, other)
    other *= 1 - rho
    squares *= rho
    squares += other
    step *= np.sqrt(np.add(deltas, epsilon, other), other)
    step /= np.sqrt(np.add(squares, epsilon, other), other)
    np.multiply(step, step, other)
    other *= 1 - rho
    deltas *= rho
    deltas += other
    if wd:
        step += np.multiply(weight, wd, other)
    np.subtract(weight, step, out)


def _adadelta(
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
    grad = clipped(grad * rescale_grad, clip_gradient)
    squares[...] = rho * squares + (1 - rho) * grad * grad
    step = np.sqrt(deltas + epsilon) / np.sqrt(squares + epsilon) * grad
    deltas[...] = rho * deltas + (1 - rho) * step * step
    return weight - step - wd * weight


def _update(definition: Any, step: Any, name: str, *states: str) -> Update:
    return Update(definition, step, name=name, work=2, states=states, public=False)


adagrad_update = _update(_adagrad, _adagrad_step, "adagrad_update", "history")
adadelta_update = _update(_adadelta, _adadelta_step, "adadelta_update", "squares", "deltas")
