"""Images with left and right exchanged."""

from __future__ import annotations

import numpy as np

from minpy.pictures.libraries import opencv

__all__ = ["mirror"]

_BY_OPENCV = ("uint8", "int8", "uint16", "int16", "int32", "float32", "float64")
_CHANNELS = 4


def mirror(image: np.ndarray) -> np.ndarray:
    """Return an image with left and right exchanged: by OpenCV, or in NumPy.

    Parameters
    ----------
    image : numpy.ndarray
        Of shape (height, width, channels).

    Returns
    -------
    numpy.ndarray
        In memory of its own.

    Examples
    --------
    >>> mirror(np.array([[[1], [2], [3]]], dtype='uint8')).ravel()
    array([3, 2, 1], dtype=uint8)
    """
    channels = image.shape[2]
    cv2 = opencv() if image.size and channels <= _CHANNELS and image.dtype.name in _BY_OPENCV else None
    if cv2 is not None and image.dtype.isnative:
        flipped: np.ndarray = cv2.flip(np.ascontiguousarray(image), 1)
        return flipped.reshape(image.shape)
    result = np.empty(image.shape, image.dtype)
    for channel in range(channels):  # a copy of pixel after pixel would be several times slower
        result[:, :, channel] = image[:, ::-1, channel]
    return result
