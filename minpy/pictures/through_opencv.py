"""Pictures through OpenCV."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["color_decoder", "decoded", "encoded", "resized"]

# What OpenCV resizes as MXNet's does, in how many channels at most.
_RESIZED = ("uint8", "uint16", "int16", "float32", "float64")
_CHANNELS = 4


def decoded(cv2: Any, data: np.ndarray, flag: int, to_rgb: bool, rotate: bool) -> np.ndarray | None:
    """Return a picture of shape (height, width, channels), or None if there is none that OpenCV can decode."""
    bits = flag if rotate or flag < 0 else flag | cv2.IMREAD_IGNORE_ORIENTATION
    try:
        image: Any = cv2.imdecode(data, bits)
    except cv2.error:  # sizes beyond OpenCV's limits
        return None
    if image is None:
        return None
    if image.ndim == 2:
        return np.asarray(image[..., None])
    return _turned(cv2, image) if to_rgb else image


def color_decoder(cv2: Any) -> Callable[[np.ndarray], np.ndarray | None]:
    """Return a function that does for pictures in colours, blue first, what `decoded` does, and little else."""
    imdecode, bits, error = cv2.imdecode, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION, cv2.error

    def decoded(data: np.ndarray) -> np.ndarray | None:
        try:
            image: np.ndarray | None = imdecode(data, bits)
        except error:  # no bytes, or sizes beyond OpenCV's limits
            return None
        return image

    return decoded


def _turned(cv2: Any, image: np.ndarray) -> Any:
    """Return an image with red where blue was."""
    channels = image.shape[2]
    if channels == 3:
        return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
    return cv2.cvtColor(image, cv2.COLOR_BGRA2RGBA) if channels == 4 else image


def encoded(cv2: Any, image: np.ndarray, kind: str, quality: int, to_rgb: bool) -> bytes:
    """Return an image of shape (height, width, channels) as a file."""
    image = np.ascontiguousarray(image)
    if to_rgb:
        image = _turned(cv2, image)
    options = {"JPEG": "IMWRITE_JPEG_QUALITY", "PNG": "IMWRITE_PNG_COMPRESSION", "WEBP": "IMWRITE_WEBP_QUALITY"}
    name = options.get(kind)
    _, buffer = cv2.imencode(f".{kind.lower()}", image, [] if name is None else [getattr(cv2, name), quality])
    return bytes(buffer)


def resized(cv2: Any, image: np.ndarray, width: int, height: int, interp: int) -> np.ndarray | None:
    """Return an image of shape (height, width, channels) in another size, or None if OpenCV does not know its kind."""
    channels = image.shape[2]
    if image.dtype.name not in _RESIZED or not 0 < channels <= _CHANNELS or not image.dtype.isnative:
        return None
    result: np.ndarray = cv2.resize(np.ascontiguousarray(image), (width, height), interpolation=interp)
    return result.reshape(height, width, channels)
