"""Images in another size."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy import pictures
from minpy.core.errors import ArgumentError
from minpy.ops.image.geometry import as_tuple, require_image
from minpy.ops.inference.partial_shapes import UNKNOWN, same_dtype
from minpy.ops.registry import operator
from minpy.pictures.interpolation import CUBIC, matrix, resized, taps

__all__ = ["resize"]


@operator(name="_image_resize", shape_only=(0,), dtypes=same_dtype)
def resize(data: np.ndarray, *, size: tuple[int, ...] = (), keep_ratio: bool = False, interp: int = 1) -> np.ndarray:
    """Return images in another size.

    {data_parameter}
        Of shape (height, width, channels) or (n, height, width, channels).
    size : int, or tuple of two ints
        The new width and height; one number for both, or with `keep_ratio` for the shorter one.
    keep_ratio : bool
        Whether one number means the shorter side, and the longer one follows.
    interp : {0, 1, 2, 3, 4}
        Nearest pixel; bilinear; bicubic over 4 × 4 pixels; means over areas; Lanczos over 8 × 8 pixels.

    {returns_array}
        Of shape (height, width, channels) or (n, height, width, channels), and the data's dtype; integers are rounded.

    {raises_shape_error}
        If the data have another number of axes.
    DTypeError
        For booleans.
    ArgumentError
        If the size is not positive, or for another interpolation.

    {examples}
    >>> nd.image.resize(nd.array([[[0], [4]]]), size=(4, 1)).asnumpy().ravel()
    array([0., 1., 3., 4.], dtype=float32)
    """
    require_image("resize", data.shape)
    width, height = _new_size(data.shape, size, keep_ratio)
    return resized("resize", data, width, height, interp)


@resize.def_kernel
def _resize_kernel(data: np.ndarray, *, size: tuple[int, ...], keep_ratio: bool, interp: int) -> np.ndarray:
    """Return images in another size; OpenCV, if installed, resizes uint8 ones, with equal results.

    Bicubic interpolation is left out: on newer processors OpenCV rounds a few pixels differently.
    """
    require_image("resize", data.shape)
    width, height = _new_size(data.shape, size, keep_ratio)
    if data.dtype != np.uint8 or interp == CUBIC:
        return resized("resize", data, width, height, interp)
    if data.ndim == 3:
        return pictures.resize(data, width, height, interp, name="resize")
    return np.stack([pictures.resize(image, width, height, interp, name="resize") for image in data])


def _new_size(shape: tuple[int, ...], size: Any, keep_ratio: bool) -> tuple[int, int]:
    """Return the new width and height."""
    size = as_tuple(size)
    if len(size) not in (1, 2) or min(size) <= 0:
        raise ArgumentError(f"resize: size is {tuple(size)}; expected a positive number, or (width, height).")
    if len(size) == 2:
        return size[0], size[1]
    side = size[0]
    height, width = shape[-3:-1]
    if not keep_ratio:
        return side, side
    if UNKNOWN in (height, width):
        return UNKNOWN, UNKNOWN
    return (side * width // height, side) if height < width else (side, side * height // width)


@resize.def_grad()
def _resize_gradient(ans: Any, data: Any, *, size: Any, keep_ratio: bool, interp: int) -> Any:
    shape = np.shape(data)
    old_height, old_width, channels = shape[-3:]
    width, height = _new_size(shape, size, keep_ratio)
    horizontal, vertical = taps(old_width, width, old_height, height, interp)
    across, down = matrix(horizontal, old_width, data.dtype), matrix(vertical, old_height, data.dtype)

    def gradient(g: Any) -> Any:
        rows = down.T @ np.reshape(g, (*shape[:-3], height, width * channels))
        return across.T @ np.reshape(rows, (*shape[:-3], old_height, width, channels))

    return gradient


@resize.def_infer_shape
def _resize_shapes(inputs: Any, outputs: Any, *, size: Any, keep_ratio: bool) -> Any:
    data = inputs[0]
    if data is None:
        return inputs, outputs
    require_image("resize", data)
    width, height = _new_size(data, size, keep_ratio)
    return inputs, [(*data[:-3], height, width, data[-1])]
