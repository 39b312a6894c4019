"""Pictures from bytes and files, and to bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, ArgumentValueError, DTypeError, FileMissingError, ShapeError, describe
from minpy.files import checked_path, read_file
from minpy.pictures import through_opencv, through_pillow
from minpy.pictures.libraries import opencv, require_any

__all__ = ["decode", "decoder", "encode", "read"]

# What of OpenCV's flags means something for both libraries.
UNCHANGED, GRAY, COLOR = -1, 0, 1
_KINDS = {
    ".jpg": "JPEG", ".jpeg": "JPEG", ".png": "PNG", ".bmp": "BMP", ".tif": "TIFF", ".tiff": "TIFF", ".webp": "WEBP",
}  # fmt: skip


def decode(
    data: Any, flag: int = 1, to_rgb: bool = True, *, rotate: bool = False, name: str = "imdecode"
) -> np.ndarray:
    """Return an encoded picture as an array.

    PNG, JPEG, BMP, TIFF and WebP come out alike of OpenCV and Pillow, but: 16 bits a colour with `flag` -1 keep
    only 8 in Pillow, which has no such pictures (gray ones keep 16), and CMYK in JPEG files may differ by a few units.

    Parameters
    ----------
    data : bytes, or anything with a buffer
        A PNG, JPEG, ... file.
    flag : {1, 0, -1}
        Colours; gray; or as it is in the file, with its alpha channel and 16 bits if it has them.
    to_rgb : bool
        Whether red comes first, or blue.
    rotate : bool
        Whether the picture is turned as its EXIF data ask for: not done by MXNet, done by OpenCV's own `imdecode`
        (but not for `flag` -1).
    name : str
        The function or file, for messages.

    Returns
    -------
    numpy.ndarray
        Of shape (height, width, channels): three channels of uint8, or one in gray; with `flag` -1 one, three or four
        of uint8 or uint16.

    Raises
    ------
    ArgumentError
        If it is no picture, or one that is damaged.
    MissingDependencyError
        If neither OpenCV nor Pillow is installed.

    Examples
    --------
    >>> bitmap = bytes.fromhex('424d3a000000000000003600000028000000010000000100000001001800'
    ...                        '000000000400000000000000000000000000000000000000ff336600')
    >>> decode(bitmap)
    array([[[102,  51, 255]]], dtype=uint8)
    """
    if flag not in (UNCHANGED, GRAY, COLOR):
        raise ArgumentValueError(f"{name}: flag is {flag!r}; expected 1 (colours), 0 (gray) or -1 (as in the file).")
    opencv, pillow = require_any("decoding pictures")
    raw = np.frombuffer(data, np.uint8)
    if not raw.size:
        raise ArgumentError(f"{name}: there are no bytes to decode.")
    if opencv is not None:
        image = through_opencv.decoded(opencv, raw, flag, to_rgb, rotate)
        if image is not None:
            return image
    reason: Any = "OpenCV finds no picture in it, or a damaged one"
    if pillow is not None:
        try:
            return through_pillow.decoded(pillow, raw, flag, to_rgb, rotate)
        except pillow.UnidentifiedImageError:  # whose text names an object of Python's
            reason = "cannot identify its format"
        except through_pillow.failures(pillow) as error:
            reason = error
    raise ArgumentError(
        f"{name}: {raw.size} bytes, beginning with {raw[:8].tobytes()!r}, could not be decoded as a picture: {reason}"
    ) from (reason if isinstance(reason, Exception) else None)


def decoder(flag: int = 1, to_rgb: bool = True) -> Callable[[np.ndarray], np.ndarray | None]:
    """Return a function that decodes many small pictures with less ado than `decode`, and answers None where that is to
    be asked: what OpenCV does not decode, or all if it is not there.

    Examples
    --------
    >>> decoder()(np.frombuffer(b'no picture', dtype='uint8')) is None
    True
    """
    cv2 = opencv()
    if cv2 is None:
        return lambda data: None

    if flag == COLOR and not to_rgb:
        return through_opencv.color_decoder(cv2)

    def decoded(data: np.ndarray) -> np.ndarray | None:
        return through_opencv.decoded(cv2, data, flag, to_rgb, False) if data.size else None

    return decoded


def read(path: Any, flag: int = 1, to_rgb: bool = True, *, rotate: bool = False, name: str = "imread") -> np.ndarray:
    """Return a picture that is read from a file, as by `decode`.

    Raises
    ------
    FileMissingError, FileAccessError
        If the file is not there, or cannot be read.
    ArgumentError
        If it holds no picture, or a damaged one.
    MissingDependencyError
        If neither OpenCV nor Pillow is installed.

    Examples
    --------
    >>> read('missing.png')
    Traceback (most recent call last):
        ...
    minpy.core.errors.FileMissingError: imread: there is no file 'missing.png'.
    """
    path = checked_path(name, path)
    try:
        data = read_file(name, path)
    except FileMissingError as error:
        raise FileMissingError(f"{name}: there is no file {path!r}.") from error
    return decode(data, flag, to_rgb, rotate=rotate, name=f"{name} of {path!r}")


def encode(
    image: np.ndarray, extension: str = ".jpg", quality: int = 95, *, to_rgb: bool = False, name: str = "imencode"
) -> bytes:
    """Return an image as the bytes of a file: JPEG, PNG, ...

    Parameters
    ----------
    image : numpy.ndarray
        Of shape (height, width) or (height, width, 1), gray; (height, width, 3), colours; but for JPEG also
        (height, width, 4), with an alpha channel. Of dtype uint8; for PNG also uint16 (in colours with OpenCV only).
    extension : str
        '.jpg', '.jpeg', '.png', '.bmp', '.tif', '.tiff' or '.webp', in any case.
    quality : int
        Of a JPEG or WebP file, from 0 to 100; of a PNG file how hard to compress, from 0 to 9. What lies beyond is
        taken for the nearest of these.
    to_rgb : bool
        Whether in `image` red comes first, or blue.
    name : str
        The function, for messages.

    Raises
    ------
    ArgumentError, ShapeError, DTypeError
        For another kind of file, or another array.
    MissingDependencyError
        If neither OpenCV nor Pillow is installed.

    Examples
    --------
    >>> image = np.arange(12, dtype='uint8').reshape(2, 2, 3)
    >>> bool((decode(encode(image, '.png', 3), to_rgb=False) == image).all())
    True
    """
    kind = _KINDS.get(str(extension).lower())
    if kind is None:
        raise ArgumentValueError(f"{name}: the format is {extension!r}; expected one of {', '.join(_KINDS)}.")
    image = np.asarray(image)
    channels = 1 if image.ndim == 2 else image.shape[2] if image.ndim == 3 else 0
    if channels not in ((1, 3) if kind == "JPEG" else (1, 3, 4)) or not image.size:
        raise ShapeError(
            f"{name}: the image has shape {image.shape}; expected (height, width), (height, width, 1) or "
            f"(height, width, 3){'' if kind == 'JPEG' else ' or (height, width, 4)'}."
        )
    if image.dtype != np.uint8 and (image.dtype != np.uint16 or kind != "PNG"):
        raise DTypeError(f"{name}: the image is {describe(image)}; expected uint8. Use image.astype('uint8').")
    quality = min(max(int(quality), 0), 9 if kind == "PNG" else 100)
    opencv, pillow = require_any("encoding pictures")
    pixels = image.reshape(*image.shape[:2], channels)
    if opencv is not None:
        return through_opencv.encoded(opencv, pixels, kind, quality, to_rgb)
    if image.dtype == np.uint16 and channels > 1:
        raise DTypeError(f"{name}: 16 bits a colour take OpenCV: python -m pip install opencv-python-headless")
    return through_pillow.encoded(pillow, pixels, kind, quality, to_rgb)
