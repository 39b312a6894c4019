"""The maximum or mean of whole channels, in one to three dimensions."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from minpy.gluon.nn.pooling import _Pooling
from minpy.gluon.nn.window_families import of_axes

__all__ = [
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
]

_PARAMETERS = """
Parameters
----------
layout : {'{first}', '{last}'}
prefix, params
    See `Block`.

Raises
------
ArgumentError
    For another layout.

Notes
-----
Takes an array of shape (batch, channels, {axes}), or with the channels last, and returns
one of shape (batch, channels, {ones}).
"""

_whole = functools.partial(of_axes, repeated=(), parameters=_PARAMETERS)


class _GlobalPooling(_Pooling):
    """The base of all six classes, whose default of `layout` `of_axes` sets."""

    _axes: ClassVar[int]
    _pool_type: ClassVar[str]

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__((1,) * self._axes, None, 0, True, True, self._pool_type, layout, **kwargs)


@_whole(1)
class GlobalMaxPool1D(_GlobalPooling):
    """The maximum of each channel of signals or sequences.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.GlobalMaxPool1D()(mx.nd.ones((2, 8, 5))).shape
    (2, 8, 1)
    """

    _pool_type = "max"


@_whole(2)
class GlobalMaxPool2D(_GlobalPooling):
    """The maximum of each channel of images.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.GlobalMaxPool2D()(mx.nd.ones((2, 8, 5, 6))).shape
    (2, 8, 1, 1)
    """

    _pool_type = "max"


@_whole(3)
class GlobalMaxPool3D(_GlobalPooling):
    """The maximum of each channel of volumes or videos.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.GlobalMaxPool3D()(mx.nd.ones((2, 8, 4, 5, 6))).shape
    (2, 8, 1, 1, 1)
    """

    _pool_type = "max"


@_whole(1)
class GlobalAvgPool1D(_GlobalPooling):
    """The mean of each channel of signals or sequences.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.GlobalAvgPool1D()(mx.nd.ones((2, 8, 5))).shape
    (2, 8, 1)
    """

    _pool_type = "avg"


@_whole(2)
class GlobalAvgPool2D(_GlobalPooling):
    """The mean of each channel of images.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.GlobalAvgPool2D()(mx.nd.ones((2, 8, 5, 6))).shape
    (2, 8, 1, 1)
    """

    _pool_type = "avg"


@_whole(3)
class GlobalAvgPool3D(_GlobalPooling):
    """The mean of each channel of volumes or videos.

    {parameters}

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.GlobalAvgPool3D()(mx.nd.ones((2, 8, 4, 5, 6))).shape
    (2, 8, 1, 1, 1)
    """

    _pool_type = "avg"
