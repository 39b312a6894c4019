"""Transposed convolutions in one to three dimensions."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from minpy.core.errors import ArgumentValueError
from minpy.gluon.nn.convolution import LAYOUT_TO_PARAMS, _Conv
from minpy.gluon.nn.window_families import of_axes, per_axis

__all__ = ["Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"]

_transposed = functools.partial(
    of_axes,
    repeated=("strides", "padding", "output_padding", "dilation"),
    parameters=f"""
Along an axis of length n the output has (n - 1) strides - 2 padding + dilation (kernel_size - 1) + output_padding +
1 positions. See Zeiler et al., Deconvolutional Networks (2010).

Parameters
----------
channels : int
    The number of the output's channels.
kernel_size : int or tuple of int
    The lengths of the window.
strides : int or tuple of int
    How far apart the windows are that two neighbours of the input are spread to.
padding : int or tuple of int
    How many positions are cut off at both ends of each axis.
output_padding : int or tuple of int
    How many positions are added at the end of each axis; less than `strides`.
dilation : int or tuple of int
    The distance of the window's elements.
groups : int
    Channels are split into so many groups, which are convolved one by one.
{LAYOUT_TO_PARAMS.strip()}

Notes
-----
Takes an array of shape (batch, in_channels, {{axes}}), and returns one of shape
(batch, channels, {{axes}}). The weight has shape (in_channels, channels / groups, *kernel_size).
""",
)


class _Transposed(_Conv):
    """The base of the three classes, whose defaults `_transposed` sets."""

    _axes: ClassVar[int]

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        layer = type(self).__name__
        added = per_axis(layer, "output_padding", output_padding, self._axes, 0)
        steps = per_axis(layer, "strides", strides, self._axes, 1)
        if any(more >= step for more, step in zip(added, steps, strict=True)):
            raise ArgumentValueError(
                f"{layer}: output_padding is {added} for strides {steps}; it must be less than the stride of each axis."
            )
        kernel = per_axis(layer, "kernel_size", kernel_size, self._axes, 1)
        settings = kernel, strides, padding, dilation, groups, layout, in_channels, activation, use_bias
        super().__init__(
            channels, *settings, weight_initializer, bias_initializer, op_name="Deconvolution", adj=added, **kwargs
        )
        self.outpad = added


@_transposed(1)
class Conv1DTranspose(_Transposed):
    """A transposed convolution of signals or sequences: what the gradient of a `Conv1D` does to its input.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.Conv1DTranspose(1, kernel_size=3, strides=2, in_channels=1)
    >>> layer.initialize(mx.init.One())
    >>> layer(mx.nd.array([[[1, 10]]])).asnumpy().tolist()
    [[[1.0, 1.0, 11.0, 10.0, 10.0]]]
    """


@_transposed(2)
class Conv2DTranspose(_Transposed):
    """A transposed convolution of images: what the gradient of a `Conv2D` does to its input.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.Conv2DTranspose(8, kernel_size=3, strides=2, padding=1, output_padding=1)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((4, 3, 16, 16))).shape
    (4, 8, 32, 32)
    >>> layer
    Conv2DTranspose(8 -> 3, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1))
    """


@_transposed(3)
class Conv3DTranspose(_Transposed):
    """A transposed convolution of volumes or videos: what the gradient of a `Conv3D` does to its input.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.Conv3DTranspose(8, kernel_size=2, strides=2)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 4, 8, 8))).shape
    (2, 8, 8, 16, 16)
    """
