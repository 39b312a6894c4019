"""The maximum or mean of windows, in one to three dimensions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.block.array_blocks import HybridArrayBlock
from minpy.gluon.nn.window_families import of_axes, per_axis, require_layout
from minpy.ops.nn.data_axes import axes_of_layout

__all__ = ["AvgPool1D", "AvgPool2D", "AvgPool3D", "MaxPool1D", "MaxPool2D", "MaxPool3D"]


class _Pooling(HybridArrayBlock):
    """The base of all layers of pooling, with MXNet's parameters."""

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: Any,
        ceil_mode: bool,
        global_pool: bool,
        pool_type: str,
        layout: str,
        count_include_pad: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        layer, count = type(self).__name__, len(pool_size)
        require_layout(layer, layout, count, channels_last=True)
        self._input_axes = axes_of_layout(layout)
        self._kwargs: dict[str, Any] = {
            "kernel": pool_size,
            "stride": per_axis(layer, "strides", pool_size if strides is None else strides, count, 1, True),
            "pad": per_axis(layer, "padding", padding, count, 0, True),
            "global_pool": global_pool,
            "pool_type": pool_type,
            "layout": layout,
            "pooling_convention": "full" if ceil_mode else "valid",
        }
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the layer's output."""
        pooled = F.npx.pooling if is_np_array() else F.Pooling
        return pooled(x, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        settings = self._kwargs
        return (
            f"{type(self).__name__}(size={settings['kernel']}, stride={settings['stride']}, padding={settings['pad']}, "
            f"ceil_mode={settings['pooling_convention'] == 'full'}, global_pool={settings['global_pool']}, "
            f"pool_type={settings['pool_type']}, layout={settings['layout']})"
        )


_PARAMETERS = """
Parameters
----------
pool_size : int or tuple of int
    The lengths of the window.
strides : int or tuple of int, optional
    How far the window moves from one output to the next; `pool_size`, if left out.
padding : int or tuple of int
    How many elements are put at both ends of each axis, which {counted}.
{options}
prefix, params
    See `Block`.

Raises
------
ArgumentError
    For another layout, or more or fewer numbers than axes.

Notes
-----
Takes an array of shape (batch, channels, {{axes}}), or with the channels last, and returns
one of the same kind.
"""
_LAYOUT = "layout : {'{first}', '{last}'}"
_CEIL_MODE = """ceil_mode : bool
    Whether lengths of the output are rounded up, so that a part of a window counts as one."""
_COUNT_INCLUDE_PAD = """count_include_pad : bool
    Whether the padding counts as elements of a window, which are 0."""


def _family(counted: str, *options: str) -> Callable[..., Any]:
    """Return `of_axes` for layers of which padding counts in some way, with these options in order."""
    text = _PARAMETERS.format(counted=counted, options="\n".join(options))
    return functools.partial(of_axes, repeated=["pool_size"], parameters=text)


# MXNet has `layout` and `ceil_mode` in both orders.
_maxima = _family("count for none", _LAYOUT, _CEIL_MODE)
_maxima_3d = _family("count for none", _CEIL_MODE, _LAYOUT)
_means_1d = _family("are 0", _LAYOUT, _CEIL_MODE, _COUNT_INCLUDE_PAD)
_means = _family("are 0", _CEIL_MODE, _LAYOUT, _COUNT_INCLUDE_PAD)


class _MaxPool(_Pooling):
    """The base of layers of maxima, whose defaults `_maxima` sets."""

    _axes: ClassVar[int]

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: Any = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ) -> None:
        window = per_axis(type(self).__name__, "pool_size", pool_size, self._axes, 1)
        super().__init__(window, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class _AvgPool(_Pooling):
    """The base of layers of means, whose defaults `_means` sets."""

    _axes: ClassVar[int]

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        layout: str = "NCW",
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        window = per_axis(type(self).__name__, "pool_size", pool_size, self._axes, 1)
        super().__init__(window, strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs)


@_maxima(1)
class MaxPool1D(_MaxPool):
    """The maxima of windows of signals or sequences.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.MaxPool1D()(mx.nd.array([[[1, 5, 2, 3]]])).asnumpy().tolist()
    [[[5.0, 3.0]]]
    """


@_maxima(2)
class MaxPool2D(_MaxPool):
    """The maxima of windows of images.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.MaxPool2D(pool_size=3, strides=2, padding=1)(mx.nd.ones((4, 8, 32, 32))).shape
    (4, 8, 16, 16)
    """


@_maxima_3d(3)
class MaxPool3D(_MaxPool):
    """The maxima of windows of volumes or videos.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.MaxPool3D()(mx.nd.ones((2, 8, 4, 16, 16))).shape
    (2, 8, 2, 8, 8)
    """

    def __init__(
        self,
        pool_size: Any = (2, 2, 2),
        strides: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, layout, ceil_mode, **kwargs)


@_means_1d(1)
class AvgPool1D(_AvgPool):
    """The means of windows of signals or sequences.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.nd.array([[[1, 5, 2, 3, 9]]])
    >>> mx.gluon.nn.AvgPool1D()(x).asnumpy().tolist()
    [[[3.0, 2.5]]]
    >>> mx.gluon.nn.AvgPool1D(ceil_mode=True)(x).asnumpy().tolist()
    [[[3.0, 2.5, 9.0]]]
    """

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: Any = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, count_include_pad, **kwargs)


@_means(2)
class AvgPool2D(_AvgPool):
    """The means of windows of images.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.nd.ones((1, 1, 2, 2))
    >>> mx.gluon.nn.AvgPool2D(pool_size=3, strides=2, padding=1)(x).asnumpy().astype('float64').round(2).tolist()
    [[[[0.44]]]]
    >>> mx.gluon.nn.AvgPool2D(pool_size=3, strides=2, padding=1, count_include_pad=False)(x).asnumpy().tolist()
    [[[[1.0]]]]
    """


@_means(3)
class AvgPool3D(_AvgPool):
    """The means of windows of volumes or videos.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.AvgPool3D()(mx.nd.ones((2, 8, 4, 16, 16))).shape
    (2, 8, 2, 8, 8)
    """
