"""The same value everywhere."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.errors import ArgumentError, ShapeError, describe
from minpy.initializer.initializer import Initializer, alias, register

__all__ = ["Constant", "One", "Zero"]


@alias("zeros")
@register
class Zero(Initializer):
    """Weights of zeros; also called `'zeros'`.

    Examples
    --------
    >>> import minpy as mx
    >>> weight = mx.nd.ones((2,))
    >>> mx.init.create('zeros')(mx.init.InitDesc('dense0_weight'), weight)
    >>> weight.asnumpy()
    array([0., 0.], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: Any) -> None:
        arr[...] = 0


@alias("ones")
@register
class One(Initializer):
    """Weights of ones; also called `'ones'`.

    Examples
    --------
    >>> import minpy as mx
    >>> weight = mx.nd.zeros((2,))
    >>> mx.init.One()(mx.init.InitDesc('dense0_weight'), weight)
    >>> weight.asnumpy()
    array([1., 1.], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: Any) -> None:
        arr[...] = 1


@register
class Constant(Initializer):
    """Weights of a given value.

    Parameters
    ----------
    value : number, list or array
        An array, of any kind, or a list, has the weight's shape or is broadcast to it. It is written by `dumps`, too.

    Raises
    ------
    ArgumentError
        If it is neither a number, nor numbers.

    Examples
    --------
    >>> import minpy as mx
    >>> weight = mx.nd.zeros((2, 3))
    >>> mx.init.Constant([1, 2, 3])(mx.init.InitDesc('dense0_weight'), weight)
    >>> weight.asnumpy()
    array([[1., 2., 3.],
           [1., 2., 3.]], dtype=float32)
    >>> mx.init.Constant([1, 2, 3]).dumps()
    '["constant", {"value": [1, 2, 3]}]'
    """

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value
        self._values()

    def _values(self) -> numpy.ndarray:
        try:
            values = self.value._data if isinstance(self.value, Array) else numpy.asarray(self.value)
            return values if values.dtype.kind in "biuf" else values.astype("float32", casting="same_kind")
        except (TypeError, ValueError):
            raise ArgumentError(
                f"Constant: expected a number, an array, or a list of numbers; got {describe(self.value)}."
            ) from None

    def _init_weight(self, name: str, arr: Any) -> None:
        values = self._values()
        try:
            arr[...] = values.item() if values.ndim == 0 else numpy.broadcast_to(values, arr.shape)
        except ValueError:
            raise ShapeError(
                f"Constant: {str(name)!r} has shape {arr.shape}; a value of shape {values.shape} cannot be broadcast "
                f"to it."
            ) from None
