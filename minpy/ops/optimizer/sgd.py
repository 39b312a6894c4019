"""Stochastic gradient descent: plain, with momentum, with Nesterov's momentum; of one weight, and of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy.ops.optimizer.declaring import in_float32, update
from minpy.ops.optimizer.multi_updates import MultiUpdate
from minpy.ops.optimizer.updates import Update, arithmetic_dtype, numbers_for, rescaled, with_decay

__all__ = [
    "MULTI_UPDATES",
    "mp_nag_mom_update",
    "mp_sgd_mom_update",
    "mp_sgd_update",
    "nag_mom_update",
    "sgd_mom_update",
    "sgd_update",
]


def _sgd_step(
    temporaries: Sequence[Any],
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
        step = np.multiply(grad, number[lr * rescale_grad], temporaries[0])
    else:
        step = np.multiply(grad, number[rescale_grad], temporaries[0])
        np.clip(step, -clip_gradient, clip_gradient, step)
        step *= number[lr]
    if wd:
        step += np.multiply(weight, number[lr * wd], temporaries[1])
    np.subtract(weight, step, out)


def _sgd_mom_step(
    temporaries: Sequence[Any],
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
        step = np.multiply(grad, number[rescale_grad], temporaries[0])
        if clip_gradient >= 0:
            np.clip(step, -clip_gradient, clip_gradient, step)
        if wd:
            step += np.multiply(weight, number[wd], temporaries[1])
        step *= number[lr]
        mom *= number[momentum]
        mom -= step
    np.add(weight, mom, out)


@update(step=_sgd_step, num_temporaries=2)
def sgd_update(
    weight: np.ndarray,
    grad: np.ndarray,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> np.ndarray:
    """Return the weight after a step of gradient descent: weight - lr · (grad + wd · weight).

    Examples
    --------
    >>> from minpy import nd
    >>> weight = nd.array([1, 2])
    >>> nd.sgd_update(weight, nd.array([1, -1]), lr=0.5, out=weight).asnumpy()
    array([0.5, 2.5], dtype=float32)
    """
    dtype = arithmetic_dtype(weight.dtype)
    old = weight.astype(dtype)
    step = with_decay(rescaled(grad.astype(dtype), rescale_grad, clip_gradient), wd, old)
    return (old - lr * step).astype(weight.dtype)


@update(step=_sgd_mom_step, num_temporaries=2, states=("mom",))
def sgd_mom_update(
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
    """Return the weight after a step with momentum: mom = momentum · mom - lr · (grad + wd · weight); weight + mom.

    Examples
    --------
    >>> from minpy import nd
    >>> weight, mom = nd.array([1, 2]), nd.array([2, 0])
    >>> nd.sgd_mom_update(weight, nd.array([1, -1]), mom, lr=0.5, momentum=0.5, out=weight).asnumpy()
    array([1.5, 2.5], dtype=float32)
    >>> mom.asnumpy()
    array([0.5, 0.5], dtype=float32)
    """
    mom *= momentum
    mom -= lr * with_decay(rescaled(grad, rescale_grad, clip_gradient), wd, weight)
    return weight + mom


@update(states=("mom",))
def nag_mom_update(
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
    """Return the weight after a step with Nesterov's momentum, which looks ahead.

    step = lr · (grad + wd · weight); mom = momentum · mom - step; weight + momentum · mom - step.

    References
    ----------
    Sutskever et al., On the importance of initialization and momentum in deep learning, ICML 2013, eq. 3-4.

    Examples
    --------
    >>> from minpy import nd
    >>> weight, mom = nd.array([1, 2]), nd.array([2, 0])
    >>> nd.nag_mom_update(weight, nd.array([1, -1]), mom, lr=0.5, momentum=0.5, out=weight).asnumpy()
    array([0.75, 2.75], dtype=float32)
    """
    step = lr * with_decay(rescaled(grad, rescale_grad, clip_gradient), wd, weight)
    mom *= momentum
    mom -= step
    return weight + (momentum * mom - step)


mp_sgd_update = in_float32(
    sgd_update,
    """Return the weight after a step of gradient descent that is made in float32: see `sgd_update`.

    Examples
    --------
    >>> from minpy import nd
    >>> weight32 = nd.array([1, 2])
    >>> weight = weight32.astype('float16')
    >>> nd.mp_sgd_update(weight, nd.array([1, -1], dtype='float16'), weight32, lr=1e-4, out=weight).asnumpy()
    array([1., 2.], dtype=float16)
    >>> weight32.asnumpy()
    array([0.9999, 2.0001], dtype=float32)
    """,
)
mp_sgd_mom_update = in_float32(
    sgd_mom_update,
    """Return the weight after a step with momentum that is made in float32: see `sgd_mom_update`.

    Examples
    --------
    >>> from minpy import nd
    >>> weight32, mom = nd.array([1, 2]), nd.zeros(2)
    >>> weight, grad = weight32.astype('float16'), nd.array([1, -1], dtype='float16')
    >>> nd.mp_sgd_mom_update(weight, grad, mom, weight32, lr=0.5, momentum=0.9, out=weight).asnumpy()
    array([0.5, 2.5], dtype=float16)
    >>> mom.asnumpy()
    array([-0.5,  0.5], dtype=float32)
    """,
)
mp_nag_mom_update = in_float32(
    nag_mom_update,
    """Return the weight after a step with Nesterov's momentum that is made in float32: see `nag_mom_update`.

    References
    ----------
    Sutskever et al., On the importance of initialization and momentum in deep learning, ICML 2013, eq. 3-4.

    Examples
    --------
    >>> from minpy import nd
    >>> weight32, mom = nd.array([1, 2]), nd.array([2, 0])
    >>> weight, grad = weight32.astype('float16'), nd.array([1, -1], dtype='float16')
    >>> nd.mp_nag_mom_update(weight, grad, mom, weight32, lr=0.5, momentum=0.5, out=weight).asnumpy()
    array([0.75, 2.75], dtype=float16)
    """,
)

# -- several weights, with rates as numbers or in arrays ---------------------------------------------------------------

_EXAMPLE = """
Examples
--------
>>> from minpy import nd
>>> grad = nd.array([1, -1], dtype='{dtype}')
>>> weights = [nd.array([1, 2], dtype='{dtype}') for _ in range(2)]
>>> data = [array for weight in weights for array in (weight, grad{states})]
>>> updated = nd.{name}(*data, {rates}, num_weights=2, out=weights)
>>> updated[0].asnumpy(), updated[1].asnumpy()
(array([0.5, 2.5], dtype={dtype}), array([0.75, 2.25], dtype={dtype}))
"""
_RATES = {False: "lrs=(0.5, 0.25), wds=(0, 0)", True: "nd.array([0.5, 0.25]), nd.array([0, 0])"}


def _define_multi(single: Update, preloaded: bool) -> MultiUpdate:
    """Make the update of several weights from that of one; `preloaded` takes the rates in arrays."""
    name = f"{'preloaded_' if preloaded else ''}multi_{single.__name__}"
    momentum = "momentum " if "momentum" in single.signature.attributes else ""
    rates = "" if preloaded else "lrs wds "
    example = _EXAMPLE.format(
        name=name,
        dtype="float16" if single.has_master else "float32",
        states=(", nd.zeros(2)" if momentum else "") + (", nd.array([1, 2])" if single.has_master else ""),
        rates=_RATES[preloaded],
    )
    return MultiUpdate(
        single,
        f"Return several weights after the step of `{single.__name__}` each, in one call.\n{example}",
        name=name,
        attributes=f"{rates}{momentum}rescale_grad clip_gradient num_weights",
        rates={"lrs": "lr", "wds": "wd"},
        shared=("lrs", "wds") if preloaded else (),
    )


MULTI_UPDATES = {
    operator.__name__: operator
    for operator in (
        _define_multi(single, preloaded)
        for preloaded in (False, True)
        for single in (sgd_update, sgd_mom_update, mp_sgd_update, mp_sgd_mom_update)
    )
}
