"""Pictures rotated about their center."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.base import numeric_types
from minpy.core.array import FRONT_ENDS, Array, new_array, raw_of
from minpy.core.errors import ArgumentError, ArgumentValueError, DTypeError, ShapeError, describe
from minpy.ndarray.op import BilinearSampler

__all__ = ["imrotate", "random_rotate"]


def imrotate(src: Any, rotation_degrees: Any, zoom_in: bool = False, zoom_out: bool = False) -> Any:
    """Return images rotated clockwise about their center, with bilinear interpolation; outside of an image is 0.

    Parameters
    ----------
    src : NDArray
        Of float32 and shape (channels, height, width) or (n, channels, height, width).
    rotation_degrees : float, or NDArray of shape (n,)
        One angle for all images, or one for each.
    zoom_in : bool
        Whether images are enlarged until nothing outside of them is visible.
    zoom_out : bool
        Whether images are reduced until all of each is visible.

    Returns
    -------
    NDArray
        Of the shape of `src`.

    Raises
    ------
    DTypeError
        For another dtype.
    ShapeError
        For another number of axes.
    ArgumentError
        For several angles of one image, angles that are no numbers, or both zooms.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.imrotate(mx.nd.array([[[1, 2], [3, 4]]]), 90).asnumpy().round(3)
    array([[[2., 4.],
            [1., 3.]]], dtype=float32)
    """
    if zoom_in and zoom_out:
        raise ArgumentValueError("imrotate: zoom_in and zoom_out are both True; expected at most one.")
    raw = raw_of(src)
    if not isinstance(src, Array) or raw.dtype != np.float32:
        raise DTypeError(
            f"imrotate: src is {describe(src)}; expected an NDArray of float32. Use src.astype('float32')."
        )
    if raw.ndim not in (3, 4):
        raise ShapeError(
            f"imrotate: src has shape {raw.shape}; expected (channels, height, width) or (n, channels, height, width)."
        )
    angles = _angles(raw, rotation_degrees)
    batch: Any = src
    batch = batch.as_nd_ndarray().reshape(len(angles), *raw.shape[-3:])
    grid = _grid(raw.shape[-2], raw.shape[-1], np.deg2rad(angles), zoom_in, zoom_out)
    turned = BilinearSampler(batch, new_array(FRONT_ENDS["mxnet"], grid)).reshape(raw.shape)
    return turned.as_np_ndarray() if isinstance(src, FRONT_ENDS.get("numpy", ())) else turned


def _angles(raw: np.ndarray, degrees: Any) -> np.ndarray:
    """Return an angle for each image, in degrees."""
    number = raw.shape[0] if raw.ndim == 4 else 1
    if isinstance(degrees, numeric_types):
        return np.full(number, degrees, np.float64)
    if raw.ndim == 3:
        raise ArgumentError(f"imrotate: rotation_degrees is {describe(degrees)} for one image; expected a number.")
    angles = np.asarray(raw_of(degrees))
    if angles.dtype.kind not in "fiu" or angles.shape != (number,):
        raise ArgumentValueError(
            f"imrotate: rotation_degrees is {describe(degrees)} for {number} images; expected one number, or an "
            f"array of {number}."
        )
    return angles.astype(np.float64)


def _grid(height: int, width: int, angles: np.ndarray, zoom_in: bool, zoom_out: bool) -> np.ndarray:
    """Return where the pixels of turned images come from: of shape (n, 2, height, width), from -1 to 1."""
    cosine, sine = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
    y, x = np.meshgrid(np.arange(height) - (height - 1) / 2, np.arange(width) - (width - 1) / 2, indexing="ij")
    scale: Any = 1.0
    if zoom_in or zoom_out:  # by how much the box around the turned image is larger than the image
        across, down = np.abs(cosine), np.abs(sine)
        scale = np.maximum(across + height / width * down, across + width / height * down)
        if zoom_in:
            scale = 1 / scale
    halves = max(width - 1, 1) / 2, max(height - 1, 1) / 2
    grid = np.empty((len(angles), 2, height, width), np.float32)
    grid[:, 0] = scale * (cosine * x - sine * y) / halves[0]
    grid[:, 1] = scale * (sine * x + cosine * y) / halves[1]
    return grid


def random_rotate(src: Any, angle_limits: tuple[float, float], zoom_in: bool = False, zoom_out: bool = False) -> Any:
    """Return images rotated by angles that are drawn from `numpy.random`.

    Parameters
    ----------
    src : NDArray
        Of float32 and shape (channels, height, width) or (n, channels, height, width).
    angle_limits : tuple of two floats
        The limits between which an angle is drawn for each image, in degrees.
    zoom_in, zoom_out : bool
        As for `imrotate`.

    Returns
    -------
    NDArray
        Of the shape of `src`.

    Raises
    ------
    DTypeError, ShapeError, ArgumentError
        As by `imrotate`.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.random_rotate(mx.nd.ones((2, 3, 4, 4)), (-20, 20), zoom_in=True).shape
    (2, 3, 4, 4)
    """
    lowest, highest = angle_limits
    degrees = np.random.uniform(lowest, highest) if src.ndim == 3 else np.random.uniform(lowest, highest, len(src))
    return imrotate(src, degrees, zoom_in=zoom_in, zoom_out=zoom_out)
