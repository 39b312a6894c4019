"""Images in another size, and with left and right exchanged: by OpenCV, or in NumPy."""

from __future__ import annotations

import numpy as np

from minpy.core.errors import ArgumentError
from minpy.pictures import interpolation as resampling
from minpy.pictures import through_opencv
from minpy.pictures.libraries import opencv

__all__ = ["mirror", "resize"]

# What OpenCV mirrors, in how many channels at most.
_BY_OPENCV = ("uint8", "int8", "uint16", "int16", "int32", "float32", "float64")
_CHANNELS = 4


def resize(image: np.ndarray, width: int, height: int, interp: int = 1, *, name: str = "imresize") -> np.ndarray:
    """Return an image in another size.

    Without OpenCV it is computed in NumPy: of 8 bits, to the last unit what OpenCV computes, but for bicubic
    interpolation, which newer processors make OpenCV round otherwise in a few pixels.

    Parameters
    ----------
    image : numpy.ndarray
        Of shape (height, width, channels), holding numbers.
    width, height : int
        The new ones.
    interp : {0, 1, 2, 3, 4}
        OpenCV's codes: nearest pixel; bilinear; bicubic over 4 × 4 pixels; means over areas; Lanczos over 8 × 8 pixels.
    name : str
        The function, for messages.

    Returns
    -------
    numpy.ndarray
        Of shape (height, width, channels), and the image's dtype.

    Raises
    ------
    ArgumentError
        For another shape or interpolation, or a size that is not positive.
    DTypeError
        For booleans.

    Examples
    --------
    >>> resize(np.array([[[0], [4]]], dtype='float32'), 4, 1).ravel()
    array([0., 1., 3., 4.], dtype=float32)
    """
    width, height, interp = int(width), int(height), int(interp)
    if image.ndim != 3 or min(width, height) <= 0:
        raise ArgumentError(
            f"{name}: src has shape {image.shape}, to become {width} wide and {height} high; expected (height, width, "
            "channels) and positive numbers."
        )
    resampling.require_interpolation(name, interp)
    if image.size and interp <= resampling.LANCZOS:
        cv2 = opencv()
        if cv2 is not None:
            result = through_opencv.resized(cv2, image, width, height, interp)
            if result is not None:
                return result
    result_in_numpy: np.ndarray = resampling.resized(name, image, width, height, interp)
    return result_in_numpy


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
