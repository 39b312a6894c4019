"""`CTCLoss`: sequences whose labels are not aligned with them."""

from __future__ import annotations

from typing import Any

from minpy.core.errors import ArgumentValueError
from minpy.gluon.loss.base_loss import Loss, _apply_weighting, _as_np

__all__ = ["CTCLoss"]


def _check_layout(layout: str, layouts: tuple[str, str], argument: str, meaning: str) -> None:
    if layout not in layouts:
        raise ArgumentValueError(
            f"CTCLoss: {argument} is {layout!r}, expected {layouts[0]!r} or {layouts[1]!r}: the order of the axes "
            f"{meaning}."
        )


class CTCLoss(Loss):
    """The negative logarithm of the probability that a sequence reads as a label, summed over all alignments.

    It is the loss of Graves et al., *Connectionist Temporal Classification* (2006). The last class is the blank.

    Parameters
    ----------
    layout : {'NTC', 'TNC'}
        The order of the axes of `pred`: batch (N), time (T), classes (C).
    label_layout : {'NT', 'TN'}
        The order of the axes of `label`.
    weight : float, optional
        A factor.
    **kwargs
        `prefix` and `params`; see `Block`.

    Raises
    ------
    ArgumentValueError
        For another layout.

    Examples
    --------
    >>> import minpy as mx
    >>> loss = mx.gluon.loss.CTCLoss()
    >>> pred = mx.nd.zeros((1, 2, 3))                           # two steps, of the classes 0, 1 and blank
    >>> loss(pred, mx.nd.array([[1]])).asnumpy().round(4)       # log(9 / 3): 1 1, 1 blank, or blank 1
    array([1.0986], dtype=float32)
    """

    def __init__(
        self, layout: str = "NTC", label_layout: str = "NT", weight: float | None = None, **kwargs: Any
    ) -> None:
        _check_layout(layout, ("NTC", "TNC"), "layout", "of pred, batch (N), time (T) and classes (C)")
        _check_layout(label_layout, ("NT", "TN"), "label_layout", "of label, batch (N) and time (T)")
        self._layout = layout
        self._label_layout = label_layout
        super().__init__(weight, label_layout.find("N"), **kwargs)

    def hybrid_forward(
        self,
        F: Any,
        pred: Any,
        label: Any,
        pred_lengths: Any = None,
        label_lengths: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Return the loss of each sample, of shape (batch,).

        Parameters
        ----------
        F : module
            `mx.nd` or `mx.sym`.
        pred : NDArray or Symbol
            Scores, before any softmax, in the order of `layout`.
        label : NDArray or Symbol
            Numbers of classes, in the order of `label_layout`; -1 ends a shorter label.
        pred_lengths : NDArray or Symbol, optional
            Of shape (batch,): how many steps of each sequence count; all, by default.
        label_lengths : NDArray or Symbol, optional
            Of shape (batch,): how many labels count; by default, those before the first -1.
        sample_weight : NDArray or Symbol, optional
            What can be broadcast to (batch,).
        """
        if self._layout == "NTC":
            pred = _as_np(F.swapaxes(pred, dim1=0, dim2=1))
        if self._batch_axis == 1:
            label = _as_np(F.swapaxes(label, dim1=0, dim2=1))
        lengths = {"data_lengths": pred_lengths, "label_lengths": label_lengths}
        loss = F.CTCLoss(
            pred,
            label,
            **{name: array for name, array in lengths.items() if array is not None},
            use_data_lengths=pred_lengths is not None,
            use_label_lengths=label_lengths is not None,
            blank_label="last",
        )
        return _apply_weighting(F, _as_np(loss), self._weight, sample_weight)
