"""`Dropout`: random zeros in training."""

from __future__ import annotations

from typing import Any

from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.block.array_blocks import HybridArrayBlock
from minpy.gluon.nn.argument_checks import fraction

__all__ = ["Dropout"]


class Dropout(HybridArrayBlock):
    """In training, set a random part of the elements to 0 and divide the others by what is left; else nothing.

    Srivastava et al. 2014, "Dropout: A Simple Way to Prevent Neural Networks from Overfitting"
    (https://jmlr.org/papers/v15/srivastava14a.html).

    Parameters
    ----------
    rate : float
        The part that becomes 0, from 0 to 1.
    axes : tuple of int
        Axes along which all elements share one draw.
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        If the rate is not from 0 to 1.

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.Dropout(0.5)
    >>> layer(mx.nd.ones((3,))).asnumpy().tolist()
    [1.0, 1.0, 1.0]
    >>> with mx.autograd.train_mode():
    ...     sorted(set(layer(mx.nd.ones((100,))).asnumpy().tolist()))
    [0.0, 2.0]
    """

    def __init__(self, rate: float, axes: Any = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # False is 0; with True MXNet makes the layer, too, and fails when it is called.
        self._rate = rate if isinstance(rate, bool) else fraction("Dropout", "rate", rate)
        self._axes = axes

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the elements that stay, divided by their part."""
        if self._rate is True:
            fraction(self.name, "rate", self._rate)
        if self._rate > 0:
            drop = F.npx.dropout if is_np_array() else F.Dropout
            return drop(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.np.copy(x) if is_np_array() else F.identity(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"
