"""Arrays of bytes in idx files, the format of the MNIST database, packed by gzip or not."""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib
from typing import Any

import numpy

from minpy.core.errors import FileFormatError
from minpy.files import accessing, open_to_read

__all__ = ["read_idx"]

_UNSIGNED_BYTES = 8
_MOST_PACKED = 1032  # bytes that deflate can make of one
_AT_ONCE = 1 << 20


def read_idx(function: str, path: str, dimensions: int) -> numpy.ndarray:
    """Return the array of unsigned bytes in an idx file, which may be packed by gzip.

    No more is unpacked than the header says, and nothing if the file is too short for that.
    """
    with accessing(function, "read", path), open_to_read(path, pipes=False) as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        limit = os.path.getsize(path) * (_MOST_PACKED if packed else 1)
        content = gzip.GzipFile(fileobj=file) if packed else file
        try:
            return _content(function, content, path, dimensions, limit, packed)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FileFormatError(
                f"{function}: {path!r} is packed by gzip, and damaged: {error}. Get the file again."
            ) from error


def _content(function: str, file: Any, path: str, dimensions: int, limit: int, packed: bool) -> numpy.ndarray:
    head = file.read(4)
    if len(head) < 4 or head[:2] != b"\0\0":
        raise FileFormatError(f"{function}: {path!r} begins with {head!r}; an idx file begins with two zero bytes.")
    if head[2] != _UNSIGNED_BYTES or head[3] != dimensions:
        raise FileFormatError(
            f"{function}: {path!r} has elements of type {head[2]} in {head[3]} dimensions; expected type "
            f"{_UNSIGNED_BYTES} (unsigned bytes) in {dimensions}."
        )
    lengths = file.read(4 * dimensions)
    if len(lengths) < 4 * dimensions:
        raise FileFormatError(
            f"{function}: {path!r} ends after {4 + len(lengths)} bytes, within its header of {4 + 4 * dimensions}. Get "
            "the file again."
        )
    shape = struct.unpack(f">{dimensions}I", lengths)
    size = math.prod(shape)
    there = limit - 4 - 4 * dimensions
    pieces, left = [], size if size <= there else 0
    while left and (piece := file.read(min(left, _AT_ONCE))):  # a packed file may say that it has far more than it has
        pieces.append(piece)
        left -= len(piece)
    data = b"".join(pieces)
    if len(data) < size:
        count = f"{len(data) if size <= there else there}{' at most' if size > there and packed else ''}"
        raise FileFormatError(
            f"{function}: {path!r} has the shape {shape}, which takes {size} bytes; behind its header are {count}. It "
            "was cut short, or is damaged: get it again."
        )
    file.read(1)  # to the end of what is packed, where its check sum is compared
    return numpy.frombuffer(data, numpy.uint8).reshape(shape)
