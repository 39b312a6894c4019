"""Images in another size, in NumPy: as OpenCV computes it, 8 bits to the last unit."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, DTypeError

__all__ = ["CUBIC", "matrix", "require_interpolation", "resized", "taps"]

NEAREST, LINEAR, CUBIC, AREA, LANCZOS, LINEAR_EXACT = range(6)
# Bits behind the point of the weights of uint8 images.
_BITS = 11


def require_interpolation(name: str, interp: int) -> None:
    """Raise, unless a number is one of OpenCV's codes of interpolations."""
    if interp not in range(6):
        raise ArgumentError(
            f"{name}: interp is {interp}; expected 0 (nearest), 1 (bilinear), 2 (bicubic), 3 (area) or 4 (Lanczos)."
        )


def resized(name: str, data: Any, width: int, height: int, interp: int) -> Any:
    """Return images of shape (..., height, width, channels) in another size."""
    require_interpolation(name, interp)
    if data.dtype.kind not in "fiu":
        raise DTypeError(f"{name}: data has dtype {data.dtype}; expected numbers. Use data.astype('uint8').")
    old_height, old_width = data.shape[-3:-1]
    if not old_height * old_width:
        raise ArgumentError(f"{name}: data has shape {data.shape}; expected images that have pixels.")
    horizontal, vertical = taps(old_width, width, old_height, height, interp)
    if interp == NEAREST:
        return data.take(vertical[0][0], axis=-3).take(horizontal[0][0], axis=-2)
    if data.dtype == np.uint8:
        halved = (old_width, old_height) == (2 * width, 2 * height)
        if interp in (CUBIC, LANCZOS):
            return _in_fixed_point(data, horizontal, vertical, False)
        if interp != AREA or halved or old_width < width or old_height < height:
            return _in_fixed_point(data, horizontal, vertical, True)
    real = data if data.dtype.kind == "f" and data.dtype.itemsize > 2 else data.astype(np.float32)
    real = _weighted(_weighted(real, horizontal, -2), vertical, -3)
    if data.dtype.kind == "f":
        return real.astype(data.dtype, copy=False)
    limits = np.iinfo(data.dtype)
    return np.clip(np.rint(real), limits.min, limits.max).astype(data.dtype)


def _weighted(data: Any, taps: Any, axis: int) -> Any:
    """Return the sums of elements along an axis, as (positions, weights) of each tap say."""
    total: Any = None
    shape = (-1,) + (1,) * (-1 - axis)
    for positions, weights in zip(*taps, strict=True):
        part = data.take(positions, axis=axis) * weights.astype(data.dtype).reshape(shape)
        total = part if total is None else total + part
    return total


def _in_fixed_point(data: Any, horizontal: Any, vertical: Any, linear: bool) -> Any:
    """Return what OpenCV computes of 8 bits: weights of 11 bits, and in a bilinear one a few bits less in between."""
    unit = 1 << _BITS
    across, down = (
        [(positions, np.rint(weights * unit).astype(np.int32)) for positions, weights in zip(*axis_taps, strict=True)]
        for axis_taps in (horizontal, vertical)
    )
    rows: Any = 0
    for positions, weights in across:
        rows = rows + data.take(positions, axis=-2).astype(np.int32) * weights[:, None]
    total: Any = 0
    for positions, weights in down:
        part = rows.take(positions, axis=-3)
        total = total + (((part >> 4) * weights[:, None, None]) >> 16 if linear else part * weights[:, None, None])
    total = (total + 2) >> 2 if linear else (total + (1 << (2 * _BITS - 1))) >> (2 * _BITS)
    return np.clip(total, 0, 255).astype(np.uint8)


# -- weights -----------------------------------------------------------------------------------------------------------


@lru_cache(256)
def taps(old_width: int, width: int, old_height: int, height: int, interp: int) -> tuple[Any, Any]:
    """Return (positions, weights), each of shape (taps, length), of both axes."""
    sizes = ((old_width, width), (old_height, height))
    if interp == AREA and all(old >= new for old, new in sizes):
        return _areas(*sizes[0]), _areas(*sizes[1])
    return _points(*sizes[0], interp, True), _points(*sizes[1], interp, False)


def _points(old: int, new: int, interp: int, across: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the taps of an interpolation between pixels. Beyond a border, pixels are as on it.

    There, a bilinear one goes across by one pixel, and down by two that are equal: of 8 bits, that rounds otherwise.
    """
    scale = old / new
    if interp == NEAREST:
        return np.minimum(np.floor(np.arange(new) * scale), old - 1).astype(np.intp)[None], np.ones((1, new))
    if interp == AREA:
        base = np.floor(np.arange(new) * scale)
        fraction = np.arange(1, new + 1) - (base + 1) / scale
        fraction = np.where(fraction <= 0, 0, fraction - np.floor(fraction))
    else:
        place = ((np.arange(new) + 0.5) * scale - 0.5).astype(np.float32)
        base = np.floor(place)
        fraction = (place - base).astype(np.float64)
    if interp in (LINEAR, LINEAR_EXACT, AREA):
        fraction = np.where(across & ((base < 0) | (base >= old - 1)), 0, fraction)
        weights = np.stack([1 - fraction, fraction])
        first = 0
    elif interp == CUBIC:
        weights, first = _cubic(fraction), -1
    else:
        weights, first = _lanczos(fraction), -3
    positions = base + np.arange(first, first + len(weights))[:, None]
    return np.clip(positions, 0, old - 1).astype(np.intp), weights


def _cubic(x: np.ndarray, sharpness: float = -0.75) -> np.ndarray:
    """Return the four weights of cubic convolution (Keys, 1981, equation 4, with a = -0.75)."""

    def near(t: Any) -> Any:
        return ((sharpness + 2) * t - (sharpness + 3)) * t * t + 1

    def far(t: Any) -> Any:
        return ((sharpness * t - 5 * sharpness) * t + 8 * sharpness) * t - 4 * sharpness

    first, second, third = far(x + 1), near(x), near(1 - x)
    return np.stack([first, second, third, 1 - first - second - third])


def _lanczos(x: np.ndarray) -> np.ndarray:
    """Return the eight weights of Lanczos' window, which add up to 1."""
    distance = x + 3 - np.arange(8)[:, None]
    weights = np.sinc(distance) * np.sinc(distance / 4)
    return np.asarray(weights / weights.sum(0))


def _areas(old: int, new: int) -> tuple[np.ndarray, np.ndarray]:
    """Return, as taps, how much of each old pixel lies in each new one."""
    scale = old / new
    start = np.arange(new) * scale
    end = np.minimum(start + scale, old)
    first = np.floor(start)
    positions = first + np.arange(int(np.ceil(scale)) + 1)[:, None]
    weights = np.clip(np.minimum(positions + 1, end) - np.maximum(positions, start), 0, None) / (end - start)
    weights[weights < 1e-6] = 0
    return np.clip(positions, 0, old - 1).astype(np.intp), np.asarray(weights / weights.sum(0))


def matrix(tapped: tuple[np.ndarray, np.ndarray], old: int, dtype: Any) -> np.ndarray:
    """Return taps as a matrix, of shape (new, old)."""
    positions, weights = tapped
    result = np.zeros((positions.shape[1], old))
    np.add.at(result, (np.broadcast_to(np.arange(positions.shape[1]), positions.shape), positions), weights)
    return result.astype(dtype)
