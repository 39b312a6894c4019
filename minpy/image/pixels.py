"""Conversions of images to buffers and back, with checks, for all functions of this package."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.array import FRONT_ENDS, Array, new_array
from minpy.core.buffers import note_write
from minpy.core.errors import ArgumentError, DTypeError, NoGradientError, ShapeError, describe
from minpy.core.numpy_semantics import is_np_array
from minpy.core.state import state

__all__ = ["array_of", "channelwise", "float_buffer", "height_and_width", "is_recorded", "like", "pixels", "unrecorded"]


def array_of(raw: np.ndarray) -> Any:
    """Return an array of the class that this thread uses, NDArray or `mx.np.ndarray`, around a buffer."""
    return new_array(FRONT_ENDS["numpy" if is_np_array() else "mxnet"], raw)


def like(raw: np.ndarray, source: Any) -> Any:
    """Return an array around a buffer, of the class of `source`."""
    return source._like(raw) if isinstance(source, Array) else array_of(raw)


def pixels(name: str, image: Any) -> np.ndarray:
    """Return the buffer of an image of shape (height, width, channels)."""
    raw = image._data if isinstance(image, Array) else image
    if not isinstance(raw, np.ndarray):
        raise ArgumentError(f"{name}: src is {describe(image)}; expected an array of (height, width, channels).")
    if raw.ndim != 3:
        raise ShapeError(f"{name}: src has shape {raw.shape}; expected (height, width, channels).")
    return raw


def height_and_width(name: str, image: Any) -> tuple[int, int]:
    """Return the height and width of an image of shape (height, width, channels)."""
    shape = getattr(image, "shape", None)
    if shape is None or len(shape) != 3:
        raise ShapeError(f"{name}: src is {describe(image)}; expected an array of (height, width, channels).")
    return int(shape[0]), int(shape[1])


def is_recorded(image: Any) -> bool:
    """Tell whether operations on an image are recorded for gradients."""
    return isinstance(image, Array) and image._node is not None and state.recording


def unrecorded(name: str, image: Any) -> None:
    """Raise if an image is recorded, for an operation without a gradient."""
    if is_recorded(image):
        raise NoGradientError(
            f"{name}: src is recorded, and this has no gradient. Augment pictures outside of autograd.record(), or use "
            "the operators of nd.image."
        )


def float_buffer(name: str, image: Any) -> tuple[np.ndarray, Any]:
    """Return the buffer of an image that is to be changed in place, and the array that holds it afterwards.

    That is the image itself, as in MXNet; a NumPy array is copied.
    """
    unrecorded(name, image)
    raw = image._data if isinstance(image, Array) else image
    if not isinstance(raw, np.ndarray):
        raise ArgumentError(f"{name}: src is {describe(image)}; expected an array of (height, width, channels).")
    if raw.dtype.kind != "f":
        raise DTypeError(
            f"{name}: src has dtype {raw.dtype}; expected floats, as fractions would be cut off. Put CastAug() before "
            "it, or use src.astype('float32')."
        )
    if isinstance(image, Array) and raw.flags.writeable:
        note_write(raw)
        return raw, image
    raw = raw.copy()
    return raw, like(raw, image)


def channelwise(ufunc: np.ufunc, raw: np.ndarray, values: Any) -> None:
    """Compute a ufunc of an image and a number a channel, into the image.

    A row of pixels at a time: NumPy's loops over no more than three channels would be many times slower.
    """
    values = np.asarray(values, raw.dtype)
    channels = raw.shape[-1] if raw.ndim else 1
    if raw.ndim == 3 and raw.flags.c_contiguous and values.size == channels and values.shape[-1:] == (channels,):
        ufunc(raw.reshape(len(raw), -1), np.tile(values.reshape(-1), raw.shape[1]), out=raw.reshape(len(raw), -1))
    else:
        ufunc(raw, values, out=raw)
