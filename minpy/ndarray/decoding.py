"""Pictures as NDArrays: decoded, read, resized, and with borders; by the names that MXNet's image module uses.

Arguments of the functions with an underscore are those of `minpy.image`'s; `name` is accepted and not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy import pictures
from minpy.core.array import Array, new_array
from minpy.core.errors import ArgumentError
from minpy.ndarray.ndarray import NDArray
from minpy.ops.image.borders import with_border

__all__ = ["_cvcopyMakeBorder", "_cvimdecode", "_cvimread", "_cvimresize", "imdecode"]


def _answer(image: np.ndarray, out: NDArray | None) -> NDArray:
    if out is None:
        return new_array(NDArray, image)
    out[:] = image
    return out


def _raw(image: Any) -> np.ndarray:
    raw: np.ndarray = image._data if isinstance(image, Array) else np.asarray(image)
    return raw


def _bytes(name: str, buffer: Any) -> Any:
    if isinstance(buffer, (bytes, bytearray, memoryview)):
        return buffer
    raw = _raw(buffer)
    if raw.ndim != 1:
        raise ArgumentError(f"{name}: the bytes have shape {raw.shape}; expected one axis.")
    return np.ascontiguousarray(raw, np.uint8)


def _cvimdecode(
    buf: Any, flag: int = 1, to_rgb: bool = True, out: NDArray | None = None, name: str | None = None
) -> NDArray:
    """Return an encoded picture (PNG, JPEG, ...) as an array; see `minpy.image.imdecode`.

    Examples
    --------
    >>> from minpy import nd
    >>> bitmap = bytes.fromhex('424d3a000000000000003600000028000000010000000100000001001800'
    ...                        '000000000400000000000000000000000000000000000000ff336600')
    >>> nd._internal._cvimdecode(bitmap).asnumpy()
    array([[[102,  51, 255]]], dtype=uint8)
    """
    return _answer(pictures.decode(_bytes("imdecode", buf), int(flag), to_rgb), out)


def _cvimread(
    filename: Any, flag: int = 1, to_rgb: bool = True, out: NDArray | None = None, name: str | None = None
) -> NDArray:
    """Return a picture that is read from a file; see `minpy.image.imread`.

    Examples
    --------
    >>> from minpy import nd
    >>> nd._internal._cvimread('missing.png')
    Traceback (most recent call last):
        ...
    minpy.core.errors.FileMissingError: imread: there is no file 'missing.png'.
    """
    return _answer(pictures.read(filename, int(flag), to_rgb), out)


def _cvimresize(
    src: Any, w: int, h: int, interp: int = 1, out: NDArray | None = None, name: str | None = None
) -> NDArray:
    """Return an image in another size; see `minpy.image.imresize`.

    Examples
    --------
    >>> from minpy import nd
    >>> nd._internal._cvimresize(nd.array([[[0], [4]]]), w=4, h=1).asnumpy().ravel()
    array([0., 1., 3., 4.], dtype=float32)
    """
    return _answer(pictures.resize(_raw(src), w, h, interp), out)


def _cvcopyMakeBorder(
    src: Any,
    top: int,
    bot: int,
    left: int,
    right: int,
    type: int = 0,
    value: float = 0.0,
    values: Sequence[float] = (),
    out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:
    """Return an image with a border around it; see `minpy.image.copyMakeBorder`.

    Examples
    --------
    >>> from minpy import nd
    >>> nd._internal._cvcopyMakeBorder(nd.array([[[1], [2]]]), 0, 0, 1, 2, value=7).asnumpy().ravel()
    array([7., 1., 2., 7., 7.], dtype=float32)
    """
    raw = _raw(src)
    numbers = tuple(values) or (value,) * (raw.shape[-1] if raw.ndim else 1)
    return _answer(with_border(raw, top, bot, left, right, int(type), numbers), out)


def imdecode(
    str_img: bytes,
    clip_rect: tuple[int, int, int, int] = (0, 0, 0, 0),
    out: NDArray | None = None,
    index: int = 0,
    channels: int = 3,
    mean: NDArray | None = None,
) -> NDArray:
    """Return an encoded picture as an array, channels first. It takes OpenCV or Pillow (`pip install pillow`).

    Parameters
    ----------
    str_img : bytes
        The picture's bytes.
    clip_rect : tuple of four ints
        The rectangle that is cut out: x0, y0, x1, y1; all zeros for everything.
    out : NDArray, optional
        Where it is written to: of shape (channels, height, width), or (n, channels, height, width).
    index : int
        Which of the n images of `out` is written.
    channels : {3, 1}
        Colours, or gray.
    mean : NDArray, optional
        What is subtracted.

    Returns
    -------
    NDArray
        `out`, or an array of dtype float32 and shape (channels, height, width).

    Raises
    ------
    ArgumentError
        If that is no picture.
    MissingDependencyError
        If neither OpenCV nor Pillow is installed.

    Examples
    --------
    >>> from minpy import nd
    >>> bitmap = bytes.fromhex('424d3a000000000000003600000028000000010000000100000001001800'
    ...                        '000000000400000000000000000000000000000000000000ff336600')
    >>> nd.imdecode(bitmap).asnumpy().ravel()
    array([102.,  51., 255.], dtype=float32)
    """
    image = pictures.decode(_bytes("imdecode", str_img), int(channels != 1), True)
    if any(clip_rect):
        left, upper, right, lower = clip_rect
        image = image[upper:lower, left:right]
    picture = np.moveaxis(image, -1, 0).astype(np.float32)
    if mean is not None:
        picture = picture - _raw(mean)
    if out is None:
        return new_array(NDArray, picture)
    if out.ndim == 4:
        out[index] = picture
    else:
        out[:] = picture
    return out
