"""Transposed convolutions in one to three dimensions."""

from __future__ import annotations

from typing import Any

from minpy.core.errors import ArgumentValueError
from minpy.gluon.nn.convolution import _Conv
from minpy.gluon.nn.windows import per_axis

__all__ = ["Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"]


def _output_padding(layer: str, given: Any, strides: Any, count: int) -> tuple[int, ...]:
    """Return how much longer the output is along each axis: less than the stride."""
    added = per_axis(layer, "output_padding", given, count, 0)
    steps = per_axis(layer, "strides", strides, count, 1)
    if any(more >= step for more, step in zip(added, steps, strict=True)):
        raise ArgumentValueError(
            f"{layer}: output_padding is {added} for strides {steps}; it must be less than the stride of each axis."
        )
    return added


class Conv1DTranspose(_Conv):
    """A transposed convolution of signals or sequences: what the gradient of a `Conv1D` does to its input.

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
    layout : {'NCW'}
    activation : str, optional
        What `Activation` takes; None: the outputs are as they are.
    use_bias : bool
    weight_initializer, bias_initializer : str or Initializer, optional
    in_channels : int
        The number of the input's channels; 0: it follows from the first call.
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError, ShapeError
        For another layout, more or fewer numbers than axes, or groups that do not divide the channels.

    Notes
    -----
    Takes an array of shape (batch, in_channels, width), and returns one of shape
    (batch, channels, width). The weight has shape (in_channels, channels / groups, *kernel_size).

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.Conv1DTranspose(1, kernel_size=3, strides=2, in_channels=1)
    >>> layer.initialize(mx.init.One())
    >>> layer(mx.nd.array([[[1, 10]]])).asnumpy().tolist()
    [[[1.0, 1.0, 11.0, 10.0, 10.0]]]
    """

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
        output_padding = _output_padding(layer, output_padding, strides, 1)
        super().__init__(
            channels,
            per_axis(layer, "kernel_size", kernel_size, 1, 1),
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            op_name="Deconvolution",
            adj=output_padding,
            **kwargs,
        )
        self.outpad = output_padding


class Conv2DTranspose(_Conv):
    """A transposed convolution of images: what the gradient of a `Conv2D` does to its input.

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
    layout : {'NCHW'}
    activation : str, optional
        What `Activation` takes; None: the outputs are as they are.
    use_bias : bool
    weight_initializer, bias_initializer : str or Initializer, optional
    in_channels : int
        The number of the input's channels; 0: it follows from the first call.
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError, ShapeError
        For another layout, more or fewer numbers than axes, or groups that do not divide the channels.

    Notes
    -----
    Takes an array of shape (batch, in_channels, height, width), and returns one of shape
    (batch, channels, height, width). The weight has shape (in_channels, channels / groups, *kernel_size).

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

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = (0, 0),
        output_padding: Any = (0, 0),
        dilation: Any = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        layer = type(self).__name__
        output_padding = _output_padding(layer, output_padding, strides, 2)
        super().__init__(
            channels,
            per_axis(layer, "kernel_size", kernel_size, 2, 1),
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            op_name="Deconvolution",
            adj=output_padding,
            **kwargs,
        )
        self.outpad = output_padding


class Conv3DTranspose(_Conv):
    """A transposed convolution of volumes or videos: what the gradient of a `Conv3D` does to its input.

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
    layout : {'NCDHW'}
    activation : str, optional
        What `Activation` takes; None: the outputs are as they are.
    use_bias : bool
    weight_initializer, bias_initializer : str or Initializer, optional
    in_channels : int
        The number of the input's channels; 0: it follows from the first call.
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError, ShapeError
        For another layout, more or fewer numbers than axes, or groups that do not divide the channels.

    Notes
    -----
    Takes an array of shape (batch, in_channels, depth, height, width), and returns one of shape
    (batch, channels, depth, height, width). The weight has shape (in_channels, channels / groups, *kernel_size).

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.Conv3DTranspose(8, kernel_size=2, strides=2)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 4, 8, 8))).shape
    (2, 8, 8, 16, 16)
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: Any = (0, 0, 0),
        output_padding: Any = (0, 0, 0),
        dilation: Any = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        layer = type(self).__name__
        output_padding = _output_padding(layer, output_padding, strides, 3)
        super().__init__(
            channels,
            per_axis(layer, "kernel_size", kernel_size, 3, 1),
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            op_name="Deconvolution",
            adj=output_padding,
            **kwargs,
        )
        self.outpad = output_padding
