"""Adam, and AdamW, whose weight decay is separate from the gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy.ops.optimizer.declaring import CLIPS_SUM, in_float32, update
from minpy.ops.optimizer.multi_updates import MultiUpdate
from minpy.ops.optimizer.updates import clipped, numbers_for, rescaled, with_decay

__all__ = [
    "adam_update",
    "adamw_update",
    "move_averages",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_mp_adamw_update",
]

_STATES = "weight, grad, mean, var : NDArray\n    Of equal shapes; `mean` and `var` are changed in place.\n"
_LOW_PRECISION = """weight, grad : NDArray
    Of equal shapes and dtypes; usually float16.
mean, var : NDArray
    In float32; changed in place.
weight32 : NDArray
    The weight in float32, changed in place: the update is made here, then rounded to the weight's dtype.
"""
_RESCALE = """rescale_grad : NDArray
    One number, of shape (1,), which multiplies the gradient first. If it is 0 or not finite, as a loss scale
    is after an overflow, nothing is changed."""


def move_averages(grad: Any, mean: np.ndarray, var: np.ndarray, beta1: float, beta2: float) -> None:
    """Move the averages of a gradient and of its square. For definitions."""
    mean *= beta1
    mean += (1 - beta1) * grad
    var *= beta2
    var += (1 - beta2) * (grad * grad)


def _adam_step(
    temporaries: Sequence[Any],
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
    scale = rescale_grad
    if clip_gradient >= 0 or wd or not 1e-9 < scale < 1e9:
        # (Otherwise the averages' factors take up the scale, without a copy; squares of more extreme scales overflow.)
        grad = grad * number[scale]
        if wd:
            grad += weight * number[wd]
        grad, scale = clipped(grad, clip_gradient), 1.0
    step = np.multiply(grad, number[scale * (1 - beta1)], temporaries[0])
    mean *= number[beta1]
    mean += step
    np.multiply(grad, grad, step)
    step *= number[scale * scale * (1 - beta2)]
    var *= number[beta2]
    var += step
    np.sqrt(var, step)
    step += number[epsilon]
    np.divide(mean, step, step)
    step *= number[lr]
    np.subtract(weight, step, out)


@update(
    step=_adam_step,
    num_temporaries=1,
    states=("mean", "var"),
    attributes=CLIPS_SUM,
)
def adam_update(
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
    """Return the weight after a step of Adam.

    g = clip(rescale_grad · grad + wd · weight); mean = beta1 · mean + (1 - beta1) · g;
    var = beta2 · var + (1 - beta2) · g²; weight - lr · mean / (√var + epsilon). Bias correction is up to the caller,
    by way of `lr`.

    References
    ----------
    Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015, algorithm 1, without bias correction.

    Examples
    --------
    >>> from minpy import nd
    >>> weight, mean, var = nd.array([1, 2]), nd.zeros(2), nd.zeros(2)
    >>> nd.adam_update(weight, nd.array([1, -2]), mean, var, lr=0.1, beta1=0.5, beta2=0.75, out=weight).asnumpy()
    array([0.9, 2.1], dtype=float32)
    >>> mean.asnumpy(), var.asnumpy()
    (array([ 0.5, -1. ], dtype=float32), array([0.25, 1.  ], dtype=float32))
    """
    grad = clipped(with_decay(rescaled(grad, rescale_grad), wd, weight), clip_gradient)
    move_averages(grad, mean, var, beta1, beta2)
    return weight - lr * (mean / (np.sqrt(var) + epsilon))


@update(name="_adamw_update", states=("mean", "var"), numbers=("rescale_grad",), arrays=_STATES + _RESCALE)
def adamw_update(
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
    """Return the weight after a step of AdamW.

    g = clip(rescale_grad · grad); mean = beta1 · mean + (1 - beta1) · g; var = beta2 · var + (1 - beta2) · g²;
    weight - eta · (lr · mean / (√var + epsilon) + wd · weight).

    References
    ----------
    Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2.

    Examples
    --------
    >>> from minpy import nd
    >>> weight, mean, var = nd.array([1, 2]), nd.zeros(2), nd.zeros(2)
    >>> nd.contrib.adamw_update(
    ...     weight, nd.array([1, -2]), mean, var, 1.0, lr=0.1, eta=1.0, wd=0.5, beta1=0.5, beta2=0.75, out=weight
    ... ).asnumpy().round(3)
    array([0.4, 1.1], dtype=float32)
    """
    # (Blocks of large arrays are given the number.)
    scale = rescale_grad if isinstance(rescale_grad, float) else rescale_grad.reshape(-1)[0].astype(weight.dtype)
    if not math.isfinite(scale) or scale == 0:
        return weight.copy()
    move_averages(rescaled(grad, scale, clip_gradient), mean, var, beta1, beta2)
    step = eta * lr * (mean / (np.sqrt(var) + epsilon))
    return weight - with_decay(step, eta * wd, weight)


mp_adamw_update = in_float32(
    adamw_update,
    """Return the weight after a step of AdamW that is made in float32: see `nd.contrib.adamw_update`.

    References
    ----------
    Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2.

    Examples
    --------
    >>> from minpy import nd
    >>> weight32, mean, var = nd.array([1, 2]), nd.zeros(2), nd.zeros(2)
    >>> weight, grad = weight32.astype('float16'), nd.array([1, -2], dtype='float16')
    >>> nd.contrib.mp_adamw_update(
    ...     weight, grad, mean, var, weight32, 1.0, lr=0.5, eta=1.0, beta1=0.5, beta2=0.75, out=weight
    ... ).asnumpy()
    array([0.5, 2.5], dtype=float16)
    """,
    arrays=_LOW_PRECISION + _RESCALE,
)

_RATES = {"lrs": "lr", "wds": "wd", "etas": "eta"}
_ORDER = "lrs beta1 beta2 epsilon wds etas clip_gradient num_weights"
multi_adamw_update = MultiUpdate(
    adamw_update,
    """Return several weights after a step of AdamW each: see `nd.contrib.adamw_update`.

    References
    ----------
    Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2.

    Examples
    --------
    >>> from minpy import nd
    >>> arrays = [nd.array([1, 2]), nd.array([1, -2]), nd.zeros(2), nd.zeros(2)]
    >>> nd.contrib.multi_adamw_update(
    ...     *[[array] for array in arrays], 1.0, lrs=[0.1], wds=[0.5], etas=[1.0], beta1=0.5, beta2=0.75, out=arrays[:1]
    ... )[0].asnumpy().round(3)
    array([0.4, 1.1], dtype=float32)
    """,
    name="_multi_adamw_update",
    attributes=_ORDER,
    rates=_RATES,
    shared=("rescale_grad",),
)
multi_mp_adamw_update = MultiUpdate(
    mp_adamw_update,
    """Return several weights after a step of AdamW each that is made in float32: see `nd.contrib.mp_adamw_update`.

    References
    ----------
    Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2.

    Examples
    --------
    >>> from minpy import nd
    >>> weight32, mean, var = nd.array([1, 2]), nd.zeros(2), nd.zeros(2)
    >>> weight, grad = weight32.astype('float16'), nd.array([1, -2], dtype='float16')
    >>> nd.contrib.multi_mp_adamw_update(
    ...     [weight], [grad], [mean], [var], [weight32], 1.0, lrs=[0.1], wds=[0.5], etas=[1.0], out=[weight]
    ... )[0].shape
    (2,)
    """,
    name="_multi_mp_adamw_update",
    attributes=_ORDER,
    rates=_RATES,
    shared=("rescale_grad",),
)
