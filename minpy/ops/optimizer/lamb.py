"""LAMB: Adam's steps, scaled layer by layer to the norms of the weights. LARS: learning rates scaled that way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy.ops.inference.partial_shapes import same_dtype, same_shape
from minpy.ops.optimizer.adam_updates import move_averages
from minpy.ops.optimizer.declaring import in_float32, keyword_parameters, update, with_signature
from minpy.ops.optimizer.multi_updates import MultiUpdate
from minpy.ops.optimizer.updates import Update, arithmetic_dtype, rescaled, with_decay
from minpy.ops.registry import operator

__all__ = [
    "lamb_update",
    "lamb_update_phase1",
    "lamb_update_phase2",
    "mp_lamb_update",
    "mp_lamb_update_phase1",
    "mp_lamb_update_phase2",
    "multi_lamb_update",
    "multi_lars",
    "multi_mp_lamb_update",
]


@update(states=("mean", "var"))
def lamb_update_phase1(
    weight: np.ndarray,
    grad: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    *,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    t: int,
    bias_correction: bool = True,
    wd: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> np.ndarray:
    """Return the step of LAMB before it is scaled: Adam's direction, plus wd · weight.

    g = clip(rescale_grad · grad); mean = beta1 · mean + (1 - beta1) · g; var = beta2 · var + (1 - beta2) · g²;
    mean' / (√var' + epsilon) + wd · weight, where mean' = mean / (1 - beta1ᵗ) and var' = var / (1 - beta2ᵗ) with
    `bias_correction`, else mean and var. `lamb_update_phase2` makes the step.

    References
    ----------
    You et al., Large Batch Optimization for Deep Learning: Training BERT in 76 minutes, ICLR 2020, algorithm 2.

    Examples
    --------
    >>> from minpy import nd
    >>> weight, mean, var = nd.array([1, 2]), nd.zeros(2), nd.zeros(2)
    >>> nd.lamb_update_phase1(weight, nd.array([1, -2]), mean, var, t=1, wd=0.5).asnumpy().round(3)
    array([1.5, 0. ], dtype=float32)
    """
    move_averages(rescaled(grad.astype(mean.dtype), rescale_grad, clip_gradient), mean, var, beta1, beta2)
    mean_correction, var_correction = (1 - beta1**t, 1 - beta2**t) if bias_correction else (1.0, 1.0)
    return with_decay(mean / (mean_correction * (np.sqrt(var / var_correction) + epsilon)), wd, weight)


@update(
    numbers=("r1", "r2"),
    arrays="""weight, g : NDArray
    Of equal shapes; `g` is what `lamb_update_phase1` returned.
r1, r2 : NDArray
    The norms of `weight` and `g`, of shape (1,).""",
)
def lamb_update_phase2(
    weight: np.ndarray,
    g: np.ndarray,
    r1: np.ndarray,
    r2: np.ndarray,
    *,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
) -> np.ndarray:
    """Return the weight after a step of LAMB: weight - lr · (r1 / r2) · g.

    Where `r1` or `r2` is 0, their ratio counts as 1.

    References
    ----------
    You et al., Large Batch Optimization for Deep Learning: Training BERT in 76 minutes, ICLR 2020, algorithm 2.

    Examples
    --------
    >>> from minpy import nd
    >>> weight, g = nd.array([3, 4]), nd.array([0, 10])
    >>> nd.lamb_update_phase2(weight, g, weight.norm(), g.norm(), lr=0.5, out=weight).asnumpy()
    array([3. , 1.5], dtype=float32)
    """
    dtype = arithmetic_dtype(weight.dtype)
    scale = np.reshape(r1, (1,) * weight.ndim).astype(dtype)
    if lower_bound >= 0:
        scale = np.maximum(scale, lower_bound)
    if upper_bound >= 0:
        scale = np.minimum(scale, upper_bound)
    norm = np.reshape(r2, (1,) * weight.ndim).astype(dtype)
    is_scaled = np.logical_and(scale != 0, norm != 0)
    trust = np.where(is_scaled, scale / np.where(is_scaled, norm, 1), 1)
    return (weight.astype(dtype) - lr * trust.astype(dtype) * g.astype(dtype)).astype(weight.dtype)


mp_lamb_update_phase1 = in_float32(
    lamb_update_phase1,
    """Return the step of LAMB before it is scaled, in float32: see `lamb_update_phase1`.

    References
    ----------
    You et al., Large Batch Optimization for Deep Learning: Training BERT in 76 minutes, ICLR 2020, algorithm 2.

    Examples
    --------
    >>> from minpy import nd
    >>> weight32, mean, var = nd.array([1, 2]), nd.zeros(2), nd.zeros(2)
    >>> weight, grad = weight32.astype('float16'), nd.array([1, -2], dtype='float16')
    >>> nd.mp_lamb_update_phase1(weight, grad, mean, var, weight32, t=1, wd=0.5).asnumpy().round(3)
    array([1.5, 0. ], dtype=float32)
    """,
    arrays="""weight, grad : NDArray
    Of equal shapes and dtypes; usually float16.
mean, var : NDArray
    In float32; changed in place.
weight32 : NDArray
    The weight in float32.""",
    moves_master=False,
)
mp_lamb_update_phase2 = in_float32(
    lamb_update_phase2,
    """Return the weight after a step of LAMB that is made in float32: see `lamb_update_phase2`.

    References
    ----------
    You et al., Large Batch Optimization for Deep Learning: Training BERT in 76 minutes, ICLR 2020, algorithm 2.

    Examples
    --------
    >>> from minpy import nd
    >>> weight32, g = nd.array([3, 4]), nd.array([0, 10])
    >>> weight = weight32.astype('float16')
    >>> nd.mp_lamb_update_phase2(weight, g, weight32.norm(), g.norm(), weight32, lr=0.5, out=weight).asnumpy()
    array([3. , 1.5], dtype=float16)
    """,
    inputs=("weight", "g", "r1", "r2", "weight32"),
    arrays="""weight : NDArray
    Usually in float16.
g : NDArray
    What `mp_lamb_update_phase1` returned, in float32.
r1, r2 : NDArray
    The norms of `weight32` and `g`, of shape (1,).
weight32 : NDArray
    The weight in float32, changed in place.""",
)


# -- several weights ---------------------------------------------------------------------------------------------------


class _Lamb(Update):
    """Both phases of one weight, and the norms between them."""

    def apply(self, out: np.ndarray, raws: Sequence[Any], attributes: dict[str, Any]) -> None:
        """Write the new weight into `out`, and move the states."""
        weight = raws[self.blocked[0]]
        step = np.empty(weight.shape, arithmetic_dtype(weight.dtype))
        phase1 = mp_lamb_update_phase1 if self.has_master else lamb_update_phase1
        phase1.apply(step, raws, _attributes_of(phase1, attributes))
        # (The norm is that of the weight itself, also where the update is made in a copy of more digits.)
        norm, step_norm = math.sqrt(_sum_of_squares(raws[0])), math.sqrt(_sum_of_squares(step))
        if attributes["lower_bound"] >= 0:
            norm = max(norm, attributes["lower_bound"])
        if attributes["upper_bound"] >= 0:
            norm = min(norm, attributes["upper_bound"])
        step *= attributes["lr"] * (norm / step_norm if norm and step_norm else 1.0)
        np.subtract(weight, step, weight if self.has_master else out, casting="same_kind")
        if self.has_master:
            np.copyto(out, weight, casting="same_kind")


def _attributes_of(phase: Update, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return those of the attributes that a phase has."""
    return {name: value for name, value in attributes.items() if name in phase.signature.attributes}


def _sum_of_squares(array: np.ndarray) -> float:
    flat = array.reshape(-1)
    if flat.dtype.itemsize < 4:
        flat = flat.astype(np.float32)
    return float(np.dot(flat, flat))


def _define_lamb(inputs: Sequence[str], single: Update | None = None) -> Update:
    """Return the update in both phases, in float32 where the inputs end in `weight32`."""

    def definition(weight: Any, grad: Any, mean: Any, var: Any, *masters: Any, **attributes: Any) -> Any:
        """Return the weight after both phases of a step of LAMB: see `mx.optimizer.LAMB`."""
        master = masters[0] if masters else weight
        step = lamb_update_phase1.definition(master, grad, mean, var, **_attributes_of(lamb_update_phase1, attributes))
        norms = [np.sqrt(np.sum(np.square(array.astype(step.dtype)))) for array in (weight, step)]
        new = lamb_update_phase2.definition(master, step, *norms, **_attributes_of(lamb_update_phase2, attributes))
        if not masters:
            return new
        master[...] = new
        return new.astype(weight.dtype)

    phases = (lamb_update_phase1.definition, lamb_update_phase2.definition)
    attributes = [parameter for phase in phases for parameter in keyword_parameters(phase)]
    with_signature(definition, inputs, attributes, __name__)
    name = "lamb_update" if single is None else "mp_lamb_update"
    return _Lamb(definition, single=single, name=name, states=inputs[2:], public=False)


lamb_update = _define_lamb(("weight", "grad", "mean", "var"))
mp_lamb_update = _define_lamb(("weight", "grad", "mean", "var", "weight32"), lamb_update)

_RATES = {"learning_rates": "lr", "wds": "wd", "step_count": "t"}
_ORDER = (
    "learning_rates beta1 beta2 epsilon wds rescale_grad lower_bound upper_bound clip_gradient bias_correction "
    "step_count num_tensors"
)
multi_lamb_update = MultiUpdate(
    lamb_update,
    """Return several weights after a step of LAMB each: see `lamb_update_phase1` and `lamb_update_phase2`.

    References
    ----------
    You et al., Large Batch Optimization for Deep Learning: Training BERT in 76 minutes, ICLR 2020, algorithm 2.

    Examples
    --------
    >>> from minpy import nd
    >>> weight, mean, var = nd.array([3, 4]), nd.zeros(2), nd.zeros(2)
    >>> nd.contrib.multi_lamb_update(
    ...     [weight], [nd.array([0, 1])], [mean], [var], step_count=[1], lrs=[0.5], wds=[0.0], out=[weight]
    ... )[0].asnumpy().round(3)
    array([3. , 1.5], dtype=float32)
    """,
    name="_multi_lamb_update",
    attributes=_ORDER,
    rates=_RATES,
)
multi_mp_lamb_update = MultiUpdate(
    mp_lamb_update,
    """Return several weights after a step of LAMB each that is made in float32: see `mp_lamb_update_phase1`.

    References
    ----------
    You et al., Large Batch Optimization for Deep Learning: Training BERT in 76 minutes, ICLR 2020, algorithm 2.

    Examples
    --------
    >>> from minpy import nd
    >>> weight32, mean, var = nd.array([3, 4]), nd.zeros(2), nd.zeros(2)
    >>> weight, grad = weight32.astype('float16'), nd.array([0, 1], dtype='float16')
    >>> nd.contrib.multi_mp_lamb_update(
    ...     [weight], [grad], [mean], [var], [weight32], step_count=[1], lrs=[0.5], wds=[0.0], out=[weight]
    ... )[0].asnumpy()
    array([3. , 1.5], dtype=float16)
    """,
    name="_multi_mp_lamb_update",
    attributes=_ORDER,
    rates=_RATES,
)


# -- LARS --------------------------------------------------------------------------------------------------------------


@operator(name="multi_lars", zero="all", shapes=same_shape, dtypes=same_dtype)
def multi_lars(
    lrs: np.ndarray,
    weights_sum_sq: np.ndarray,
    grads_sum_sq: np.ndarray,
    wds: np.ndarray,
    *,
    eta: float,
    eps: float,
    rescale_grad: float = 1.0,
) -> np.ndarray:
    """Return learning rates scaled by the norms of weights and gradients.

    lr · eta · |weight| / (|grad| · rescale_grad + wd · |weight| + eps); where a norm is 0, lr as it is.

    Parameters
    ----------
    lrs, weights_sum_sq, grads_sum_sq, wds : NDArray
        Of equal shapes: the learning rate, the sums of squares and the weight decay of each weight.
    eta : float
        The trust: how much of a weight's norm a step may be.
    eps : float
        Keeps the division from zero.
    rescale_grad : float
        What gradients will be multiplied with.
    out : NDArray, optional
        Where to write the result; usually `lrs`.

    {returns_array}
        `out`, or a new array.

    {raises_shape_error}
        If shapes differ.

    References
    ----------
    You, Gitman and Ginsburg, Large Batch Training of Convolutional Networks, 2017, eq. 6.

    {examples}
    >>> nd.multi_lars(nd.array([0.1, 0.1]), nd.array([4, 0]), nd.array([1, 1]), nd.zeros(2), eta=0.5, eps=0).asnumpy()
    array([0.1, 0.1], dtype=float32)
    """
    weights, grads = np.sqrt(weights_sum_sq), np.sqrt(grads_sum_sq)
    is_scaled = np.logical_and(weights > 0, grads > 0)
    divisor = np.where(is_scaled, grads * rescale_grad + wds * weights + eps, 1)
    return np.where(is_scaled, lrs * eta * weights / divisor, lrs).astype(lrs.dtype)
