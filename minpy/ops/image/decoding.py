"""Pictures decoded from bytes and files by Pillow, an optional package, as OpenCV decodes them; and borders.

In colours, PNG, JPEG, BMP and TIFF give the very numbers that OpenCV gives. So they do in gray: there, OpenCV takes the
brightness that a JPEG file holds, cuts off fractions in PNG, as libpng does, and rounds in other formats.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, FileAccessError, FileMissingError, MissingDependencyError, ShapeError

__all__ = ["decoded", "read", "with_border"]

# ITU-R BT.601 in 15 bits, as libpng has it.
_LUMA = np.array([9797, 19234, 3737])
_BORDERS = ("constant", "edge", "symmetric", "wrap", "reflect")


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise MissingDependencyError(
            "decoding pictures needs Pillow, which is not installed. Install it with: "
            "python -m pip install 'minpy[image]'"
        ) from None
    return Image


def decoded(name: str, data: bytes, flag: int, to_rgb: bool) -> np.ndarray:
    """Return an encoded picture as an array of uint8, of shape (height, width, 3) or, in gray, (height, width, 1).

    Parameters
    ----------
    name : str
        Of the function, or of the file, for messages.
    data : bytes
    flag : int
        0 for gray, else colours.
    to_rgb : bool
        Whether red comes first, or blue.

    Raises
    ------
    ArgumentError
        If it is no picture that Pillow can decode.
    MissingDependencyError
        If Pillow is not installed.
    """
    image_module = _pillow()
    if not data:
        raise ArgumentError(f"{name}: there are no bytes to decode.")
    try:
        with image_module.open(io.BytesIO(data)) as image:
            if not flag and image.format == "JPEG":
                image.draft("L", image.size)
            image.load()
            array = _pixels(image)
            is_png = image.format == "PNG"
    except (OSError, SyntaxError, ValueError) as error:  # what Pillow raises for files that are broken
        raise ArgumentError(
            f"{name}: {len(data)} bytes, beginning with {data[:8]!r}, could not be decoded as a picture: {error}"
        ) from error
    if flag:
        colors = np.broadcast_to(array, (*array.shape[:2], 3))
        return np.ascontiguousarray(colors if to_rgb else colors[..., ::-1])
    if array.shape[2] == 1:
        return array
    return (((array @ _LUMA + (0 if is_png else 1 << 14)) >> 15).astype(np.uint8))[..., None]


def _pixels(image: Any) -> np.ndarray:
    """Return the pixels of an image, with one channel if it is gray, else with three."""
    if image.mode.startswith("I"):  # 16 bits, of which the upper ones count
        return (np.asarray(image).astype(np.int64) >> 8).astype(np.uint8)[..., None]
    gray = image.mode in ("1", "L", "LA", "La", "F")
    pixels = np.array(image.convert("L" if gray else "RGB"))
    return pixels[..., None] if gray else pixels


def read(path: str, flag: int, to_rgb: bool) -> np.ndarray:
    """Return a picture that is read from a file, as `decoded` does.

    Raises
    ------
    FileMissingError, FileAccessError
        If the file is not there, or cannot be read.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError as error:
        raise FileMissingError(f"imread: there is no file {path!r}.") from error
    except OSError as error:
        raise FileAccessError(f"imread: the file {path!r} could not be read: {error}") from error
    return decoded(f"imread of {path!r}", data, flag, to_rgb)


def with_border(
    image: np.ndarray, top: int, bottom: int, left: int, right: int, kind: int, values: Sequence[float]
) -> np.ndarray:
    """Return an image of shape (height, width, channels) with a border around it.

    Parameters
    ----------
    image : array
    top, bottom, left, right : int
        Its widths.
    kind : {0, 1, 2, 3, 4}
        What it is filled with: numbers, the pixel at the edge, the image mirrored, repeated, or mirrored but for the
        pixels at the edge.
    values : sequence of float
        The numbers of the channels; 0 for those that have none.

    Raises
    ------
    ShapeError, ArgumentError
        For another shape, widths that are negative, or another kind.
    """
    if image.ndim != 3:
        raise ShapeError(f"copyMakeBorder: src has shape {image.shape}; expected (height, width, channels).")
    if min(top, bottom, left, right) < 0:
        raise ArgumentError(f"copyMakeBorder: widths are {(top, bottom, left, right)}; expected 0 or more.")
    if kind not in range(len(_BORDERS)):
        raise ArgumentError(f"copyMakeBorder: type is {kind}; expected 0 to {len(_BORDERS) - 1}.")
    widths = ((top, bottom), (left, right), (0, 0))
    if kind:
        mode: Any = _BORDERS[kind]
        return np.pad(image, widths, mode)
    channels = image.shape[2]
    filling = np.zeros(channels)
    filling[: len(values)] = values[:channels]
    if image.dtype.kind != "f":
        limits = np.iinfo(image.dtype)
        filling = np.clip(np.rint(filling), limits.min, limits.max)
    result = np.empty((image.shape[0] + top + bottom, image.shape[1] + left + right, channels), image.dtype)
    result[...] = filling.astype(image.dtype)
    result[top : top + image.shape[0], left : left + image.shape[1]] = image
    return result
