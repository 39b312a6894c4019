"""Stochastic gradient descent: plain, with momentum, with Nesterov's momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.ops.optimizer.documenting import documented
from minpy.ops.optimizer.updates import Update, arithmetic_dtype, clipped, numbers_for, rescaled

__all__ = [
    "mp_nag_mom_update",
    "mp_sgd_mom_update",
    "mp_sgd_update",
    "nag_mom_update",
    "sgd_mom_update",
    "sgd_update",
]

_ARRAYS = "weight, grad : NDArray\n    Of equal shapes."
_WITH_MOMENTUM = "weight, grad, mom : NDArray\n    Of equal shapes; `mom` is changed in place."
_LOW = "weight, grad : NDArray\n    Of equal shapes and dtypes; usually float16."
_LOW_MOMENTUM = _LOW + "\nmom : NDArray\n    In float32; changed in place."
_MASTER = (
    "\nweight32 : NDArray\n    The weight in float32, changed in place: the update is made here, then rounded to the "
    "weight's dtype."
)


def _sgd_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    *,
    lr: float,
    wd: float,
    rescale_grad: float,
    clip_gradient: float,
    **unused: Any,
) -> None:
    number = numbers_for(weight)
    if clip_gradient < 0:
        step = np.multiply(grad, number[lr * rescale_grad], work[0])
    else:
        step = np.multiply(grad, number[rescale_grad], work[0])
        np.clip(step, -clip_gradient, clip_gradient, step)
        step *= number[lr]
    if wd:
        step += np.multiply(weight, number[lr * wd], work[1])
    np.subtract(weight, step, out)


def _sgd_mom_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    mom: np.ndarray,
    *,
    lr: float,
    momentum: float,
    wd: float,
    rescale_grad: float,
    clip_gradient: float,
    **unused: Any,
) -> None:
    number = numbers_for(weight)
    factor = lr * rescale_grad
    if clip_gradient < 0 and not wd and abs(factor) > 1e-6:
        # (For smaller factors mom / factor might overflow.)
        # momentum · mom - factor · grad as -factor · (mom · momentum / -factor + grad): in place, with no other array.
        mom *= number[momentum / -factor]
        mom += grad
        mom *= number[-factor]
    else:
        step = np.multiply(grad, number[rescale_grad], work[0])
        if clip_gradient >= 0:
            np.clip(step, -clip_gradient, clip_gradient, step)
        if wd:
            step += np.multiply(weight, number[wd], work[1])
        step *= number[lr]
        mom *= number[momentum]
        mom -= step
    np.add(weight, mom, out)


def _nag_mom_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    mom: np.ndarray,
    *,
    lr: float,
    momentum: float,
    wd: float,
    rescale_grad: float,
    clip_gradient: float,
    **unused: Any,
) -> None:
    number = numbers_for(weight)
    step, other = work[:2]
    rescaled(step, weight, grad, rescale_grad, clip_gradient, wd, other)
    step *= number[lr]
    mom *= number[momentum]
    mom -= step
    np.multiply(mom, number[momentum], other)
    other -= step
    np.add(weight, other, out)


@documented(
    "Return the weight after a step of gradient descent: weight - lr · (grad + wd · weight).",
    arrays=_ARRAYS,
    example="""
    >>> from minpy import nd
    >>> weight = nd.array([1, 2])
    >>> nd.sgd_update(weight, nd.array([1, -1]), lr=0.5, out=weight).asnumpy()
    array([0.5, 2.5], dtype=float32)
    """,
)
def _sgd_update(
    weight: np.ndarray,
    grad: np.ndarray,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> np.ndarray:
    dtype = arithmetic_dtype(weight.dtype)
    old = weight.astype(dtype)
    step = clipped(grad.astype(dtype) * rescale_grad, clip_gradient) + wd * old
    return (old - lr * step).astype(weight.dtype)


@documented(
    "Return the weight after a step with momentum: mom = momentum · mom - lr · (grad + wd · weight); weight + mom.",
    arrays=_WITH_MOMENTUM,
    example="""
    >>> from minpy import nd
    >>> weight, mom = nd.array([1, 2]), nd.array([2, 0])
    >>> nd.sgd_mom_update(weight, nd.array([1, -1]), mom, lr=0.5, momentum=0.5, out=weight).asnumpy()
    array([1.5, 2.5], dtype=float32)
    >>> mom.asnumpy()
    array([0.5, 0.5], dtype=float32)
    """,
)
def _sgd_mom_update(
    weight: np.ndarray,
    grad: np.ndarray,
    mom: np.ndarray,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> np.ndarray:
    mom[...] = momentum * mom - lr * (clipped(grad * rescale_grad, clip_gradient) + wd * weight)
    return weight + mom


@documented(
    "Return the weight after a step of gradient descent that is made in float32: see `sgd_update`.",
    arrays=_LOW + _MASTER,
    example="""
    >>> from minpy import nd
    >>> weight32 = nd.array([1, 2])
    >>> weight = weight32.astype('float16')
    >>> nd.mp_sgd_update(weight, nd.array([1, -1], dtype='float16'), weight32, lr=1e-4, out=weight).asnumpy()
    array([1., 2.], dtype=float16)
    >>> weight32.asnumpy()
    array([0.9999, 2.0001], dtype=float32)
    """,
)
def _mp_sgd_update(
    weight: np.ndarray,
    grad: np.ndarray,
    weight32: np.ndarray,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> np.ndarray:
    grad = grad.astype(weight32.dtype)
    weight32[...] = weight32 - lr * (clipped(grad * rescale_grad, clip_gradient) + wd * weight32)
    return weight32.astype(weight.dtype)


@documented(
    "Return the weight after a step with momentum that is made in float32: see `sgd_mom_update`.",
    arrays=_LOW_MOMENTUM + _MASTER,
    example="""
    >>> from minpy import nd
    >>> weight32, mom = nd.array([1, 2]), nd.zeros(2)
    >>> weight, grad = weight32.astype('float16'), nd.array([1, -1], dtype='float16')
    >>> nd.mp_sgd_mom_update(weight, grad, mom, weight32, lr=0.5, momentum=0.9, out=weight).asnumpy()
    array([0.5, 2.5], dtype=float16)
    >>> mom.asnumpy()
    array([-0.5,  0.5], dtype=float32)
    """,
)
def _mp_sgd_mom_update(
    weight: np.ndarray,
    grad: np.ndarray,
    mom: np.ndarray,
    weight32: np.ndarray,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> np.ndarray:
    grad = grad.astype(weight32.dtype)
    mom[...] = momentum * mom - lr * (clipped(grad * rescale_grad, clip_gradient) + wd * weight32)
    weight32[...] = weight32 + mom
    return weight32.astype(weight.dtype)


_NESTEROV = "Sutskever et al., On the importance of initialization and momentum in deep learning, ICML 2013, eq. 3-4."


@documented(
    """
    Return the weight after a step with Nesterov's momentum, which looks ahead.

    step = lr · (grad + wd · weight); mom = momentum · mom - step; weight + momentum · mom - step.
    """,
    arrays=_WITH_MOMENTUM,
    source=_NESTEROV,
    example="""
    >>> from minpy import nd
    >>> weight, mom = nd.array([1, 2]), nd.array([2, 0])
    >>> nd.nag_mom_update(weight, nd.array([1, -1]), mom, lr=0.5, momentum=0.5, out=weight).asnumpy()
    array([0.75, 2.75], dtype=float32)
    """,
)
def _nag_mom_update(
    weight: np.ndarray,
    grad: np.ndarray,
    mom: np.ndarray,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> np.ndarray:
    step = lr * (clipped(grad * rescale_grad, clip_gradient) + wd * weight)
    mom[...] = momentum * mom - step
    return weight + momentum * mom - step


@documented(
    "Return the weight after a step with Nesterov's momentum that is made in float32: see `nag_mom_update`.",
    arrays=_LOW_MOMENTUM + _MASTER,
    source=_NESTEROV,
    example="""
    >>> from minpy import nd
    >>> weight32, mom = nd.array([1, 2]), nd.array([2, 0])
    >>> weight, grad = weight32.astype('float16'), nd.array([1, -1], dtype='float16')
    >>> nd.mp_nag_mom_update(weight, grad, mom, weight32, lr=0.5, momentum=0.5, out=weight).asnumpy()
    array([0.75, 2.75], dtype=float16)
    """,
)
def _mp_nag_mom_update(
    weight: np.ndarray,
    grad: np.ndarray,
    mom: np.ndarray,
    weight32: np.ndarray,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> np.ndarray:
    step = lr * (clipped(grad.astype(weight32.dtype) * rescale_grad, clip_gradient) + wd * weight32)
    mom[...] = momentum * mom - step
    weight32[...] = weight32 + momentum * mom - step
    return weight32.astype(weight.dtype)


_MOM, _BOTH = ("mom",), ("mom", "weight32")
sgd_update = Update(_sgd_update, _sgd_step, name="sgd_update", work=2, allocates=True)
sgd_mom_update = Update(_sgd_mom_update, _sgd_mom_step, name="sgd_mom_update", work=2, states=_MOM, allocates=True)
mp_sgd_update = Update(_mp_sgd_update, _sgd_step, name="mp_sgd_update", work=2, states=("weight32",), master="weight32")
mp_sgd_mom_update = Update(
    _mp_sgd_mom_update, _sgd_mom_step, name="mp_sgd_mom_update", work=2, states=_BOTH, master="weight32"
)
nag_mom_update = Update(_nag_mom_update, _nag_mom_step, name="nag_mom_update", work=2, states=_MOM)
mp_nag_mom_update = Update(
    _mp_nag_mom_update, _nag_mom_step, name="mp_nag_mom_update", work=2, states=_BOTH, master="weight32"
)
