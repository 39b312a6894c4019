"""LAMB: Adam's steps, scaled layer by layer to the norms of the weights. LARS: learning rates scaled that way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy.ops.inference.partial_shapes import same_dtype, same_shape
from minpy.ops.optimizer.adam import move_averages
from minpy.ops.optimizer.documenting import documented
from minpy.ops.optimizer.multi_updates import MultiUpdate
from minpy.ops.optimizer.updates import Update, arithmetic_dtype, clipped, rescaled
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

_LAMB = "You et al., Large Batch Optimization for Deep Learning: Training BERT in 76 minutes, ICLR 2020, algorithm 2."
_LARS = "You, Gitman and Ginsburg, Large Batch Training of Convolutional Networks, 2017, eq. 6."
_STATES = "weight, grad, mean, var : NDArray\n    Of equal shapes; `mean` and `var` are changed in place."


def _trust(r1: float, r2: float, lower: float, upper: float) -> float:
    """Return what the learning rate is multiplied with: the weight's norm over that of the step."""
    if lower >= 0:
        r1 = max(r1, lower)
    if upper >= 0:
        r1 = min(r1, upper)
    return r1 / r2 if r1 != 0 and r2 != 0 else 1.0


def _phase1_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    *,
    beta1: float,
    beta2: float,
    epsilon: float,
    t: int,
    bias_correction: bool,
    wd: float,
    rescale_grad: float,
    clip_gradient: float,
    **unused: Any,
) -> None:
    step, other = work[:2]
    rescaled(step, weight, grad, rescale_grad, clip_gradient, 0.0, other)
    move_averages(step, mean, var, beta1, beta2, other)
    if bias_correction:
        np.divide(var, 1 - beta2**t, step)
        np.sqrt(step, step)
        step += epsilon
        step *= 1 - beta1**t
    else:
        np.sqrt(var, step)
        step += epsilon
    np.multiply(weight, wd, other)
    np.divide(mean, step, out)
    out += other


def _phase2_step(
    work: list[np.ndarray],
    out: np.ndarray,
    weight: np.ndarray,
    g: np.ndarray,
    *,
    r1: float,
    r2: float,
    lr: float,
    lower_bound: float,
    upper_bound: float,
    **unused: Any,
) -> None:
    np.multiply(g, lr * _trust(r1, r2, lower_bound, upper_bound), work[0])
    np.subtract(weight, work[0], out)


@documented(
    """
    Return the step of LAMB before it is scaled: Adam's direction, plus wd · weight.

    g = clip(rescale_grad · grad); mean = beta1 · mean + (1 - beta1) · g; var = beta2 · var + (1 - beta2) · g²;
    mean' / (√var' + epsilon) + wd · weight, where mean' = mean / (1 - beta1ᵗ) and var' = var / (1 - beta2ᵗ) with
    `bias_correction`, else mean and var. `lamb_update_phase2` makes the step.
    """,
    arrays=_STATES,
    source=_LAMB,
    example="""
    >>> from minpy import nd
    >>> weight, mean, var = nd.array([1, 2]), nd.zeros(2), nd.zeros(2)
    >>> nd.lamb_update_phase1(weight, nd.array([1, -2]), mean, var, t=1, wd=0.5).asnumpy().round(3)
    array([1.5, 0. ], dtype=float32)
    """,
)
def _lamb_update_phase1(
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
    grad = clipped(grad.astype(mean.dtype) * rescale_grad, clip_gradient)
    mean[...] = beta1 * mean + (1 - beta1) * grad
    var[...] = beta2 * var + (1 - beta2) * grad * grad
    corrected, squares = mean, var
    if bias_correction:
        corrected, squares = mean / (1 - beta1**t), var / (1 - beta2**t)
    return corrected / (np.sqrt(squares) + epsilon) + wd * weight


@documented(
    """
    Return the weight after a step of LAMB: weight - lr · (r1 / r2) · g.

    Where `r1` or `r2` is 0, their ratio counts as 1.
    """,
    arrays="""
    weight, g : NDArray
        Of equal shapes; `g` is what `lamb_update_phase1` returned.
    r1, r2 : NDArray
        The norms of `weight` and `g`, of shape (1,).
    """,
    source=_LAMB,
    example="""
    >>> from minpy import nd
    >>> weight, g = nd.array([3, 4]), nd.array([0, 10])
    >>> nd.lamb_update_phase2(weight, g, weight.norm(), g.norm(), lr=0.5, out=weight).asnumpy()
    array([3. , 1.5], dtype=float32)
    """,
)
def _lamb_update_phase2(
    weight: np.ndarray,
    g: np.ndarray,
    r1: np.ndarray,
    r2: np.ndarray,
    *,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
) -> np.ndarray:
    dtype = arithmetic_dtype(weight.dtype)
    scale = r1.reshape((1,) * weight.ndim).astype(dtype)
    if lower_bound >= 0:
        scale = np.maximum(scale, lower_bound)
    if upper_bound >= 0:
        scale = np.minimum(scale, upper_bound)
    norm = r2.reshape((1,) * weight.ndim).astype(dtype)
    is_scaled = np.logical_and(scale != 0, norm != 0)
    trust = np.where(is_scaled, scale / np.where(is_scaled, norm, 1), 1)
    return (weight.astype(dtype) - lr * trust.astype(dtype) * g.astype(dtype)).astype(weight.dtype)


_MP_ARRAYS = """
weight, grad : NDArray
    Of equal shapes and dtypes; usually float16.
mean, var : NDArray
    In float32; changed in place.
weight32 : NDArray
    The weight in float32.
"""


@documented(
    "Return the step of LAMB before it is scaled, in float32: see `lamb_update_phase1`.",
    arrays=_MP_ARRAYS,
    source=_LAMB,
    example="""
    >>> from minpy import nd
    >>> weight32, mean, var = nd.array([1, 2]), nd.zeros(2), nd.zeros(2)
    >>> weight, grad = weight32.astype('float16'), nd.array([1, -2], dtype='float16')
    >>> nd.mp_lamb_update_phase1(weight, grad, mean, var, weight32, t=1, wd=0.5).asnumpy().round(3)
    array([1.5, 0. ], dtype=float32)
    """,
)
def _mp_lamb_update_phase1(
    weight: np.ndarray,
    grad: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    weight32: np.ndarray,
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
    return _lamb_update_phase1(
        weight32,
        grad,
        mean,
        var,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        t=t,
        bias_correction=bias_correction,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )


@documented(
    "Return the weight after a step of LAMB that is made in float32: see `lamb_update_phase2`.",
    arrays="""
    weight : NDArray
        Usually in float16.
    g : NDArray
        What `mp_lamb_update_phase1` returned, in float32.
    r1, r2 : NDArray
        The norms of `weight32` and `g`, of shape (1,).
    weight32 : NDArray
        The weight in float32, changed in place.
    """,
    source=_LAMB,
    example="""
    >>> from minpy import nd
    >>> weight32, g = nd.array([3, 4]), nd.array([0, 10])
    >>> weight = weight32.astype('float16')
    >>> nd.mp_lamb_update_phase2(weight, g, weight32.norm(), g.norm(), weight32, lr=0.5, out=weight).asnumpy()
    array([3. , 1.5], dtype=float16)
    """,
)
def _mp_lamb_update_phase2(
    weight: np.ndarray,
    g: np.ndarray,
    r1: np.ndarray,
    r2: np.ndarray,
    weight32: np.ndarray,
    *,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
) -> np.ndarray:
    weight32[...] = _lamb_update_phase2(weight32, g, r1, r2, lr=lr, lower_bound=lower_bound, upper_bound=upper_bound)
    return weight32.astype(weight.dtype)


lamb_update_phase1 = Update(
    _lamb_update_phase1, _phase1_step, name="lamb_update_phase1", work=2, states=("mean", "var")
)
lamb_update_phase2 = Update(_lamb_update_phase2, _phase2_step, name="lamb_update_phase2", numbers=("r1", "r2"))
mp_lamb_update_phase1 = Update(
    _mp_lamb_update_phase1,
    _phase1_step,
    name="mp_lamb_update_phase1",
    work=2,
    states=("mean", "var"),
    master="weight32",
    low=("weight", "grad"),
)
mp_lamb_update_phase2 = Update(
    _mp_lamb_update_phase2,
    _phase2_step,
    name="mp_lamb_update_phase2",
    states=("weight32",),
    numbers=("r1", "r2"),
    master="weight32",
    low=("weight", "out"),
)


# -- several weights ---------------------------------------------------------------------------------------------------


class _Lamb(Update):
    """Both phases of one weight, and the norms between them."""

    def apply(self, out: np.ndarray, raws: Sequence[Any], attributes: dict[str, Any]) -> None:
        """Write the new weight into `out`, and move the states."""
        weight = raws[self.blocked[0]]
        step = np.empty(weight.shape, arithmetic_dtype(weight.dtype))
        if self.has_master:
            mp_lamb_update_phase1.apply(step, raws, {**attributes})
        else:
            lamb_update_phase1.apply(step, raws, {**attributes})
        # (The norm is that of the weight itself, also where the update is made in a copy of more digits.)
        norms = [np.array([np.sqrt(_sum_of_squares(array))]) for array in (raws[0], step)]
        if self.has_master:
            mp_lamb_update_phase2.apply(out, [raws[0], step, *norms, weight], {**attributes})
        else:
            lamb_update_phase2.apply(out, [weight, step, *norms], {**attributes})


def _sum_of_squares(array: np.ndarray) -> float:
    flat = array.reshape(-1)
    if flat.dtype.itemsize < 4:
        flat = flat.astype(np.float32)
    return float(np.dot(flat, flat))


def _both_phases(
    normed: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    *,
    lr: float,
    lower_bound: float,
    upper_bound: float,
    **attributes: Any,
) -> np.ndarray:
    """Return the weight after a step whose length is told by the norm of `normed`, which is the weight or a copy."""
    step = _lamb_update_phase1(weight, grad, mean, var, **attributes)
    norms = [np.sqrt(np.sum(np.square(array.astype(step.dtype)))) for array in (normed, step)]
    return _lamb_update_phase2(weight, step, *norms, lr=lr, lower_bound=lower_bound, upper_bound=upper_bound)


def _lamb(
    weight: np.ndarray,
    grad: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    t: int,
    wd: float,
    rescale_grad: float,
    lower_bound: float,
    upper_bound: float,
    clip_gradient: float,
    bias_correction: bool,
) -> np.ndarray:
    """Return the weight after both phases of a step of LAMB: see `mx.optimizer.LAMB`."""
    return _both_phases(
        weight,
        weight,
        grad,
        mean,
        var,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        t=t,
        wd=wd,
        rescale_grad=rescale_grad,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
        clip_gradient=clip_gradient,
        bias_correction=bias_correction,
    )


def _mp_lamb(
    weight: np.ndarray,
    grad: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    weight32: np.ndarray,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    t: int,
    wd: float,
    rescale_grad: float,
    lower_bound: float,
    upper_bound: float,
    clip_gradient: float,
    bias_correction: bool,
) -> np.ndarray:
    """Return the weight after both phases of a step of LAMB that is made in float32."""
    weight32[...] = _both_phases(
        weight,
        weight32,
        grad,
        mean,
        var,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        t=t,
        wd=wd,
        rescale_grad=rescale_grad,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
        clip_gradient=clip_gradient,
        bias_correction=bias_correction,
    )
    return weight32.astype(weight.dtype)


lamb_update = _Lamb(_lamb, _phase1_step, name="lamb_update", states=("mean", "var"), public=False)
mp_lamb_update = _Lamb(
    _mp_lamb,
    _phase1_step,
    name="mp_lamb_update",
    states=("mean", "var", "weight32"),
    master="weight32",
    public=False,
)


@documented(
    "Return several weights after a step of LAMB each: see `lamb_update_phase1` and `lamb_update_phase2`.",
    arrays="*data : NDArray\n    weight, grad, mean, var of each weight; `mean` and `var` are changed in place.",
    source=_LAMB,
    learning_rates="The learning rate of each weight.",
    example="""
    >>> from minpy import nd
    >>> weight, mean, var = nd.array([3, 4]), nd.zeros(2), nd.zeros(2)
    >>> nd.contrib.multi_lamb_update(
    ...     [weight], [nd.array([0, 1])], [mean], [var], step_count=[1], lrs=[0.5], wds=[0.0], out=[weight]
    ... )[0].asnumpy().round(3)
    array([3. , 1.5], dtype=float32)
    """,
)
def _multi_lamb_update(
    *data: np.ndarray,
    learning_rates: tuple[float, ...],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    wds: tuple[float, ...],
    rescale_grad: float = 1.0,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    clip_gradient: float = -1.0,
    bias_correction: bool = True,
    step_count: tuple[int, ...],
    num_tensors: int = 1,
) -> tuple[np.ndarray, ...]:
    return multi_lamb_update.defined(
        data,
        {
            "learning_rates": learning_rates,
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": epsilon,
            "wds": wds,
            "rescale_grad": rescale_grad,
            "lower_bound": lower_bound,
            "upper_bound": upper_bound,
            "clip_gradient": clip_gradient,
            "bias_correction": bias_correction,
            "step_count": step_count,
            "num_tensors": num_tensors,
        },
    )


@documented(
    "Return several weights after a step of LAMB each that is made in float32: see `mp_lamb_update_phase1`.",
    arrays=(
        "*data : NDArray\n    weight, grad, mean, var, weight32 of each weight; the last three are changed in place."
    ),
    source=_LAMB,
    learning_rates="The learning rate of each weight.",
    example="""
    >>> from minpy import nd
    >>> weight32, mean, var = nd.array([3, 4]), nd.zeros(2), nd.zeros(2)
    >>> weight, grad = weight32.astype('float16'), nd.array([0, 1], dtype='float16')
    >>> nd.contrib.multi_mp_lamb_update(
    ...     [weight], [grad], [mean], [var], [weight32], step_count=[1], lrs=[0.5], wds=[0.0], out=[weight]
    ... )[0].asnumpy()
    array([3. , 1.5], dtype=float16)
    """,
)
def _multi_mp_lamb_update(
    *data: np.ndarray,
    learning_rates: tuple[float, ...],
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    wds: tuple[float, ...],
    rescale_grad: float = 1.0,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    clip_gradient: float = -1.0,
    bias_correction: bool = True,
    step_count: tuple[int, ...],
    num_tensors: int = 1,
) -> tuple[np.ndarray, ...]:
    return multi_mp_lamb_update.defined(
        data,
        {
            "learning_rates": learning_rates,
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": epsilon,
            "wds": wds,
            "rescale_grad": rescale_grad,
            "lower_bound": lower_bound,
            "upper_bound": upper_bound,
            "clip_gradient": clip_gradient,
            "bias_correction": bias_correction,
            "step_count": step_count,
            "num_tensors": num_tensors,
        },
    )


_LISTS = {"learning_rates": "lr", "wds": "wd", "step_count": "t"}
multi_lamb_update = MultiUpdate(
    _multi_lamb_update, lamb_update, name="_multi_lamb_update", lists=_LISTS, count="num_tensors"
)
multi_mp_lamb_update = MultiUpdate(
    _multi_mp_lamb_update, mp_lamb_update, name="_multi_mp_lamb_update", lists=_LISTS, count="num_tensors"
)


# -- LARS --------------------------------------------------------------------------------------------------------------


@operator(name="multi_lars")
@documented(
    """
    Return learning rates scaled by the norms of weights and gradients.

    lr · eta · |weight| / (|grad| · rescale_grad + wd · |weight| + eps); where a norm is 0, lr as it is.
    """,
    arrays="""
    lrs, weights_sum_sq, grads_sum_sq, wds : NDArray
        Of equal shapes: the learning rate, the sums of squares and the weight decay of each weight.
    """,
    eta="The trust: how much of a weight's norm a step may be.",
    eps="Keeps the division from zero.",
    rescale_grad="What gradients will be multiplied with.",
    source=_LARS,
    example="""
    >>> from minpy import nd
    >>> nd.multi_lars(nd.array([0.1, 0.1]), nd.array([4, 0]), nd.array([1, 1]), nd.zeros(2), eta=0.5, eps=0).asnumpy()
    array([0.1, 0.1], dtype=float32)
    """,
)
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
    weights, grads = np.sqrt(weights_sum_sq), np.sqrt(grads_sum_sq)
    is_scaled = np.logical_and(weights > 0, grads > 0)
    divisor = np.where(is_scaled, grads * rescale_grad + wds * weights + eps, 1)
    return np.where(is_scaled, lrs * eta * weights / divisor, lrs).astype(lrs.dtype)


multi_lars.def_grad_zero()
multi_lars.def_infer_shape(same_shape)
multi_lars.def_infer_type(same_dtype)
