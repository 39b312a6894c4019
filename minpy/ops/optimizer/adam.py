"""Adam, and AdamW, whose weight decay is apart from the gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minpy.ops.optimizer.documenting import documented
from minpy.ops.optimizer.multi_updates import MultiUpdate
from minpy.ops.optimizer.updates import Update, clipped, numbers_for, rescaled

__all__ = [
    "adam_update",
    "adamw_update",
    "decayed",
    "move_averages",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_mp_adamw_update",
]

_STATES = "weight, grad, mean, var : NDArray\n    Of equal shapes; `mean` and `var` are changed in place."
_LOW = (
    "weight, grad : NDArray\n    Of equal shapes and dtypes; usually float16.\n"
    "mean, var : NDArray\n    In float32; changed in place."
)
_MASTER = (
    "\nweight32 : NDArray\n    The weight in float32, changed in place: the update is made here, then rounded to the "
    "weight's dtype."
)
_RESCALE = (
    "\nrescale_grad : NDArray\n    One number, of shape (1,), which multiplies the gradient first. If it is 0 or not "
    "finite, as a loss scale\n    is after an overflow, nothing is changed."
)
_ADAM = "Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015, algorithm 1, without bias correction."
_ADAMW = "Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2."


def decayed(
    out: np.ndarray, weight: np.ndarray, grad: np.ndarray, rescale: float, clip: float, wd: float, work: np.ndarray
) -> None:
    """Write the clipped sum of the rescaled gradient and wd · weight into `out`. For steps; `work` is for them to use.

    (Other than in `rescaled`, weight decay is clipped, too.)
    """
    rescaled(out, weight, grad, rescale, -1.0, wd, work)
    if clip >= 0:
        np.clip(out, -clip, clip, out)


def move_averages(
    grad: np.ndarray, mean: np.ndarray, var: np.ndarray, beta1: float, beta2: float, work: np.ndarray
) -> None:
    """Move the averages of a gradient and of its square; `grad` is overwritten."""
    number = numbers_for(grad)
    np.multiply(grad, number[1 - beta1], work)
    mean *= number[beta1]
    mean += work
    grad *= grad
    grad *= number[1 - beta2]
    var *= number[beta2]
    var += grad


def _adam_step(
    work: list[Any],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    wd: float,
    rescale_grad: float,
    clip_gradient: float,
    **unused: Any,
) -> None:
    number = numbers_for(weight)
    step, other = work[:2]
    if clip_gradient < 0 and not wd and 1e-9 < rescale_grad < 1e9:
        # The gradient need not be copied: its factor is that of its averages, too. (Squares of others might overflow.)
        step = np.multiply(grad, number[rescale_grad * (1 - beta1)], step)
        mean *= number[beta1]
        mean += step
        np.multiply(grad, grad, step)
        step *= number[rescale_grad * rescale_grad * (1 - beta2)]
        var *= number[beta2]
        var += step
    else:
        if step is None:
            step, other = np.empty(weight.shape, weight.dtype), np.empty(weight.shape, weight.dtype)
        decayed(step, weight, grad, rescale_grad, clip_gradient, wd, other)
        move_averages(step, mean, var, beta1, beta2, other)
    np.sqrt(var, step)
    step += number[epsilon]
    np.divide(mean, step, step)
    step *= number[lr]
    np.subtract(weight, step, out)


def _adamw_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    *,
    rescale_grad: float,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    wd: float,
    eta: float,
    clip_gradient: float,
) -> None:
    if not math.isfinite(rescale_grad) or rescale_grad == 0:
        if out is not weight:
            np.copyto(out, weight)
        return
    step, other = work[:2]
    rescaled(step, weight, grad, rescale_grad, clip_gradient, 0.0, other)
    move_averages(step, mean, var, beta1, beta2, other)
    np.sqrt(var, step)
    step += epsilon
    np.divide(mean, step, step)
    step *= eta * lr
    if wd:
        np.multiply(weight, eta * wd, other)
        step += other
    np.subtract(weight, step, out)


@documented(
    """
    Return the weight after a step of Adam.

    g = clip(rescale_grad · grad + wd · weight); mean = beta1 · mean + (1 - beta1) · g;
    var = beta2 · var + (1 - beta2) · g²; weight - lr · mean / (√var + epsilon). Bias correction is up to the caller,
    by way of `lr`.
    """,
    arrays=_STATES,
    clip_gradient="Clips the sum of gradient and weight decay to [-clip_gradient, clip_gradient]; not if negative.",
    source=_ADAM,
    example="""
    >>> from minpy import nd
    >>> weight, mean, var = nd.array([1, 2]), nd.zeros(2), nd.zeros(2)
    >>> nd.adam_update(weight, nd.array([1, -2]), mean, var, lr=0.1, beta1=0.5, beta2=0.75, out=weight).asnumpy()
    array([0.9, 2.1], dtype=float32)
    >>> mean.asnumpy(), var.asnumpy()
    (array([ 0.5, -1. ], dtype=float32), array([0.25, 1.  ], dtype=float32))
    """,
)
def _adam_update(
    weight: np.ndarray,
    grad: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    *,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> np.ndarray:
    grad = clipped(grad * rescale_grad + wd * weight, clip_gradient)
    mean[...] = beta1 * mean + (1 - beta1) * grad
    var[...] = beta2 * var + (1 - beta2) * grad * grad
    return weight - lr * mean / (np.sqrt(var) + epsilon)


def _adamw(weight: Any, grad: Any, mean: Any, var: Any, rescale_grad: Any, **attributes: float) -> Any:
    scale = rescale_grad.reshape(-1)[0]
    if not np.isfinite(scale) or scale == 0:
        return weight.copy()
    beta1, beta2 = attributes["beta1"], attributes["beta2"]
    grad = clipped(grad.astype(weight.dtype) * scale, attributes["clip_gradient"])
    mean[...] = beta1 * mean + (1 - beta1) * grad
    var[...] = beta2 * var + (1 - beta2) * grad * grad
    step = attributes["lr"] * mean / (np.sqrt(var) + attributes["epsilon"]) + attributes["wd"] * weight
    return weight - attributes["eta"] * step


@documented(
    """
    Return the weight after a step of AdamW.

    g = clip(rescale_grad · grad); mean = beta1 · mean + (1 - beta1) · g; var = beta2 · var + (1 - beta2) · g²;
    weight - eta · (lr · mean / (√var + epsilon) + wd · weight).
    """,
    arrays=_STATES + _RESCALE,
    source=_ADAMW,
    example="""
    >>> from minpy import nd
    >>> weight, mean, var = nd.array([1, 2]), nd.zeros(2), nd.zeros(2)
    >>> nd.contrib.adamw_update(
    ...     weight, nd.array([1, -2]), mean, var, 1.0, lr=0.1, eta=1.0, wd=0.5, beta1=0.5, beta2=0.75, out=weight
    ... ).asnumpy().round(3)
    array([0.4, 1.1], dtype=float32)
    """,
)
def _adamw_update(
    weight: np.ndarray,
    grad: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    rescale_grad: np.ndarray,
    *,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    eta: float,
    clip_gradient: float = -1.0,
) -> np.ndarray:
    return _adamw(
        weight,
        grad,
        mean,
        var,
        rescale_grad,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        wd=wd,
        eta=eta,
        clip_gradient=clip_gradient,
    )


@documented(
    "Return the weight after a step of AdamW that is made in float32: see `nd.contrib.adamw_update`.",
    arrays=_LOW + _MASTER + _RESCALE,
    source=_ADAMW,
    example="""
    >>> from minpy import nd
    >>> weight32, mean, var = nd.array([1, 2]), nd.zeros(2), nd.zeros(2)
    >>> weight, grad = weight32.astype('float16'), nd.array([1, -2], dtype='float16')
    >>> nd.contrib.mp_adamw_update(
    ...     weight, grad, mean, var, weight32, 1.0, lr=0.5, eta=1.0, beta1=0.5, beta2=0.75, out=weight
    ... ).asnumpy()
    array([0.5, 2.5], dtype=float16)
    """,
)
def _mp_adamw_update(
    weight: np.ndarray,
    grad: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    weight32: np.ndarray,
    rescale_grad: np.ndarray,
    *,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    eta: float,
    clip_gradient: float = -1.0,
) -> np.ndarray:
    weight32[...] = _adamw(
        weight32,
        grad,
        mean,
        var,
        rescale_grad,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        wd=wd,
        eta=eta,
        clip_gradient=clip_gradient,
    )
    return weight32.astype(weight.dtype)


adam_update = Update(_adam_update, _adam_step, name="adam_update", work=2, states=("mean", "var"), allocates=True)
adamw_update = Update(
    _adamw_update,
    _adamw_step,
    name="_adamw_update",
    work=2,
    states=("mean", "var"),
    numbers=("rescale_grad",),
)
mp_adamw_update = Update(
    _mp_adamw_update,
    _adamw_step,
    name="_mp_adamw_update",
    work=2,
    states=("mean", "var", "weight32"),
    numbers=("rescale_grad",),
    master="weight32",
)


# -- several weights ---------------------------------------------------------------------------------------------------


@documented(
    "Return several weights after a step of AdamW each: see `nd.contrib.adamw_update`.",
    arrays="*data : NDArray\n    weight, grad, mean, var of each weight, then rescale_grad, which is of shape (1,).",
    source=_ADAMW,
    example="""
    >>> from minpy import nd
    >>> arrays = [nd.array([1, 2]), nd.array([1, -2]), nd.zeros(2), nd.zeros(2)]
    >>> nd.contrib.multi_adamw_update(
    ...     *[[array] for array in arrays], 1.0, lrs=[0.1], wds=[0.5], etas=[1.0], beta1=0.5, beta2=0.75, out=arrays[:1]
    ... )[0].asnumpy().round(3)
    array([0.4, 1.1], dtype=float32)
    """,
)
def _multi_adamw_update(
    *data: np.ndarray,
    lrs: tuple[float, ...],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wds: tuple[float, ...],
    etas: tuple[float, ...],
    clip_gradient: float = -1.0,
    num_weights: int = 1,
) -> tuple[np.ndarray, ...]:
    return multi_adamw_update.defined(
        data,
        {
            "lrs": lrs,
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": epsilon,
            "wds": wds,
            "etas": etas,
            "clip_gradient": clip_gradient,
            "num_weights": num_weights,
        },
    )


@documented(
    "Return several weights after a step of AdamW each that is made in float32: see `nd.contrib.mp_adamw_update`.",
    arrays=("*data : NDArray\n    weight, grad, mean, var, weight32 of each weight, then rescale_grad of shape (1,)."),
    source=_ADAMW,
    example="""
    >>> from minpy import nd
    >>> weight32, mean, var = nd.array([1, 2]), nd.zeros(2), nd.zeros(2)
    >>> weight, grad = weight32.astype('float16'), nd.array([1, -2], dtype='float16')
    >>> nd.contrib.multi_mp_adamw_update(
    ...     [weight], [grad], [mean], [var], [weight32], 1.0, lrs=[0.1], wds=[0.5], etas=[1.0], out=[weight]
    ... )[0].shape
    (2,)
    """,
)
def _multi_mp_adamw_update(
    *data: np.ndarray,
    lrs: tuple[float, ...],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wds: tuple[float, ...],
    etas: tuple[float, ...],
    clip_gradient: float = -1.0,
    num_weights: int = 1,
) -> tuple[np.ndarray, ...]:
    return multi_mp_adamw_update.defined(
        data,
        {
            "lrs": lrs,
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": epsilon,
            "wds": wds,
            "etas": etas,
            "clip_gradient": clip_gradient,
            "num_weights": num_weights,
        },
    )


_LISTS = {"lrs": "lr", "wds": "wd", "etas": "eta"}
multi_adamw_update = MultiUpdate(
    _multi_adamw_update, adamw_update, name="_multi_adamw_update", lists=_LISTS, shared=("rescale_grad",)
)
multi_mp_adamw_update = MultiUpdate(
    _multi_mp_adamw_update, mp_adamw_update, name="_multi_mp_adamw_update", lists=_LISTS, shared=("rescale_grad",)
)
