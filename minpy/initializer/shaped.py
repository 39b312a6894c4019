"""Weights of a fixed form."""

from __future__ import annotations

from typing import Any

from minpy.core.errors import ShapeError
from minpy.initializer.initializer import Initializer, bilinear, register

__all__ = ["Bilinear", "LSTMBias"]


@register
class Bilinear(Initializer):
    """The weight of a deconvolution that enlarges images by bilinear interpolation.

    Long, Shelhamer, Darrell, "Fully convolutional networks for semantic segmentation", 2015, section 4.1.

    Raises
    ------
    ShapeError
        When it is called, for arrays of less than four axes.

    Examples
    --------
    >>> import minpy as mx
    >>> weight = mx.nd.zeros((1, 1, 4, 4))
    >>> mx.init.Bilinear()(mx.init.InitDesc('deconvolution0_weight'), weight)
    >>> (16 * weight[0, 0]).asnumpy()
    array([[1., 3., 3., 1.],
           [3., 9., 9., 3.],
           [3., 9., 9., 3.],
           [1., 3., 3., 1.]], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: Any) -> None:
        arr[...] = bilinear("Bilinear", name, arr.shape)


@register
class LSTMBias(Initializer):
    """The bias of an LSTM cell: 0, but for the forget gate, the second quarter.

    A forget gate that is open at first lets gradients pass through time (Jozefowicz, Zaremba, Sutskever, "An empirical
    exploration of recurrent network architectures", 2015, section 2.2).

    Parameters
    ----------
    forget_bias : float

    Examples
    --------
    >>> import minpy as mx
    >>> bias = mx.nd.zeros((8,))
    >>> mx.init.LSTMBias()(mx.init.InitDesc('lstm0_bias', {'__init__': mx.init.LSTMBias(2.0)}), bias)
    >>> bias.asnumpy()
    array([0., 0., 2., 2., 0., 0., 0., 0.], dtype=float32)
    """

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: Any) -> None:
        if len(arr.shape) == 0:
            raise ShapeError(f"LSTMBias: {str(name)!r} is a scalar; expected the biases of four gates, one by one.")
        units = arr.shape[0] // 4
        arr[...] = 0.0
        arr[units : 2 * units] = self.forget_bias
