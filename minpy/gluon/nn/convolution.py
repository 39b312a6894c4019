"""Convolutions in one to three dimensions. `Conv2D` and `Conv2DTranspose` are what images need."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.block.array_blocks import HybridArrayBlock
from minpy.gluon.nn.activations import Activation
from minpy.gluon.nn.argument_checks import count as count_of
from minpy.gluon.nn.window_families import of_axes, per_axis, require_groups, require_layout
from minpy.ops.nn.data_axes import axes_of_layout

__all__ = ["Conv1D", "Conv2D", "Conv3D"]


class _Conv(HybridArrayBlock):
    """The base of convolutions and transposed convolutions, with MXNet's parameters."""

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        layout: str,
        in_channels: int = 0,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        op_name: str = "Convolution",
        adj: Any = None,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        layer, count = type(self).__name__, len(kernel_size)
        require_layout(layer, layout, count, channels_last=False)
        self._channels = count_of(layer, "channels", channels, 1)
        self._in_channels = count_of(layer, "in_channels", in_channels, 0)
        groups = count_of(layer, "groups", groups, 1)
        require_groups(layer, groups, channels=self._channels, in_channels=self._in_channels)
        self._input_axes = axes_of_layout(layout)
        self._op_name = op_name
        self._kwargs: dict[str, Any] = {
            "kernel": kernel_size,
            "stride": per_axis(layer, "strides", strides, count, 1),
            "dilate": per_axis(layer, "dilation", dilation, count, 1),
            "pad": per_axis(layer, "padding", padding, count, 0),
            "num_filter": self._channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        if adj is not None:
            self._kwargs["adj"] = adj
            shape = (self._in_channels, self._channels // groups, *kernel_size)
        else:
            shape = (self._channels, self._in_channels // groups, *kernel_size)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=shape, init=weight_initializer, allow_deferred_init=True)
            self.bias = (
                self.params.get("bias", shape=(self._channels,), init=bias_initializer, allow_deferred_init=True)
                if use_bias
                else None
            )
            self.act = Activation(activation, prefix=f"{activation}_") if activation is not None else None

    def _alias(self) -> str:
        return "conv"

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        """Return the layer's output."""
        convolved = getattr(F.npx, self._op_name.lower()) if is_np_array() else getattr(F, self._op_name)
        out = convolved(x, weight, bias, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        return convolution_repr(self, self.weight._shape or (self._channels, 0), self._kwargs, self.bias)


def convolution_repr(layer: Any, weight_shape: tuple[int, ...], settings: dict[str, Any], bias: Any) -> str:
    """Return the text of a convolution: its channels, and those of its settings that are not the usual ones."""
    outputs, inputs = weight_shape[:2]
    axes = len(settings["kernel"])
    shown = [f"{inputs or None} -> {outputs}", f"kernel_size={settings['kernel']}", f"stride={settings['stride']}"]
    if settings["pad"] != (0,) * axes:
        shown.append(f"padding={settings['pad']}")
    if settings["dilate"] != (1,) * axes:
        shown.append(f"dilation={settings['dilate']}")
    if settings["num_group"] != 1:
        shown.append(f"groups={settings['num_group']}")
    if bias is None:
        shown.append("bias=False")
    if layer.act is not None:
        shown.append(repr(layer.act))
    return f"{type(layer).__name__}({', '.join(shown)})"


LAYOUT_TO_PARAMS = """
layout : {'{first}'}
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
"""

_convolution = functools.partial(
    of_axes,
    repeated=("strides", "padding", "dilation"),
    parameters=f"""
Along an axis of length n the output has floor((n + 2 padding - dilation (kernel_size - 1) - 1) / strides) + 1
positions.

Parameters
----------
channels : int
    The number of the output's channels.
kernel_size : int or tuple of int
    The lengths of the window.
strides : int or tuple of int
    How far the window moves from one output to the next.
padding : int or tuple of int
    How many zeros are put at both ends of each axis.
dilation : int or tuple of int
    The distance of the window's elements.
groups : int
    Channels are split into so many groups, which are convolved one by one; `in_channels`: each channel alone.
{LAYOUT_TO_PARAMS.strip()}

Notes
-----
Takes an array of shape (batch, in_channels, {{axes}}), and returns one of shape
(batch, channels, {{axes}}). The weight has shape (channels, in_channels / groups, *kernel_size).
""",
)


class _Convolution(_Conv):
    """The base of `Conv1D`, `Conv2D` and `Conv3D`, whose defaults `_convolution` sets."""

    _axes: ClassVar[int]

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = 0,
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
        kernel = per_axis(type(self).__name__, "kernel_size", kernel_size, self._axes, 1)
        settings = kernel, strides, padding, dilation, groups, layout, in_channels, activation, use_bias
        super().__init__(channels, *settings, weight_initializer, bias_initializer, **kwargs)


@_convolution(1)
class Conv1D(_Convolution):
    """A convolution of signals or sequences: outputs are weighted sums over windows of the input.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.Conv1D(1, kernel_size=3, in_channels=1)
    >>> layer.initialize(mx.init.One())
    >>> layer(mx.nd.array([[[1, 2, 3, 4]]])).asnumpy().tolist()
    [[[6.0, 9.0]]]
    """


@_convolution(2)
class Conv2D(_Convolution):
    """A convolution of images: outputs are weighted sums over windows of the input.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.Conv2D(8, kernel_size=3, strides=2, padding=1, activation='relu')
    >>> layer.initialize()
    >>> layer(mx.nd.ones((4, 3, 32, 32))).shape
    (4, 8, 16, 16)
    >>> layer
    Conv2D(3 -> 8, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), Activation(relu))
    """


@_convolution(3)
class Conv3D(_Convolution):
    """A convolution of volumes or videos: outputs are weighted sums over windows of the input.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.Conv3D(8, kernel_size=(1, 3, 3), padding=(0, 1, 1))
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 4, 16, 16))).shape
    (2, 8, 4, 16, 16)
    """
