"""Pictures in another size, and with a border."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError
from minpy.image.pixels import height_and_width, is_recorded, like, pixels
from minpy.ndarray import image as operators
from minpy.ndarray.decoding import _cvcopyMakeBorder
from minpy.pictures import resize

__all__ = ["_get_interp_method", "copyMakeBorder", "imresize", "interpolated", "resize_short", "scale_down"]

_CUBIC, _AREA, _LINEAR = 2, 3, 1
# Further codes beside those of OpenCV.
_BY_SIZE, _BY_CHANCE = 9, 10


def _get_interp_method(interp: int, sizes: Sequence[int] = ()) -> int:
    """Return OpenCV's code of an interpolation, chosen here for the codes 9 and 10.

    Examples
    --------
    >>> _get_interp_method(9, (256, 256, 224, 224))
    3
    """
    if interp == _BY_SIZE:
        if not sizes:
            return _CUBIC
        if len(sizes) != 4:
            raise ArgumentValueError(
                f"interp: there are {len(sizes)} sizes; expected four: the old height and width, and the new ones."
            )
        old_height, old_width, height, width = sizes
        if height > old_height and width > old_width:
            return _CUBIC
        return _AREA if height < old_height and width < old_width else _LINEAR
    if interp == _BY_CHANCE:
        return random.randint(0, 4)
    if interp not in range(5):
        raise ArgumentValueError(
            f"interp is {interp}; expected 0 (nearest), 1 (bilinear), 2 (bicubic), 3 (area), 4 (Lanczos), "
            "9 (by the sizes) or 10 (by chance)."
        )
    return interp


def interpolated(name: str, src: Any, width: int, height: int, interp: int) -> Any:
    """Return an image in another size; recorded, if the image is."""
    raw = pixels(name, src)
    if is_recorded(src):
        return operators.resize(src, size=(width, height), interp=interp)
    return like(resize(raw, width, height, interp, name=name), src)


def imresize(src: Any, w: int, h: int, *args: Any, **kwargs: Any) -> Any:
    """Return an image in another size, through OpenCV where it is installed.

    Parameters
    ----------
    src : NDArray
        Of shape (height, width, channels).
    w, h : int
        The new width and height.
    interp : {1, 0, 2, 3, 4}, optional
        Bilinear; nearest pixel; bicubic over 4 × 4 pixels; means over areas; Lanczos over 8 × 8 pixels.
    out : NDArray, optional
        Where it is written to.

    Returns
    -------
    NDArray
        Of shape (h, w, channels), and the image's dtype.

    Raises
    ------
    ArgumentError, ShapeError
        For another shape or interpolation, or a size that is not positive.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.imresize(mx.nd.array([[[0], [4]]]), 4, 1).asnumpy().ravel()
    array([0., 1., 3., 4.], dtype=float32)
    """
    return _imresize(src, w, h, *args, **kwargs)


def _imresize(src: Any, w: int, h: int, interp: int = 1, out: Any = None, name: str | None = None) -> Any:
    resized_image = interpolated("imresize", src, w, h, interp)
    if out is None:
        return resized_image
    out[:] = resized_image
    return out


def scale_down(src_size: tuple[int, int], size: tuple[int, int]) -> tuple[int, int]:
    """Return the largest size of the same ratio that fits into an image.

    Parameters
    ----------
    src_size : tuple of two ints
        The image's width and height.
    size : tuple of two ints
        A width and height.

    Returns
    -------
    tuple of two ints
        `size`, if it fits.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.scale_down((640, 480), (720, 120))
    (640, 106)
    """
    width, height = size
    max_width, max_height = src_size
    if max_height < height:
        width, height = float(width * max_height) / height, max_height  # type: ignore[assignment]
    if max_width < width:
        width, height = max_width, float(height * max_width) / width  # type: ignore[assignment]
    return int(width), int(height)


def resize_short(src: Any, size: int, interp: int = 2) -> Any:
    """Return an image whose shorter side is `size`, and whose sides keep their ratio.

    Parameters
    ----------
    src : NDArray
        Of shape (height, width, channels).
    size : int
    interp : int
        0 to 4, as for `imresize`; 9: bicubic to enlarge, areas to reduce; 10: by chance.

    Returns
    -------
    NDArray

    Raises
    ------
    ArgumentError, ShapeError
        For another shape or interpolation, or a size that is not positive.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.resize_short(mx.nd.zeros((480, 640, 3)), 240).shape
    (240, 320, 3)
    """
    height, width = height_and_width("resize_short", src)
    if size <= 0 or not height * width:
        raise ArgumentError(f"resize_short: an image of shape {src.shape}, to size {size}; expected positive numbers.")
    if height > width:
        new_height, new_width = size * height // width, size
    else:
        new_height, new_width = size, size * width // height
    code = _get_interp_method(interp, (height, width, new_height, new_width))
    return interpolated("resize_short", src, new_width, new_height, code)


def copyMakeBorder(src: Any, top: int, bot: int, left: int, right: int, *args: Any, **kwargs: Any) -> Any:
    """Return an image with a border around it.

    Parameters
    ----------
    src : NDArray
        Of shape (height, width, channels).
    top, bot, left, right : int
        The widths of the border.
    type : {0, 1, 2, 3, 4}, optional
        What it is filled with: numbers, the pixel at the edge, the image mirrored, repeated, or mirrored but for the
        pixels at the edge.
    value : float, optional
        The number, for all channels.
    values : sequence of float, optional
        The numbers of the channels, in place of `value`; 0 for those that have none.
    out : NDArray, optional
        Where it is written to.

    Returns
    -------
    NDArray
        Of the image's dtype and shape (top + height + bot, left + width + right, channels).

    Raises
    ------
    ShapeError, ArgumentError
        For another shape, negative widths, or another type.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.copyMakeBorder(mx.nd.array([[[1], [2]]]), 0, 0, 1, 2, value=7).asnumpy().ravel()
    array([7., 1., 2., 7., 7.], dtype=float32)
    """
    raw = pixels("copyMakeBorder", src)
    resized_image = _cvcopyMakeBorder(raw, top, bot, left, right, *args, **kwargs)
    return resized_image if resized_image is kwargs.get("out") else like(resized_image._data, src)
