"""Images turned and sheared, and their colours as hue, lightness and saturation: by OpenCV, or in NumPy."""

from __future__ import annotations

import numpy as np

from minpy.pictures.libraries import opencv

__all__ = ["from_hls", "to_hls", "warped"]

_BITS = 5  # of a fraction of a pixel, in OpenCV


def warped(image: np.ndarray, matrix: np.ndarray, width: int, height: int, interp: int, fill: int) -> np.ndarray:
    """Return an image under an affine map.

    Without OpenCV it is computed in NumPy, with the nearest pixel or bilinearly.

    Examples
    --------
    >>> image = np.arange(4, dtype='uint8').reshape(1, 4, 1)
    >>> warped(image, np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), 4, 1, 0, 9).ravel()
    array([9, 0, 1, 2], dtype=uint8)
    """
    cv2 = opencv()
    if cv2 is not None:
        flat = cv2.warpAffine(
            image, matrix, (width, height), flags=interp, borderMode=cv2.BORDER_CONSTANT, borderValue=(fill,) * 4
        )
        return np.asarray(flat).reshape(height, width, image.shape[2])
    inverse = np.linalg.inv(np.vstack([matrix, [0.0, 0.0, 1.0]]))[:2]
    rows, columns = np.mgrid[:height, :width]
    x, y = (line[0] * columns + line[1] * rows + line[2] for line in inverse)
    if interp == 0:
        return _fetched(image, np.rint(x).astype(int), np.rint(y).astype(int), fill)
    x, y = (np.rint(value * (1 << _BITS)) / (1 << _BITS) for value in (x, y))
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    right, lower = (x - left)[..., None], (y - top)[..., None]
    upper = _fetched(image, left, top, fill) * (1 - right) + _fetched(image, left + 1, top, fill) * right
    below = _fetched(image, left, top + 1, fill) * (1 - right) + _fetched(image, left + 1, top + 1, fill) * right
    return np.floor(upper * (1 - lower) + below * lower + 0.5).astype(np.uint8)


def _fetched(image: np.ndarray, x: np.ndarray, y: np.ndarray, fill: int) -> np.ndarray:
    height, width = image.shape[:2]
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return np.where(inside[..., None], image[y.clip(0, height - 1), x.clip(0, width - 1)], np.uint8(fill))


def to_hls(image: np.ndarray) -> np.ndarray:
    """Return hue (0 to 180, half degrees), lightness and saturation (0 to 255) of an image, blue first, of uint8.

    Examples
    --------
    >>> to_hls(np.array([[[0, 255, 0]]], dtype='uint8'))
    array([[[ 60, 128, 255]]], dtype=uint8)
    """
    cv2 = opencv()
    if cv2 is not None:
        return np.asarray(cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_BGR2HLS))
    blue, green, red = np.moveaxis(image / np.float32(255), 2, 0)
    highest, lowest = image.max(2) / np.float32(255), image.min(2) / np.float32(255)
    lightness, spread = (highest + lowest) / 2, highest - lowest
    safe = np.where(spread == 0, 1, spread)
    total = np.where(lightness < 0.5, highest + lowest, 2 - highest - lowest)
    saturation = np.where(spread == 0, 0, spread / np.where(total == 0, 1, total))
    hue = np.where(highest == red, (green - blue) / safe, np.where(highest == green, 2 + (blue - red) / safe, 0))
    hue = np.where((highest != red) & (highest != green), 4 + (red - green) / safe, hue) * 30
    hue = np.where(spread == 0, 0, np.where(hue < 0, hue + 180, hue))
    return np.rint(np.stack([hue, lightness * 255, saturation * 255], 2)).astype(np.uint8)


def from_hls(image: np.ndarray) -> np.ndarray:
    """Return the image, blue first, of hue, lightness and saturation: what `to_hls` undoes.

    Examples
    --------
    >>> from_hls(np.array([[[60, 128, 255]]], dtype='uint8'))
    array([[[  1, 255,   1]]], dtype=uint8)
    """
    cv2 = opencv()
    if cv2 is not None:
        return np.asarray(cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_HLS2BGR))
    hue, lightness, saturation = np.moveaxis(image.astype(np.float32), 2, 0)
    hue, lightness, saturation = hue / 30, lightness / 255, saturation / 255
    upper = np.where(lightness <= 0.5, lightness * (1 + saturation), lightness + saturation - lightness * saturation)
    lower = 2 * lightness - upper
    channels = []
    for shift in (4, 0, 2):  # blue, green, red
        place = (hue + shift) % 6
        rising = lower + (upper - lower) * place
        falling = lower + (upper - lower) * (4 - place)
        channels.append(np.where(place < 1, rising, np.where(place < 3, upper, np.where(place < 4, falling, lower))))
    return np.rint(np.stack(channels, 2) * 255).clip(0, 255).astype(np.uint8)
