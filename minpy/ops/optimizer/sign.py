"""Descent by the signs of gradients, and of their momentum."""

from __future__ import annotations

import numpy as np

from minpy.ops.optimizer.declaring import update
from minpy.ops.optimizer.updates import rescaled, with_decay

__all__ = ["signsgd_update", "signum_update"]


@update(
    attributes={
        "rescale_grad": "Accepted, and without effect on signs.",
        "clip_gradient": "Accepted, and without effect on signs.",
    }
)
def signsgd_update(
    weight: np.ndarray,
    grad: np.ndarray,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> np.ndarray:
    """Return the weight after a step of lr against each gradient's sign: (1 - lr · wd) · weight - lr · sign(grad).

    References
    ----------
    Bernstein et al., signSGD: Compressed Optimisation for Non-Convex Problems, ICML 2018, algorithms 1 and 2.

    Examples
    --------
    >>> from minpy import nd
    >>> weight = nd.array([1, 2, 3])
    >>> nd.signsgd_update(weight, nd.array([4, -1, 0]), lr=0.5, out=weight).asnumpy()
    array([0.5, 2.5, 3. ], dtype=float32)
    """
    return weight * (1 - lr * wd) - lr * np.sign(grad)


@update(
    states=("mom",), attributes={"wd_lh": "Weight decay that does not go through the momentum (Loshchilov and Hutter)."}
)
def signum_update(
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
    """Return the weight after a step of lr along the sign of the momentum.

    mom = momentum · mom - (1 - momentum) · (grad + wd · weight); (1 - lr · wd_lh) · weight + lr · sign(mom).

    References
    ----------
    Bernstein et al., signSGD: Compressed Optimisation for Non-Convex Problems, ICML 2018, algorithms 1 and 2.

    Examples
    --------
    >>> from minpy import nd
    >>> weight, mom = nd.array([1, 2, 3]), nd.zeros(3)
    >>> nd.signum_update(weight, nd.array([4, -1, 0]), mom, lr=0.5, momentum=0.75, out=weight).asnumpy()
    array([0.5, 2.5, 3. ], dtype=float32)
    >>> mom.asnumpy()
    array([-1.  ,  0.25,  0.  ], dtype=float32)
    """
    mom *= momentum
    mom -= (1 - momentum) * with_decay(rescaled(grad, rescale_grad, clip_gradient), wd, weight)
    return weight + lr * with_decay(np.sign(mom), -wd_lh, weight)
