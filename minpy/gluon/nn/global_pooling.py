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

Examples
--------
>>> import minpy as mx
>>> mx.gluon.nn.Global{kind}Pool{dims}D()(mx.nd.ones((2, 8, {lengths}))).shape
(2, 8, {ones})
"""


def _whole(axes: int, kind: str) -> Any:
    lengths = ", ".join("567"[:axes])
    return of_axes(axes, repeated=(), parameters=_PARAMETERS, kind=kind, dims=str(axes), lengths=lengths)


_maximum, _mean = functools.partial(_whole, kind="Max"), functools.partial(_whole, kind="Avg")


class _GlobalPooling(_Pooling):
    """The base of all six classes, whose default of `layout` `of_axes` sets."""

    _axes: ClassVar[int]
    _pool_type: ClassVar[str]

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__((1,) * self._axes, None, 0, True, True, self._pool_type, layout, **kwargs)


@_maximum(1)
class GlobalMaxPool1D(_GlobalPooling):
    """The maximum of each channel of signals or sequences.

    {parameters}
    """

    _pool_type = "max"


@_maximum(2)
class GlobalMaxPool2D(_GlobalPooling):
    """The maximum of each channel of images.

    {parameters}
    """

    _pool_type = "max"


@_maximum(3)
class GlobalMaxPool3D(_GlobalPooling):
    """The maximum of each channel of volumes or videos.

    {parameters}
    """

    _pool_type = "max"


@_mean(1)
class GlobalAvgPool1D(_GlobalPooling):
    """The mean of each channel of signals or sequences.

    {parameters}
    """

    _pool_type = "avg"


@_mean(2)
class GlobalAvgPool2D(_GlobalPooling):
    """The mean of each channel of images.

    {parameters}
    """

    _pool_type = "avg"


@_mean(3)
class GlobalAvgPool3D(_GlobalPooling):
    """The mean of each channel of volumes or videos.

    {parameters}
    """

    _pool_type = "avg"
