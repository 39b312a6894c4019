"""The contents of a record: a header, labels, and bytes or a picture."""

from __future__ import annotations

import numbers
import struct
from collections import namedtuple
from typing import Any

import numpy as np

from minpy import pictures
from minpy.core.errors import ArgumentError, ArgumentValueError, FileFormatError, describe

__all__ = ["IRHeader", "pack", "pack_img", "unpack", "unpack_img"]

IRHeader = namedtuple("HEADER", ["flag", "label", "id", "id2"])  # type: ignore[name-match]
IRHeader.__qualname__ = "IRHeader"  # by which it is pickled
IRHeader.__doc__ = """The header of a record.

Parameters
----------
flag : int
    0 if the label is one number, else the number of labels; `pack` sets it.
label : float or sequence of float
    One number or several.
id, id2 : int
    The record's numbers, from 0 to 2⁶⁴ - 1.

Examples
--------
>>> IRHeader(0, 3.0, 7, 0)
HEADER(flag=0, label=3.0, id=7, id2=0)
"""

_IR_FORMAT = "IfQQ"
_IR_SIZE = struct.calcsize(_IR_FORMAT)
_HEADER = struct.Struct("<" + _IR_FORMAT)


def pack(header: Any, s: bytes) -> bytes:
    """Return a record of a header and bytes.

    Parameters
    ----------
    header : IRHeader
        Its flag is not read: it becomes 0, or the number of labels if there are several.
    s : bytes

    Raises
    ------
    ArgumentError, ArgumentValueError
        If a number does not fit, or `s` is not bytes.

    Examples
    --------
    >>> unpack(pack(IRHeader(0, [1, 2], 7, 0), b'data'))
    (HEADER(flag=2, label=array([1., 2.], dtype=float32), id=7, id2=0), b'data')
    """
    header = IRHeader(*header)
    if not isinstance(s, (bytes, bytearray, memoryview)):
        raise ArgumentError(f"recordio.pack: s must be bytes, got {describe(s)}.")
    label = header.label
    labels = b""
    number: Any
    if isinstance(label, numbers.Number):
        flag, number = 0, label
    else:
        try:
            several = np.asarray(label.asnumpy() if hasattr(label, "asnumpy") else label, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ArgumentValueError(
                f"recordio.pack: label is {describe(label)}; expected a number or several: {error}."
            ) from error
        flag, number, labels = several.size, 0, several.tobytes()
    try:
        return _HEADER.pack(flag, number, header.id, header.id2) + labels + bytes(s)
    except (struct.error, OverflowError) as error:
        raise ArgumentValueError(
            f"recordio.pack: label {describe(number)}, id {header.id!r}, id2 {header.id2!r}; expected a number of "
            f"float32, and integers from 0 to 2**64 - 1: {error}."
        ) from error


def unpack(s: bytes) -> tuple[Any, bytes]:
    """Return the header and the bytes of a record.

    Parameters
    ----------
    s : bytes
        The result of `pack`.

    Returns
    -------
    header : IRHeader
        Its label is a float, or an array of float32 if there are several.
    s : bytes

    Raises
    ------
    FileFormatError
        If the record is shorter than its header says.

    Examples
    --------
    >>> unpack(pack(IRHeader(0, 3, 7, 1), b'data'))
    (HEADER(flag=0, label=3.0, id=7, id2=1), b'data')
    """
    if len(s) < _IR_SIZE:
        raise FileFormatError(f"recordio.unpack: a record of {len(s)} bytes; its header alone has {_IR_SIZE}.")
    header = IRHeader(*_HEADER.unpack_from(s))
    if not header.flag:
        return header, s[_IR_SIZE:]
    end = _IR_SIZE + 4 * header.flag
    if end > len(s):
        raise FileFormatError(
            f"recordio.unpack: the header says that there are {header.flag} labels, of 4 bytes each; behind it "
            f"are {len(s) - _IR_SIZE} bytes. Was it made by recordio.pack?"
        )
    labels = np.frombuffer(s, "<f4", header.flag, _IR_SIZE)
    return header._replace(label=labels.astype(np.float32, copy=False)), s[end:]


def pack_img(header: Any, img: np.ndarray, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """Return a record of a header and a picture.

    Parameters
    ----------
    header : IRHeader
        As for `pack`.
    img : numpy.ndarray
        Of shape (height, width), or (height, width, 3) with blue first; of dtype uint8.
    quality : int
        Of JPEG, from 0 to 100; the compression level of PNG, from 0 to 9.
    img_fmt : {'.jpg', '.png', ...}
        The kind of file.

    Raises
    ------
    ArgumentError
        For another array or format.
    MissingDependencyError
        If neither OpenCV nor Pillow is installed.

    Examples
    --------
    >>> image = np.arange(12, dtype='uint8').reshape(2, 2, 3)
    >>> record = pack_img(IRHeader(0, 1.0, 0, 0), image, quality=3, img_fmt='.png')
    >>> header, found = unpack_img(record)
    >>> header.label, (found == image).all().item()
    (1.0, True)
    """
    array = img.asnumpy() if hasattr(img, "asnumpy") else img
    return pack(header, pictures.encode(array, img_fmt, quality, name="recordio.pack_img"))


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[Any, np.ndarray]:
    """Return the header and the picture of a record.

    Parameters
    ----------
    s : bytes
        The result of `pack_img`.
    iscolor : {-1, 0, 1}
        -1 for the channels of the file, 0 for gray, 1 for colours.

    Returns
    -------
    header : IRHeader
    img : numpy.ndarray
        Of shape (height, width) in gray, else (height, width, channels) with blue first; rotated according to its EXIF
        data, unless `iscolor` is -1.

    Raises
    ------
    FileFormatError
        If the record is shorter than its header says.
    ArgumentError
        If it does not hold a picture, or the picture is damaged.
    MissingDependencyError
        If neither OpenCV nor Pillow is installed.

    Examples
    --------
    >>> record = pack_img(IRHeader(0, 1.0, 0, 0), np.zeros((2, 3, 3), 'uint8'))
    >>> unpack_img(record)[1].shape, unpack_img(record, iscolor=0)[1].shape
    ((2, 3, 3), (2, 3))
    """
    header, data = unpack(s)
    image = pictures.decode(data, iscolor, False, rotate=True, name=f"recordio.unpack_img of the record {header.id}")
    return header, image[..., 0] if image.shape[2] == 1 else image
