"""Channels that become positions: images made larger, with all numbers kept.

Shi et al., Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural Network
(2016), equation 4: the channels are read as (channels / product of the factors, *factors), and each factor becomes a
part of an axis: out[n, c, d f + i, ...] = x[n, (c f + i) ..., d, ...].
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from minpy.core.errors import ArgumentValueError
from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.block.array_blocks import HybridArrayBlock
from minpy.gluon.nn.window_families import CHANNELS_FIRST
from minpy.ops.nn.data_axes import axes_of_layout

__all__ = ["PixelShuffle1D", "PixelShuffle2D", "PixelShuffle3D"]


def _factors(layer: str, factor: Any, count: int) -> tuple[int, ...]:
    """Return a factor for each axis; one alone is for all."""
    several = tuple(factor) if isinstance(factor, Iterable) and not isinstance(factor, str) else (factor,) * count
    try:
        factors = tuple(map(int, several))
    except (TypeError, ValueError):
        factors = ()
    if len(factors) != count or min(factors) < 1 or factors != several:
        expected = "a whole number" if count == 1 else f"a whole number or {count} of them"
        raise ArgumentValueError(f"{layer}: factor is {factor!r}; expected {expected}, >= 1.")
    return factors


class PixelShuffle1D(HybridArrayBlock):
    """Signals made longer by their channels.

    Parameters
    ----------
    factor : int
        How much longer.

    Raises
    ------
    ArgumentError
        If it is no whole number.

    Notes
    -----
    Takes an array of shape (batch, channels * factor, width), and returns one of shape (batch, channels, width *
    factor).

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.nd.array([[[1, 2, 3], [10, 20, 30]]])
    >>> mx.gluon.nn.PixelShuffle1D(2)(x).asnumpy().tolist()
    [[[1.0, 10.0, 2.0, 20.0, 3.0, 30.0]]]
    """

    def __init__(self, factor: Any) -> None:
        super().__init__()
        (self._factor,) = _factors(type(self).__name__, factor, 1)
        self._input_axes = axes_of_layout("NCW")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the longer signals."""
        factor = self._factor
        if is_np_array():
            x = F.npx.reshape(x, (-2, -6, -1, factor, -2))
            return F.npx.reshape(F.np.transpose(x, (0, 1, 3, 2)), (-2, -2, -5))
        x = F.reshape(x, (0, -4, -1, factor, 0))
        return F.reshape(F.transpose(x, (0, 1, 3, 2)), (0, 0, -3))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factor})"


class _PixelShuffle(HybridArrayBlock):
    """The base of the two classes with a factor for each of several axes."""

    _axes: ClassVar[int]

    def __init__(self, factor: Any) -> None:
        super().__init__()
        self._factors = _factors(type(self).__name__, factor, self._axes)
        self._input_axes = axes_of_layout(CHANNELS_FIRST[self._axes])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors})"


class PixelShuffle2D(_PixelShuffle):
    """Images made higher and wider by their channels.

    Parameters
    ----------
    factor : int or tuple of 2 int
        How much higher, and how much wider.

    Raises
    ------
    ArgumentError
        If it is no whole number, nor two.

    Notes
    -----
    Takes an array of shape (batch, channels * f1 * f2, height, width), and returns one of shape (batch, channels,
    height * f1, width * f2).

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.PixelShuffle2D((2, 3))(mx.nd.ones((1, 12, 3, 5))).shape
    (1, 2, 6, 15)
    """

    _axes = 2

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the larger images."""
        f1, f2 = self._factors
        if is_np_array():
            x = F.npx.reshape(x, (-2, -6, -1, f1 * f2, -2, -2))
            x = F.npx.reshape(x, (-2, -2, -6, f1, f2, -2, -2))
            return F.npx.reshape(F.np.transpose(x, (0, 1, 4, 2, 5, 3)), (-2, -2, -5, -5))
        x = F.reshape(x, (0, -4, -1, f1 * f2, 0, 0))
        x = F.reshape(x, (0, 0, -4, f1, f2, 0, 0))
        return F.reshape(F.transpose(x, (0, 1, 4, 2, 5, 3)), (0, 0, -3, -3))


class PixelShuffle3D(_PixelShuffle):
    """Volumes or videos made larger along three axes by their channels.

    Parameters
    ----------
    factor : int or tuple of 3 int
        How much larger, along each axis.

    Raises
    ------
    ArgumentError
        If it is no whole number, nor three.

    Notes
    -----
    Takes an array of shape (batch, channels * f1 * f2 * f3, depth, height, width), and returns one of shape (batch,
    channels, depth * f1, height * f2, width * f3). The graph is that of many steps, as MXNet transposes at most six
    axes.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.PixelShuffle3D((2, 3, 4))(mx.nd.ones((1, 48, 3, 5, 7))).shape
    (1, 2, 6, 15, 28)
    """

    _axes = 3

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the larger volumes."""
        f1, f2, f3 = self._factors
        if is_np_array():
            x = F.npx.reshape(x, (-2, -6, -1, f1 * f2 * f3, -2, -2, -2))
            x = F.npx.reshape(x, (-2, -2, -6, f1, f2 * f3, -2, -2, -2))
            x = F.npx.reshape(x, (-2, -2, -2, -6, f2, f3, -2, -2, -2))
            return F.npx.reshape(F.np.transpose(x, (0, 1, 5, 2, 6, 3, 7, 4)), (-2, -2, -5, -5, -5))
        x = F.swapaxes(F.reshape(x, (0, -4, -1, f1 * f2 * f3, 0, 0, 0)), 2, 3)
        x = F.reshape(F.reshape(x, (0, 0, 0, -4, f1, f2 * f3, 0, 0)), (0, 0, -3, 0, 0, 0))
        x = F.swapaxes(x, 3, 4)
        x = F.reshape(F.reshape(x, (0, 0, 0, 0, -4, f2, f3, 0)), (0, 0, 0, -3, 0, 0))
        return F.reshape(F.swapaxes(x, 4, 5), (0, 0, 0, 0, -3))
