"""Deformable convolutions: a second convolution computes offsets for the elements of their windows."""

from __future__ import annotations

from typing import Any

from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError, describe
from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.block.array_blocks import HybridArrayBlock
from minpy.gluon.block.constructing import block_with_defaults
from minpy.gluon.nn.activations import Activation
from minpy.gluon.nn.argument_checks import count as count_of
from minpy.gluon.nn.convolution import convolution_repr
from minpy.gluon.nn.window_families import per_axis, require_groups, require_layout
from minpy.ops.nn.data_axes import axes_of_layout

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]


class _DeformableConv(HybridArrayBlock):
    """The base of both classes; `_numbers` is how many numbers the convolution of offsets computes an element."""

    _numbers = 2
    deformable_conv_weight: Any
    deformable_conv_bias: Any

    def __init__(
        self,
        channels: int,
        kernel_size: Any = (1, 1),
        strides: Any = (1, 1),
        padding: Any = (0, 0),
        dilation: Any = (1, 1),
        groups: int = 1,
        num_deformable_group: int = 1,
        layout: str = "NCHW",
        use_bias: bool = True,
        in_channels: int = 0,
        activation: str | None = None,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        offset_weight_initializer: Any = "zeros",
        offset_bias_initializer: Any = "zeros",
        offset_use_bias: bool = True,
        op_name: str = "DeformableConvolution",
        adj: Any = None,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        layer = type(self).__name__
        if adj is not None:
            raise ArgumentError(f"{layer}: adj is {describe(adj)}; only transposed convolutions have one.")
        require_layout(layer, layout, 2, channels_last=False)
        self._input_axes = axes_of_layout(layout)
        kernel = per_axis(layer, "kernel_size", kernel_size, 2, 1)
        self._channels = count_of(layer, "channels", channels, 1)
        self._in_channels = count_of(layer, "in_channels", in_channels, 0)
        groups = count_of(layer, "groups", groups, 1)
        deformable_groups = count_of(layer, "num_deformable_group", num_deformable_group, 1)
        offset_channels = self._numbers * kernel[0] * kernel[1] * deformable_groups
        require_groups(
            layer, groups, channels=self._channels, in_channels=self._in_channels, offset_channels=offset_channels
        )
        self._op_name = op_name
        window: dict[str, Any] = {
            "kernel": kernel,
            "stride": per_axis(layer, "strides", strides, 2, 1),
            "dilate": per_axis(layer, "dilation", dilation, 2, 1),
            "pad": per_axis(layer, "padding", padding, 2, 0),
            "num_group": groups,
            "layout": layout,
        }
        self._kwargs_offset = {**window, "num_filter": offset_channels, "no_bias": not offset_use_bias}
        self._kwargs_deformable_conv = {
            **window,
            "num_filter": self._channels,
            "num_deformable_group": deformable_groups,
            "no_bias": not use_bias,
        }
        shape = (self._in_channels // groups, *kernel)
        with self.name_scope():
            for name, count, weight, bias in self._in_order(
                ("offset", offset_channels, offset_weight_initializer, (offset_bias_initializer, offset_use_bias)),
                ("deformable_conv", self._channels, weight_initializer, (bias_initializer, use_bias)),
            ):
                self._make(name, (count, *shape), weight, *bias)
            self.act = Activation(activation, prefix=f"{activation}_") if activation else None

    def _in_order(self, *parts: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
        """Return the offsets' part and that of the bent windows in the order in which parameters are made."""
        return parts

    def _make(self, name: str, shape: tuple[int, ...], init: Any, bias_init: Any, use_bias: bool) -> None:
        options = {"shape": shape, "init": init, "allow_deferred_init": True}
        setattr(self, f"{name}_weight", self.params.get(f"{name}_weight", **options))
        options |= {"shape": shape[:1], "init": bias_init}
        setattr(self, f"{name}_bias", self.params.get(f"{name}_bias", **options) if use_bias else None)

    def _offsets(self, F: Any, x: Any, weight: Any, bias: Any) -> Any:
        convolution = F.npx.convolution if is_np_array() else F.Convolution
        return convolution(x, weight, bias, cudnn_off=True, **self._kwargs_offset)

    def _finish(self, out: Any) -> Any:
        if is_np_array():
            out = out.as_np_ndarray()
        return out if self.act is None else self.act(out)


_PARAMETERS = """
Parameters
----------
channels : int
    The number of the output's channels.
kernel_size : int or tuple of int
    The height and width of the window.
strides : int or tuple of int
    How far the window moves from one output to the next.
padding : int or tuple of int
    How many zeros are put at both ends of each axis.
dilation : int or tuple of int
    The distance of the window's elements, before they are moved.
groups : int
    Channels are split into so many groups, which are convolved one by one, by both convolutions.
num_deformable_group : int
    The input's channels are split into so many groups, each with offsets of its own.
layout : {{'NCHW'}}
use_bias : bool
in_channels : int
    The number of the input's channels; 0: it follows from the first call.
activation : str, optional
    What `Activation` takes; None: the outputs are as they are.
weight_initializer, bias_initializer : str or Initializer, optional
offset_weight_initializer, offset_bias_initializer : str or Initializer, optional
    By default all offsets are 0 at first.
offset_use_bias : bool
    Whether the convolution of the offsets has a bias.
op_name : str
    Taken, and not needed.
adj
    Not taken: only transposed convolutions have one.
prefix, params
    See `Block`.

Raises
------
ArgumentError, ShapeError
    For another layout, more or fewer numbers than axes, or groups that do not divide the channels.

Notes
-----
Takes an array of shape (batch, in_channels, height, width), and returns one of shape
(batch, channels, height, width). The weights have shapes (channels, in_channels / groups, *kernel_size) and
({numbers} kernel_size[0] kernel_size[1] num_deformable_group, in_channels / groups, *kernel_size).
"""


@documented(parameters=_PARAMETERS.format(numbers=2))
class DeformableConvolution(_DeformableConv):
    """A convolution of images whose window takes each element from a place of its own.

    A second convolution computes for each output and each element of the window how far the element is moved: two
    numbers, rows and columns. See Dai et al., Deformable Convolutional Networks (2017), equation 2.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.contrib.cnn.DeformableConvolution(8, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 16, 16))).shape
    (2, 8, 16, 16)
    >>> layer
    DeformableConvolution(3 -> 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    """

    def _alias(self) -> str:
        return "deformable_conv"

    def hybrid_forward(
        self,
        F: Any,
        x: Any,
        offset_weight: Any,
        deformable_conv_weight: Any,
        offset_bias: Any = None,
        deformable_conv_bias: Any = None,
    ) -> Any:
        """Return the layer's output."""
        offset = self._offsets(F, x, offset_weight, offset_bias)
        out = F.contrib.DeformableConvolution(
            x, offset, deformable_conv_weight, deformable_conv_bias, name="fwd", **self._kwargs_deformable_conv
        )
        return self._finish(out)

    def __repr__(self) -> str:
        weight, bias = self.deformable_conv_weight, self.deformable_conv_bias
        return convolution_repr(self, weight._shape, self._kwargs_deformable_conv, bias)


@block_with_defaults(op_name="ModulatedDeformableConvolution")
@documented(parameters=_PARAMETERS.format(numbers=3))
class ModulatedDeformableConvolution(_DeformableConv):
    """A convolution of images whose window takes each element from a place of its own, and times a factor of its own.

    A second convolution computes three numbers for each output and each element of the window: how many rows and
    columns the element is moved, and its factor, which is 2 sigmoid(number). See Zhu et al., Deformable ConvNets v2:
    More Deformable, Better Results (2018), equation 1; their factor is half of it.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.contrib.cnn.ModulatedDeformableConvolution(8, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 16, 16))).shape
    (2, 8, 16, 16)
    """

    _numbers = 3

    @property
    def offset_split_index(self) -> int:
        """Where the factors begin in what the second convolution computes."""
        return int(self._kwargs_offset["num_filter"] // 3 * 2)

    def _alias(self) -> str:
        return "modulated_deformable_conv"

    def _in_order(self, *parts: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
        return parts[::-1]

    def hybrid_forward(
        self,
        F: Any,
        x: Any,
        offset_weight: Any,
        deformable_conv_weight: Any,
        offset_bias: Any = None,
        deformable_conv_bias: Any = None,
    ) -> Any:
        """Return the layer's output."""
        computed = self._offsets(F, x, offset_weight, offset_bias)
        offset = F.slice_axis(computed, axis=1, begin=0, end=self.offset_split_index)
        mask = F.sigmoid(F.slice_axis(computed, axis=1, begin=self.offset_split_index, end=None)) * 2
        out = F.contrib.ModulatedDeformableConvolution(
            x, offset, mask, deformable_conv_weight, deformable_conv_bias, name="fwd", **self._kwargs_deformable_conv
        )
        return self._finish(out)
