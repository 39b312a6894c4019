"""Descent by the signs of gradients, and of their momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.ops.optimizer.documenting import documented
from minpy.ops.optimizer.updates import Update, clipped, rescaled

__all__ = ["signsgd_update", "signum_update"]

_SOURCE = "Bernstein et al., signSGD: Compressed Optimisation for Non-Convex Problems, ICML 2018, algorithms 1 and 2."


def _signsgd_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    *,
    lr: float,
    wd: float,
    **unused: Any,
) -> None:
    np.sign(grad, work[0])
    work[0] *= lr
    np.multiply(weight, 1 - lr * wd, out)
    out -= work[0]


def _signum_step(
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
    wd_lh: float,
) -> None:
    rescaled(work[0], weight, grad, rescale_grad, clip_gradient, wd, work[1])
    work[0] *= 1 - momentum
    mom *= momentum
    mom -= work[0]
    np.sign(mom, work[0])
    work[0] *= lr
    np.multiply(weight, 1 - lr * wd_lh, out)
    out += work[0]


@documented(
    "Return the weight after a step of lr against each gradient's sign: (1 - lr · wd) · weight - lr · sign(grad).",
    arrays="weight, grad : NDArray\n    Of equal shapes.",
    rescale_grad="Accepted, and without effect on signs.",
    clip_gradient="Accepted, and without effect on signs.",
    source=_SOURCE,
    example="""
    >>> from minpy import nd
    >>> weight = nd.array([1, 2, 3])
    >>> nd.signsgd_update(weight, nd.array([4, -1, 0]), lr=0.5, out=weight).asnumpy()
    array([0.5, 2.5, 3. ], dtype=float32)
    """,
)
def _signsgd_update(
    weight: np.ndarray,
    grad: np.ndarray,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> np.ndarray:
    return weight * (1 - lr * wd) - np.sign(grad) * lr


@documented(
    """
    Return the weight after a step of lr along the sign of the momentum.

    mom = momentum · mom - (1 - momentum) · (grad + wd · weight); (1 - lr · wd_lh) · weight + lr · sign(mom).
    """,
    arrays="weight, grad, mom : NDArray\n    Of equal shapes; `mom` is changed in place.",
    wd_lh="Weight decay that does not go through the momentum (Loshchilov and Hutter).",
    source=_SOURCE,
    example="""
    >>> from minpy import nd
    >>> weight, mom = nd.array([1, 2, 3]), nd.zeros(3)
    >>> nd.signum_update(weight, nd.array([4, -1, 0]), mom, lr=0.5, momentum=0.75, out=weight).asnumpy()
    array([0.5, 2.5, 3. ], dtype=float32)
    >>> mom.asnumpy()
    array([-1.  ,  0.25,  0.  ], dtype=float32)
    """,
)
def _signum_update(
    weight: np.ndarray,
    grad: np.ndarray,
    mom: np.ndarray,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    wd_lh: float = 0.0,
) -> np.ndarray:
    mom[...] = momentum * mom - (1 - momentum) * (clipped(grad * rescale_grad, clip_gradient) + wd * weight)
    return weight * (1 - lr * wd_lh) + lr * np.sign(mom)


signsgd_update = Update(_signsgd_update, _signsgd_step, name="signsgd_update")
signum_update = Update(_signum_update, _signum_step, name="signum_update", work=2, states=("mom",))
