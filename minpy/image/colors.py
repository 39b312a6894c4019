"""Colours of pictures, changed in place where the numbers are floats: as MXNet does."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.array import raw_of
from minpy.image.pixels import channelwise, floats, is_recorded

__all__ = ["color_normalize"]


def color_normalize(src: Any, mean: Any, std: Any = None) -> Any:
    """Subtract a mean from an image and divide it by a standard deviation, in place (unless it is recorded).

    Parameters
    ----------
    src : NDArray
        Of shape (height, width, channels), and of floats.
    mean, std : NDArray, number, sequence of numbers, or None
        A number for each channel, or any shape that goes together with the image's.

    Returns
    -------
    NDArray
        `src`; another array, if that is recorded.

    Raises
    ------
    DTypeError
        For an image of integers.

    Examples
    --------
    >>> import minpy as mx
    >>> image = mx.nd.array([[[10, 20, 30]]])
    >>> mx.image.color_normalize(image, mx.nd.array([1, 2, 3]), mx.nd.array([9, 6, 3])).asnumpy()
    array([[[1., 3., 9.]]], dtype=float32)
    """
    if is_recorded(src):
        if mean is not None:
            src = src - mean
        return src if std is None else src / std
    raw, normalized = floats("color_normalize", src)
    for ufunc, values in ((np.subtract, mean), (np.divide, std)):
        if values is not None:
            channelwise(ufunc, raw, raw_of(values))
    return normalized
