"""The maximum or mean of whole channels, in one to three dimensions."""

from __future__ import annotations

from typing import Any

from minpy.gluon.nn.pooling import _Pooling

__all__ = [
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
]


class GlobalMaxPool1D(_Pooling):
    """The maximum of each channel of signals or sequences.

    Parameters
    ----------
    layout : {'NCW', 'NWC'}
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        For another layout.

    Notes
    -----
    Takes an array of shape (batch, channels, width), or with the channels last, and returns
    one of shape (batch, channels, 1).

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.GlobalMaxPool1D()(mx.nd.ones((2, 8, 5))).shape
    (2, 8, 1)
    """

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__((1,), None, 0, True, True, "max", layout, **kwargs)


class GlobalMaxPool2D(_Pooling):
    """The maximum of each channel of images.

    Parameters
    ----------
    layout : {'NCHW', 'NHWC'}
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        For another layout.

    Notes
    -----
    Takes an array of shape (batch, channels, height, width), or with the channels last, and returns
    one of shape (batch, channels, 1, 1).

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.GlobalMaxPool2D()(mx.nd.ones((2, 8, 5, 6))).shape
    (2, 8, 1, 1)
    """

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__((1, 1), None, 0, True, True, "max", layout, **kwargs)


class GlobalMaxPool3D(_Pooling):
    """The maximum of each channel of volumes or videos.

    Parameters
    ----------
    layout : {'NCDHW', 'NDHWC'}
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        For another layout.

    Notes
    -----
    Takes an array of shape (batch, channels, depth, height, width), or with the channels last, and returns
    one of shape (batch, channels, 1, 1, 1).

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.GlobalMaxPool3D()(mx.nd.ones((2, 8, 4, 5, 6))).shape
    (2, 8, 1, 1, 1)
    """

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__((1, 1, 1), None, 0, True, True, "max", layout, **kwargs)


class GlobalAvgPool1D(_Pooling):
    """The mean of each channel of signals or sequences.

    Parameters
    ----------
    layout : {'NCW', 'NWC'}
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        For another layout.

    Notes
    -----
    Takes an array of shape (batch, channels, width), or with the channels last, and returns
    one of shape (batch, channels, 1).

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.GlobalAvgPool1D()(mx.nd.ones((2, 8, 5))).shape
    (2, 8, 1)
    """

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__((1,), None, 0, True, True, "avg", layout, **kwargs)


class GlobalAvgPool2D(_Pooling):
    """The mean of each channel of images.

    Parameters
    ----------
    layout : {'NCHW', 'NHWC'}
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        For another layout.

    Notes
    -----
    Takes an array of shape (batch, channels, height, width), or with the channels last, and returns
    one of shape (batch, channels, 1, 1).

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.GlobalAvgPool2D()(mx.nd.ones((2, 8, 5, 6))).shape
    (2, 8, 1, 1)
    """

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__((1, 1), None, 0, True, True, "avg", layout, **kwargs)


class GlobalAvgPool3D(_Pooling):
    """The mean of each channel of volumes or videos.

    Parameters
    ----------
    layout : {'NCDHW', 'NDHWC'}
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        For another layout.

    Notes
    -----
    Takes an array of shape (batch, channels, depth, height, width), or with the channels last, and returns
    one of shape (batch, channels, 1, 1, 1).

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.GlobalAvgPool3D()(mx.nd.ones((2, 8, 4, 5, 6))).shape
    (2, 8, 1, 1, 1)
    """

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__((1, 1, 1), None, 0, True, True, "avg", layout, **kwargs)
