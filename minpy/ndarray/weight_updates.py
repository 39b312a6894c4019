"""Updates of weights as `nd.contrib` has them: with the gradient's factor as a number or an array, weights in lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError, describe
from minpy.ndarray.creation import array
from minpy.ndarray.ndarray import NDArray
from minpy.ops.optimizer import adam_updates, lamb
from minpy.ops.shared_docstrings import with_shared_texts

__all__ = [
    "adamw_update",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
]

_RETURNS = """
Returns
-------
list of NDArray, or NDArray if there is one weight
    `out`, or new arrays.

Raises
------
ArgumentError
    If the lists differ in length.
"""


@with_shared_texts
def adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    rescale_grad: float | NDArray,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:
    """Return the weight after a step of AdamW.

    g = clip(rescale_grad · grad); mean = beta1 · mean + (1 - beta1) · g; var = beta2 · var + (1 - beta2) · g²;
    weight - eta · (lr · mean / (√var + epsilon) + wd · weight).

    Parameters
    ----------
    weight, grad, mean, var : NDArray
        Of equal shapes; `mean` and `var` are changed in place.
    rescale_grad : float or NDArray
        Multiplies the gradient first. If it is 0 or not finite, as a loss scale is after an overflow, nothing changes.
    lr, eta : float
        The learning rate, and the factor of the whole step.
    beta1, beta2 : float
        The decays of the averages of gradients and of their squares.
    epsilon : float
        Keeps divisors from zero.
    wd : float
        Weight decay.
    clip_gradient : float
        Clips the rescaled gradient to [-clip_gradient, clip_gradient]; not if negative.
    out : NDArray, optional
        Where to write the result; usually the weight.
    name : str, optional
        Accepted as every operator does.

    {returns_array}
        `out`, or a new array.

    {raises_shape_error}
        If shapes do not fit the weight's.

    References
    ----------
    Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2.

    {examples}
    >>> weight, mean, var = nd.array([1, 2]), nd.zeros(2), nd.zeros(2)
    >>> nd.contrib.adamw_update(weight, nd.array([1, -2]), mean, var, 1.0, lr=0.1, eta=1.0, out=weight) is weight
    True
    """
    factor = _factor("adamw_update", rescale_grad, weight)
    rates = (lr, beta1, beta2, epsilon, wd, eta, clip_gradient)
    return adam_updates.adamw_update(weight, grad, mean, var, factor, *rates, out=out)


@with_shared_texts
def mp_adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    rescale_grad: float | NDArray,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:
    """Return the weight after a step of AdamW that is made in float32: see `adamw_update`.

    Parameters
    ----------
    weight, grad : NDArray
        Of equal shapes and dtypes; usually float16.
    mean, var, weight32 : NDArray
        In float32; changed in place. The update is made in `weight32`, and rounded to the weight's dtype.
    rescale_grad, lr, eta, beta1, beta2, epsilon, wd, clip_gradient, out, name
        As for `adamw_update`.

    {returns_array}
        `out`, or a new array.

    {examples}
    >>> weight32, mean, var = nd.array([1, 2]), nd.zeros(2), nd.zeros(2)
    >>> weight, grad = weight32.astype('float16'), nd.array([1, -2], dtype='float16')
    >>> nd.contrib.mp_adamw_update(weight, grad, mean, var, weight32, nd.array([1]), lr=0.1, eta=1.0).dtype
    <class 'numpy.float16'>
    """
    factor = _factor("mp_adamw_update", rescale_grad, weight)
    rates = (lr, beta1, beta2, epsilon, wd, eta, clip_gradient)
    return adam_updates.mp_adamw_update(weight, grad, mean, var, weight32, factor, *rates, out=out)


@documented(returns=_RETURNS)
def multi_adamw_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    rescale_grad: float | NDArray,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: Sequence[NDArray] | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: Any,
) -> Any:
    """Return several weights after a step of AdamW each: see `adamw_update`.

    Parameters
    ----------
    weights, grads, mean, var : list of NDArray
        One of each for every weight; `mean` and `var` are changed in place.
    rescale_grad : float or NDArray
        As for `adamw_update`, for all of them.
    lrs, wds, etas : sequence of float
        `lr`, `wd` and `eta` of each weight.
    out : list of NDArray, optional
        Where to write the results; usually the weights.
    name : str, optional
        Accepted as every operator does.
    size : int
        The number of weights; 0: as many as there are.
    **kwargs
        `beta1`, `beta2`, `epsilon`, `clip_gradient`, as for `adamw_update`.

    {returns}

    Examples
    --------
    >>> from minpy import nd
    >>> weights, grads = [nd.ones(2), nd.ones(3)], [nd.ones(2), nd.ones(3)]
    >>> mean, var = [nd.zeros(2), nd.zeros(3)], [nd.zeros(2), nd.zeros(3)]
    >>> updated = nd.contrib.multi_adamw_update(
    ...     weights, grads, mean, var, 1.0, lrs=[0.1, 0.2], wds=[0, 0], etas=[1, 1], out=weights
    ... )
    >>> weights[1].shape
    (3,)
    """
    data, number = _interleaved("multi_adamw_update", size, weights, grads, mean, var)
    factor = _factor("multi_adamw_update", rescale_grad, data[0])
    rates = {"lrs": tuple(lrs), "wds": tuple(wds), "etas": tuple(etas)}
    return adam_updates.multi_adamw_update(*data, factor, **rates, num_weights=number, out=out, **kwargs)


@documented(returns=_RETURNS)
def multi_mp_adamw_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    weights32: Sequence[NDArray],
    rescale_grad: float | NDArray,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: Sequence[NDArray] | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: Any,
) -> Any:
    """Return several weights after a step of AdamW each that is made in float32: see `multi_adamw_update`.

    Parameters
    ----------
    weights, grads : list of NDArray
        One of each for every weight; usually float16.
    mean, var, weights32 : list of NDArray
        In float32; changed in place.
    rescale_grad, lrs, wds, etas, out, name, size, **kwargs
        As for `multi_adamw_update`.

    {returns}

    Examples
    --------
    >>> from minpy import nd
    >>> weights32, mean, var = [nd.ones(2)], [nd.zeros(2)], [nd.zeros(2)]
    >>> weights, grads = [nd.ones(2, dtype='float16')], [nd.ones(2, dtype='float16')]
    >>> updated = nd.contrib.multi_mp_adamw_update(
    ...     weights, grads, mean, var, weights32, 1.0, lrs=[0.1], wds=[0], etas=[1], out=weights
    ... )
    >>> updated[0] is weights[0]
    True
    """
    data, number = _interleaved("multi_mp_adamw_update", size, weights, grads, mean, var, weights32)
    factor = _factor("multi_mp_adamw_update", rescale_grad, data[0])
    rates = {"lrs": tuple(lrs), "wds": tuple(wds), "etas": tuple(etas)}
    return adam_updates.multi_mp_adamw_update(*data, factor, **rates, num_weights=number, out=out, **kwargs)


@documented(returns=_RETURNS)
def multi_lamb_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: Sequence[NDArray] | None = None,
    num_tensors: int = 0,
    **kwargs: Any,
) -> Any:
    """Return several weights after a step of LAMB each: see `nd.lamb_update_phase1` and `nd.lamb_update_phase2`.

    Parameters
    ----------
    weights, grads, mean, var : list of NDArray
        One of each for every weight; `mean` and `var` are changed in place.
    step_count : sequence of int
        The number of the step of each weight, from 1.
    lrs, wds : sequence of float
        The learning rate and the weight decay of each weight.
    out : list of NDArray, optional
        Where to write the results; usually the weights.
    num_tensors : int
        The number of weights; 0: as many as there are.
    **kwargs
        `beta1`, `beta2`, `epsilon`, `rescale_grad`, `clip_gradient`, `lower_bound`, `upper_bound`, `bias_correction`.

    {returns}

    Examples
    --------
    >>> from minpy import nd
    >>> weights, mean, var = [nd.array([3, 4])], [nd.zeros(2)], [nd.zeros(2)]
    >>> updated = nd.contrib.multi_lamb_update(
    ...     weights, [nd.array([0, 1])], mean, var, step_count=[1], lrs=[0.5], wds=[0], out=weights
    ... )
    >>> weights[0].asnumpy().round(3)
    array([3. , 1.5], dtype=float32)
    """
    data, number = _interleaved("multi_lamb_update", num_tensors, weights, grads, mean, var)
    rates = {"learning_rates": tuple(lrs), "wds": tuple(wds), "step_count": tuple(step_count)}
    return lamb.multi_lamb_update(*data, **rates, num_tensors=number, out=out, **kwargs)


@documented(returns=_RETURNS)
def multi_mp_lamb_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    weights32: Sequence[NDArray],
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: Sequence[NDArray] | None = None,
    num_tensors: int = 0,
    **kwargs: Any,
) -> Any:
    """Return several weights after a step of LAMB each that is made in float32: see `multi_lamb_update`.

    Parameters
    ----------
    weights, grads : list of NDArray
        One of each for every weight; usually float16.
    mean, var, weights32 : list of NDArray
        In float32; changed in place.
    step_count, lrs, wds, out, num_tensors, **kwargs
        As for `multi_lamb_update`.

    {returns}

    Examples
    --------
    >>> from minpy import nd
    >>> weights32, mean, var = [nd.array([3, 4])], [nd.zeros(2)], [nd.zeros(2)]
    >>> weights, grads = [weights32[0].astype('float16')], [nd.array([0, 1], dtype='float16')]
    >>> updated = nd.contrib.multi_mp_lamb_update(
    ...     weights, grads, mean, var, weights32, step_count=[1], lrs=[0.5], wds=[0], out=weights
    ... )
    >>> weights[0].asnumpy()
    array([3. , 1.5], dtype=float16)
    """
    data, number = _interleaved("multi_mp_lamb_update", num_tensors, weights, grads, mean, var, weights32)
    rates = {"learning_rates": tuple(lrs), "wds": tuple(wds), "step_count": tuple(step_count)}
    return lamb.multi_mp_lamb_update(*data, **rates, num_tensors=number, out=out, **kwargs)


def _factor(function: str, rescale_grad: Any, weight: NDArray) -> NDArray:
    """Return the gradient's factor as an array of one number."""
    if isinstance(rescale_grad, NDArray):
        return rescale_grad
    try:
        return array([float(rescale_grad)], ctx=weight.context, dtype="float32")
    except (TypeError, ValueError):
        raise ArgumentError(
            f"nd.contrib.{function}: rescale_grad is {describe(rescale_grad)}; expected a number, or an NDArray of one."
        ) from None


def _interleaved(function: str, size: int, *lists: Sequence[NDArray]) -> tuple[list[NDArray], int]:
    """Return the arrays of the first weight, then those of the second, ..., and how many weights there are."""
    number = size or len(lists[0])
    lengths = [len(arrays) for arrays in lists]
    if not number or any(length < number for length in lengths):
        raise ArgumentError(
            f"nd.contrib.{function}: the lists of arrays have {', '.join(map(str, lengths))} items; expected "
            f"{number or 'at least 1'} in each."
        )
    return [arrays[index] for index in range(number) for arrays in lists], number
