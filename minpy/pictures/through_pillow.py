"""Pictures through Pillow, decoded as OpenCV decodes them.

In colours, PNG, JPEG, BMP and TIFF give the very numbers that OpenCV gives. So they do in gray: there, OpenCV takes the
brightness that a JPEG file holds, cuts off fractions in PNG, as libpng does, and rounds in other formats.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

__all__ = ["decoded", "encoded", "failures"]

# ITU-R BT.601 in 15 bits, as libpng has it.
_LUMA = np.array([9797, 19234, 3737])


def failures(pillow: Any) -> tuple[type[Exception], ...]:
    """Return what Pillow raises for files that are broken, or too large; its warnings, too, where they are errors."""
    return (OSError, SyntaxError, ValueError, EOFError, MemoryError, Warning, pillow.DecompressionBombError)


def decoded(pillow: Any, data: Any, flag: int, to_rgb: bool, rotate: bool) -> np.ndarray:
    """Return a picture of shape (height, width, channels)."""
    with pillow.open(io.BytesIO(data)) as image:
        if not flag and image.format == "JPEG" and image.mode == "RGB":
            image.draft("L", image.size)
        image.load()
        is_png = image.format == "PNG"
        if rotate and flag >= 0:
            from PIL import ImageOps

            image = ImageOps.exif_transpose(image)
        if flag < 0:
            array = _unchanged(image)
        else:
            array = _pixels(image)
    if flag > 0:
        array = np.broadcast_to(array, (*array.shape[:2], 3))
    elif not flag and array.shape[2] == 3:
        array = (((array @ _LUMA + (0 if is_png else 1 << 14)) >> 15).astype(np.uint8))[..., None]
    return np.ascontiguousarray(array if to_rgb else _turned(array))


def _turned(array: np.ndarray) -> np.ndarray:
    """Return an image with red where blue was."""
    if array.shape[2] < 3:
        return array
    return array[..., [2, 1, 0, 3][: array.shape[2]]]


def _pixels(image: Any) -> np.ndarray:
    """Return the pixels of an image, with one channel if it is gray, else with three."""
    if image.mode.startswith("I"):  # 16 bits, of which the upper ones count
        return (np.asarray(image).astype(np.int64) >> 8).astype(np.uint8)[..., None]
    gray = image.mode in ("1", "L", "LA", "La", "F")
    pixels = np.array(image.convert("L" if gray else "RGB"))
    return pixels[..., None] if gray else pixels


def _unchanged(image: Any) -> np.ndarray:
    """Return the pixels of an image with what channels and bits it has."""
    if image.mode.startswith("I"):
        return np.asarray(image).astype(np.uint16)[..., None]
    if image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        return np.array(image.convert("RGBA"))
    return _pixels(image)


def encoded(pillow: Any, image: np.ndarray, kind: str, quality: int, to_rgb: bool) -> bytes:
    """Return an image of shape (height, width, channels) as a file."""
    if not to_rgb:
        image = _turned(image)
    picture = pillow.fromarray(np.ascontiguousarray(image[..., 0] if image.shape[2] == 1 else image))
    file = io.BytesIO()
    options: dict[str, dict[str, Any]] = {
        "JPEG": {"quality": quality, "subsampling": "4:2:0"},
        "PNG": {"compress_level": quality},
        "WEBP": {"quality": quality},
    }
    picture.save(file, kind, **options.get(kind, {}))
    return file.getvalue()
