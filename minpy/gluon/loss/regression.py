"""Losses of numbers: squares, absolute differences, and what counts follow."""

from __future__ import annotations

import math
from typing import Any

from minpy.core.docstrings import documented
from minpy.gluon.loss.base_loss import INPUTS, WEIGHT_TO_KWARGS, Loss, _apply_weighting, _as_np, _mean, _reshape_like

__all__ = ["HuberLoss", "L1Loss", "L2Loss", "PoissonNLLLoss"]


class L2Loss(Loss):
    """Half the mean of the squared differences: `weight (label - pred)² / 2`.

    Parameters
    ----------
    weight : float
        A factor.
    batch_axis : int
        The axis of the samples.
    **kwargs
        `prefix` and `params`; see `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> loss = mx.gluon.loss.L2Loss()
    >>> loss(mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([[1, 0], [0, 0]])).asnumpy().tolist()
    [1.0, 6.25]
    """

    def __init__(self, weight: float = 1.0, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    @documented(inputs=INPUTS.format(meaning="", label="As many numbers."))
    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Return the loss of each sample, of shape (batch,).

        Parameters
        ----------
        {inputs}
        """
        loss = F.square(F.broadcast_sub(_reshape_like(F, label, pred), pred))
        weight = None if self._weight is None else self._weight / 2
        return _mean(F, _apply_weighting(F, loss, weight, sample_weight), self._batch_axis)


@documented(ending=WEIGHT_TO_KWARGS)
class L1Loss(Loss):
    """The mean of the absolute differences: `|label - pred|`.

    Parameters
    ----------
    {ending}

    Examples
    --------
    >>> import minpy as mx
    >>> loss = mx.gluon.loss.L1Loss()
    >>> loss(mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([[1, 0], [0, 0]])).asnumpy().tolist()
    [1.0, 3.5]
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Return the loss of each sample, of shape (batch,); for the inputs see `L2Loss.hybrid_forward`."""
        loss = F.abs(F.broadcast_sub(_reshape_like(F, label, pred), pred))
        return _mean(F, _apply_weighting(F, loss, self._weight, sample_weight), self._batch_axis)


@documented(ending=WEIGHT_TO_KWARGS)
class HuberLoss(Loss):
    """Squares of small differences d, and the size of large ones: `d² / (2 rho)` up to `rho`, then `|d| - rho / 2`.

    Outliers count less than with `L2Loss`, and the slope is smooth at zero, unlike that of `L1Loss`. It is the loss of
    Huber, *Robust Estimation of a Location Parameter* (1964), divided by `rho`.

    Parameters
    ----------
    rho : float
        Where the parabola ends.
    {ending}

    Examples
    --------
    >>> import minpy as mx
    >>> loss = mx.gluon.loss.HuberLoss(rho=2)
    >>> loss(mx.nd.array([[1], [4]]), mx.nd.zeros((2, 1))).asnumpy().tolist()
    [0.25, 3.0]
    """

    def __init__(self, rho: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Return the loss of each sample, of shape (batch,); for the inputs see `L2Loss.hybrid_forward`."""
        distance = F.abs(F.broadcast_sub(_reshape_like(F, label, pred), pred))
        linear, parabola = distance - self._rho / 2, F.square(distance) * (0.5 / self._rho)
        loss = F.where(distance > self._rho, linear, parabola)
        return _mean(F, _apply_weighting(F, loss, self._weight, sample_weight), self._batch_axis)


class PoissonNLLLoss(Loss):
    """The negative log-likelihood of counts under Poisson distributions, averaged over the whole batch.

    Up to a term of the counts alone, that is `pred - target log(pred + epsilon)` for a predicted rate.

    Parameters
    ----------
    weight : float, optional
        A factor.
    from_logits : bool
        Whether `pred` is the logarithm of the rate: then it is `exp(pred) - target pred`.
    batch_axis : int
        Not used: there is one average.
    compute_full : bool
        Whether to add the term of counts above 1, log(target!), by Stirling's formula:
        `target log(target) - target + log(2 pi target) / 2`.
    **kwargs
        `prefix` and `params`; see `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> loss = mx.gluon.loss.PoissonNLLLoss()
    >>> loss(mx.nd.array([[0, 0]]), mx.nd.array([[3, 5]])).asnumpy().tolist()
    [1.0]
    """

    def __init__(
        self,
        weight: float | None = None,
        from_logits: bool = True,
        batch_axis: int = 0,
        compute_full: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(self, F: Any, pred: Any, target: Any, sample_weight: Any = None, epsilon: float = 1e-08) -> Any:
        """Return the average, of shape (1,), or () under `npx.set_np()`.

        Parameters
        ----------
        F : module
            `mx.nd` or `mx.sym`.
        pred : NDArray or Symbol
            Predicted rates, or their logarithms, of any shape.
        target : NDArray or Symbol
            As many counts.
        sample_weight : NDArray or Symbol, optional
            What can be broadcast to `pred`.
        epsilon : float
            What keeps the logarithm of a rate from that of zero.
        """
        target = _reshape_like(F, target, pred)
        if self._from_logits:
            loss = F.broadcast_sub(F.exp(pred), F.broadcast_mul(target, pred))
        else:
            loss = F.broadcast_sub(pred, F.broadcast_mul(target, F.log(pred + epsilon)))
        if self._compute_full:
            counts = F.maximum(target, 1)  # where they are below, the term is left out; its logarithm must be finite
            term = F.broadcast_mul(counts + 0.5, F.log(counts)) - counts + 0.5 * math.log(2 * math.pi)
            loss = F.broadcast_add(loss, F.broadcast_mul(term, target > 1))
        return _as_np(F.mean(_apply_weighting(F, loss, self._weight, sample_weight)))
