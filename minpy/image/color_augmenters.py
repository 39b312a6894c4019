"""Colours of pictures changed: of float pictures (height, width, 3), red first, most of them in place as in MXNet.

What augmenters draw comes from Python's `random` and, for the lighting, from `numpy.random`, as in MXNet.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from minpy.core.array import FRONT_ENDS, Array, new_array, raw_of
from minpy.core.errors import ShapeError
from minpy.image.augmenters import Augmenter, RandomOrderAug
from minpy.image.pixels import channelwise, float_buffer, is_recorded, like

__all__ = [
    "BrightnessJitterAug",
    "ColorJitterAug",
    "ColorNormalizeAug",
    "ContrastJitterAug",
    "HueJitterAug",
    "LightingAug",
    "RandomGrayAug",
    "SaturationJitterAug",
    "color_normalize",
]

# The weights of red, green and blue in brightness: Y of YIQ, NTSC 1953.
_LUMA = np.array([[[0.299, 0.587, 0.114]]], np.float32)


def _rgb_buffer(name: str, src: Any) -> tuple[np.ndarray, Any]:
    raw, result = float_buffer(name, src)
    if raw.ndim != 3 or raw.shape[2] != 3:
        raise ShapeError(f"{name}: src has shape {raw.shape}; expected (height, width, 3), as it takes colours.")
    return raw, result


def _mix_channels(raw: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return an image whose colours are a matrix times the colours of another."""
    return np.matmul(raw.reshape(-1, 3), matrix.astype(raw.dtype)).reshape(raw.shape)


def _array(raw: np.ndarray) -> Any:
    return new_array(FRONT_ENDS["mxnet"], raw)


class BrightnessJitterAug(Augmenter):
    """Multiplies a picture by 1 + b, where b is drawn between -brightness and brightness.

    Parameters
    ----------
    brightness : float

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.BrightnessJitterAug(0)(mx.nd.array([[[1, 2, 3]]])).asnumpy()
    array([[[1., 2., 3.]]], dtype=float32)
    """

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: Any) -> Any:
        alpha = 1.0 + random.uniform(-self.brightness, self.brightness)
        if is_recorded(src):
            return src * alpha
        raw, result = float_buffer("BrightnessJitterAug", src)
        raw *= raw.dtype.type(alpha)
        return result


class ContrastJitterAug(Augmenter):
    """Moves a picture towards its mean brightness, or away from it, by a factor drawn up to `contrast`.

    Parameters
    ----------
    contrast : float

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.ContrastJitterAug(0)(mx.nd.array([[[1, 2, 3]]])).asnumpy()
    array([[[1., 2., 3.]]], dtype=float32)
    """

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast
        self.coef = _array(_LUMA.copy())

    def __call__(self, src: Any) -> Any:
        alpha = 1.0 + random.uniform(-self.contrast, self.contrast)
        raw, result = _rgb_buffer("ContrastJitterAug", src)
        gray = float((raw.reshape(-1, 3) @ raw_of(self.coef).reshape(3).astype(raw.dtype)).mean())
        raw *= raw.dtype.type(alpha)
        raw += raw.dtype.type((1.0 - alpha) * gray)
        return result


class SaturationJitterAug(Augmenter):
    """Moves the colours of a picture towards gray, or away from it, by a factor drawn up to `saturation`.

    Parameters
    ----------
    saturation : float

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.SaturationJitterAug(0)(mx.nd.array([[[1, 2, 3]]])).asnumpy()
    array([[[1., 2., 3.]]], dtype=float32)
    """

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation
        self.coef = _array(_LUMA.copy())

    def __call__(self, src: Any) -> Any:
        alpha = 1.0 + random.uniform(-self.saturation, self.saturation)
        raw, result = _rgb_buffer("SaturationJitterAug", src)
        coefficients = raw_of(self.coef).reshape(3, 1).astype(np.float64)
        raw[...] = _mix_channels(raw, alpha * np.eye(3) + (1.0 - alpha) * np.repeat(coefficients, 3, axis=1))
        return result


class HueJitterAug(Augmenter):
    """Turns the colours of a picture about the axis of grays: in YIQ, by an angle drawn up to `hue` times 180 degrees.

    Parameters
    ----------
    hue : float

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.HueJitterAug(0.2)(mx.nd.array([[[2, 2, 2]]])).asnumpy().round(1)
    array([[[2., 2., 2.]]], dtype=float32)
    """

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)
        self.hue = hue
        # From red, green and blue to YIQ (NTSC 1953), and back.
        self.tyiq = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
        self.ityiq = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])

    def __call__(self, src: Any) -> Any:
        angle = random.uniform(-self.hue, self.hue) * math.pi
        raw, _ = _rgb_buffer("HueJitterAug", src)
        cosine, sine = math.cos(angle), math.sin(angle)
        turned = np.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])
        return like(_mix_channels(raw, (self.ityiq @ turned @ self.tyiq).T), src)


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation changed by chance, in an order drawn each time.

    Parameters
    ----------
    brightness, contrast, saturation : float
        How much, up to; 0 leaves one out.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.ColorJitterAug(0.1, 0.1, 0)(mx.nd.zeros((2, 2, 3))).shape
    (2, 2, 3)
    """

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        parts: list[Augmenter] = []
        if brightness > 0:
            parts.append(BrightnessJitterAug(brightness))
        if contrast > 0:
            parts.append(ContrastJitterAug(contrast))
        if saturation > 0:
            parts.append(SaturationJitterAug(saturation))
        super().__init__(parts)


class LightingAug(Augmenter):
    """Adds a colour drawn along the principal axes of the colours of pictures (Krizhevsky et al., 2012, section 4.1).

    Parameters
    ----------
    alphastd : float
        The standard deviation of what each axis is multiplied by.
    eigval : array of shape (3,)
        The eigenvalues of the colours' covariance.
    eigvec : array of shape (3, 3)
        Its eigenvectors, as columns.

    Examples
    --------
    >>> import minpy as mx
    >>> import numpy as np
    >>> mx.image.LightingAug(0.0, np.ones(3), np.eye(3))(mx.nd.zeros((1, 1, 3))).asnumpy()
    array([[[0., 0., 0.]]], dtype=float32)
    """

    def __init__(self, alphastd: float, eigval: Any, eigvec: Any) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd = alphastd
        self.eigval = eigval
        self.eigvec = eigvec

    def __call__(self, src: Any) -> Any:
        alpha = np.random.normal(0, self.alphastd, size=(3,))
        raw, result = _rgb_buffer("LightingAug", src)
        channelwise(np.add, raw, np.dot(np.asarray(raw_of(self.eigvec)) * alpha, np.asarray(raw_of(self.eigval))))
        return result


class ColorNormalizeAug(Augmenter):
    """Subtracts a mean and divides by a standard deviation, in place: `color_normalize`.

    Parameters
    ----------
    mean, std : array of a number for each channel, or None

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.ColorNormalizeAug([1, 2, 3], [1, 2, 1])(mx.nd.array([[[1, 4, 9]]])).asnumpy()
    array([[[0., 1., 6.]]], dtype=float32)
    """

    def __init__(self, mean: Any, std: Any) -> None:
        super().__init__(mean=mean, std=std)
        self.mean, self.std = (
            values if values is None or isinstance(values, Array) else _array(np.array(values, np.float32))
            for values in (mean, std)
        )

    def __call__(self, src: Any) -> Any:
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Takes the colours out of a picture; the three channels stay.

    Parameters
    ----------
    p : float
        How often: of 1.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.RandomGrayAug(1)(mx.nd.array([[[10, 20, 30]]])).asnumpy()
    array([[[18.6, 18.6, 18.6]]], dtype=float32)
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p
        self.mat = _array(np.repeat(np.array([[0.21], [0.72], [0.07]], np.float32), 3, axis=1))

    def __call__(self, src: Any) -> Any:
        if random.random() >= self.p:
            return src
        raw, _ = _rgb_buffer("RandomGrayAug", src)
        return like(_mix_channels(raw, raw_of(self.mat)), src)


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
    raw, normalized = float_buffer("color_normalize", src)
    for ufunc, values in ((np.subtract, mean), (np.divide, std)):
        if values is not None:
            channelwise(ufunc, raw, raw_of(values))
    return normalized
