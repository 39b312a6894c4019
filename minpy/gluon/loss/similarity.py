"""Losses of vectors that should be near each other, or far."""

from __future__ import annotations

from typing import Any

from minpy.core.docstrings import documented
from minpy.gluon.loss.base_loss import WEIGHT_TO_KWARGS, Loss, _apply_weighting, _as_np, _reshape_like
from minpy.gluon.loss.classification import KLDivLoss

__all__ = ["CosineEmbeddingLoss", "SDMLLoss", "TripletLoss"]

# What keeps the cosine of a zero vector finite.
_EPSILON = 1e-12


@documented(ending=WEIGHT_TO_KWARGS)
class TripletLoss(Loss):
    """What a vector is nearer to a negative example than to a positive one by: `max(0, |p - x|² - |n - x|² + margin)`.

    It is the loss of Schroff et al., *FaceNet* (2015), equation 3.

    Parameters
    ----------
    margin : float
        By how much the squared distances should differ.
    {ending}

    Examples
    --------
    >>> import minpy as mx
    >>> loss = mx.gluon.loss.TripletLoss()
    >>> loss(mx.nd.zeros((1, 2)), mx.nd.array([[1, 1]]), mx.nd.array([[1, 0]])).asnumpy().tolist()
    [2.0]
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: Any, positive: Any, negative: Any) -> Any:
        """Return the loss of each sample, of shape (batch,).

        Parameters
        ----------
        F : module
            `mx.nd` or `mx.sym`.
        pred : NDArray or Symbol
            Vectors, in any shape.
        positive, negative : NDArray or Symbol
            What each should be near to, and far from; of that shape.
        """
        near = F.square(F.broadcast_sub(_reshape_like(F, positive, pred), pred))
        far = F.square(F.broadcast_sub(_reshape_like(F, negative, pred), pred))
        distance = F.sum(F.broadcast_sub(near, far), axis=self._batch_axis, exclude=True)
        return _apply_weighting(F, _as_np(F.relu(distance + self._margin)), self._weight)


class CosineEmbeddingLoss(Loss):
    """`1 - cos` for pairs of vectors that belong together (label 1), `max(0, cos - margin)` for others (label -1).

    Parameters
    ----------
    weight : float, optional
        A factor.
    batch_axis : int
        Not used: the last axis is that of the vectors, all others are batches.
    margin : float
        The cosine, from -1 to 1, below which others are far enough apart.
    **kwargs
        `prefix` and `params`; see `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> loss = mx.gluon.loss.CosineEmbeddingLoss()
    >>> loss(mx.nd.array([[1, 0], [1, 0]]), mx.nd.array([[0, 1], [2, 0]]), mx.nd.array([1, -1])).asnumpy().tolist()
    [[1.0], [1.0]]
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, margin: float = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, input1: Any, input2: Any, label: Any, sample_weight: Any = None) -> Any:
        """Return the loss of each pair, of shape (pairs, 1).

        Parameters
        ----------
        F : module
            `mx.nd` or `mx.sym`.
        input1, input2 : NDArray or Symbol
            Vectors along the last axis.
        label : NDArray or Symbol
            1 or -1 for each pair.
        sample_weight : NDArray or Symbol, optional
            What can be broadcast to (pairs, 1).
        """
        input1 = _reshape_like(F, input1, input2)
        cosine = F.reshape(self._cosine_similarity(F, input1, input2), shape=(-1, 1))
        label = F.reshape(label, shape=(-1, 1))
        loss = F.where(label == 1, 1 - cosine, F.clip(cosine - self._margin, 0, 1 - self._margin))
        return _apply_weighting(F, _as_np(loss), self._weight, sample_weight)

    def _cosine_similarity(self, F: Any, x: Any, y: Any, axis: int = -1) -> Any:
        """Return the cosines of the angles between vectors along an axis."""
        lengths = F.broadcast_mul(F.norm(x, axis=axis), F.norm(y, axis=axis))
        return _as_np(F.broadcast_div(F.sum(F.broadcast_mul(x, y), axis=axis), F.maximum(lengths, _EPSILON)))


class SDMLLoss(Loss):
    """Smoothed deep metric learning: in a batch of pairs, each vector's partner should be the nearest of all.

    The probability of vector j for vector i is the softmax of the negative squared distances; it is compared with 1 - s
    for the partner and s / (batch - 1) for all others by the Kullback-Leibler divergence. From Bonadiman et al., *Large
    Scale Question Paraphrase Retrieval with Smoothed Deep Metric Learning* (2019).

    Parameters
    ----------
    smoothing_parameter : float
        s above.
    weight, batch_axis
        Not used: the loss is of a whole batch.
    **kwargs
        `prefix` and `params`; see `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> loss = mx.gluon.loss.SDMLLoss(smoothing_parameter=0.25)
    >>> loss(mx.nd.array([[0], [3]]), mx.nd.array([[0], [3]])).asnumpy().round(2)
    array([1.69, 1.69], dtype=float32)
    """

    def __init__(
        self, smoothing_parameter: float = 0.3, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F: Any, x1: Any, x2: Any) -> Any:
        """Return the loss of each pair, of shape (batch,).

        Parameters
        ----------
        F : module
            `mx.nd` or `mx.sym`.
        x1, x2 : NDArray or Symbol
            Vectors, of shape (batch, size): row i of one belongs to row i of the other.
        """
        differences = F.broadcast_sub(F.expand_dims(x1, axis=1), F.expand_dims(x2, axis=0))
        distances = F.sum(F.square(differences), axis=2)
        number = F.contrib.arange_like(x1, axis=0)
        row, column = F.reshape(number, shape=(-1, 1)), F.reshape(number, shape=(1, -1))
        partner = F.broadcast_equal(row, column)
        batch = F.sum(F.ones_like(row), axis=0)
        of_others = F.broadcast_div((1 - partner) * self.smoothing_parameter, batch - 1)
        label = F.broadcast_add(partner * (1 - self.smoothing_parameter), of_others)
        return self.kl_loss(_as_np(F.log_softmax(-distances, axis=1)), _as_np(label))
