"""`Loss`, the base of all losses, and the steps that they have in common.

Losses are written with the functions of `mx.nd` and `mx.sym`, which take arrays and symbols of `mx.np` as well; arrays
stay what they are, and symbols are made symbols of `mx.sym.np` again at the end of each step.
"""

from __future__ import annotations

import numbers
from typing import Any

from minpy.core.errors import ArgumentError, ShapeError, describe
from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.block.array_blocks import HybridArrayBlock
from minpy.ndarray import NDArray
from minpy.symbol import Symbol

__all__ = ["Loss"]


def _as_np(out: Any) -> Any:
    """Return a symbol as one of `mx.sym.np` under `npx.set_np()`; everything else as it is."""
    return out.as_np_ndarray() if isinstance(out, Symbol) and is_np_array() else out


def _apply_weighting(F: Any, loss: Any, weight: float | None = None, sample_weight: Any = None) -> Any:
    """Return a loss times the weights of samples, and times a number."""
    if sample_weight is not None:
        loss = _as_np(F.broadcast_mul(loss, sample_weight))
    if weight is None:
        return loss
    if not isinstance(weight, numbers.Number):
        raise ArgumentError(
            f"the weight of a loss is a number, got {describe(weight)}. Give weights of samples when the loss is "
            "called: loss(pred, label, sample_weight)."
        )
    return loss * weight


def _reshape_like(F: Any, x: Any, y: Any) -> Any:
    """Return `x` in the shape of `y`."""
    if isinstance(x, NDArray) and x.shape == y.shape:
        return x
    if isinstance(x, NDArray) and isinstance(y, NDArray) and x.size != y.size:
        raise ShapeError(
            f"a loss is given arrays of shapes {x.shape} and {y.shape}, to be compared with each other; expected one "
            "shape, or as many elements."
        )
    return _as_np(F.reshape_like(x, y))


def _mean(F: Any, loss: Any, batch_axis: int) -> Any:
    """Return the averages over all axes but that of the batch."""
    if isinstance(loss, NDArray) and loss.ndim == 2 and batch_axis in (0, 1) and loss.shape[1 - batch_axis] == 1:
        return _as_np(F.reshape(loss, shape=(-1,)))  # of one element each
    return _as_np(F.mean(loss, axis=batch_axis, exclude=True))


# The parameters that most losses end with.
WEIGHT_TO_KWARGS = """
weight : float, optional
    A factor.
batch_axis : int
    The axis of the samples.
**kwargs
    `prefix` and `params`; see `Block`.
"""
# Those of a call that most have.
INPUTS = """
F : module
    `mx.nd` or `mx.sym`.
pred : NDArray or Symbol
    Predictions, of any shape{meaning}.
label : NDArray or Symbol
    {label}
sample_weight : NDArray or Symbol, optional
    What can be broadcast to `pred`: (batch, 1) for two axes.
"""


class Loss(HybridArrayBlock):
    """The base of losses.

    A subclass says in `hybrid_forward` what it computes: a number for each sample.

    Parameters
    ----------
    weight : float or None
        A factor.
    batch_axis : int
        The axis of the samples.
    **kwargs
        `prefix` and `params`; see `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> class CubicLoss(mx.gluon.loss.Loss):
    ...     def __init__(self, weight=None, batch_axis=0, **kwargs):
    ...         super().__init__(weight, batch_axis, **kwargs)
    ...     def hybrid_forward(self, F, pred, label, sample_weight=None):
    ...         loss = F.abs(pred - label) ** 3
    ...         loss = mx.gluon.loss._apply_weighting(F, loss, self._weight, sample_weight)
    ...         return F.mean(loss, axis=self._batch_axis, exclude=True)
    >>> CubicLoss(weight=0.5)(mx.nd.array([[1], [2]]), mx.nd.zeros((2, 1))).asnumpy().tolist()
    [0.5, 4.0]
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the loss of each sample. Subclasses define it.

        Parameters
        ----------
        F : module
            `mx.nd` or `mx.sym`.
        x, *args : NDArray or Symbol
            What is predicted, what it should be, and weights.
        **kwargs : NDArray or Symbol
            Parameters, if the loss has any.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no hybrid_forward: define "
            "`def hybrid_forward(self, F, pred, label, sample_weight=None): ...` in the class."
        )
