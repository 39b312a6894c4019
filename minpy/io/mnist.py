"""The iterator over handwritten digits in the files of the MNIST database: arrays of bytes, gzipped or not."""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib
from collections.abc import Generator
from typing import Any

import numpy

from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentValueError, FileFormatError
from minpy.files import accessing, open_to_read
from minpy.io.mxdata_iter import ITERATOR, Batch, MXDataIter, Source, Start, arguments, parsed
from minpy.io.text_files import require_part

__all__ = ["MNISTIter", "read_idx"]

_UNSIGNED_BYTES = 8
_MAX_DEFLATE_RATIO = 1032
_CHUNK_SIZE = 1 << 20


def read_idx(function: str, path: str, dimensions: int) -> numpy.ndarray:
    """Return the array of unsigned bytes in an idx file, which may be gzipped.

    No more is decompressed than the header announces, and nothing if the file is too short for that.
    """
    with accessing(function, "read", path), open_to_read(path, pipes=False) as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        limit = os.path.getsize(path) * (_MAX_DEFLATE_RATIO if is_gzip else 1)
        content = gzip.GzipFile(fileobj=file) if is_gzip else file
        try:
            return _read_array(function, content, path, dimensions, limit, is_gzip)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FileFormatError(
                f"{function}: {path!r} is packed by gzip, and damaged: {error}. Get the file again."
            ) from error


def _read_array(function: str, file: Any, path: str, dimensions: int, limit: int, is_gzip: bool) -> numpy.ndarray:
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
    available = limit - 4 - 4 * dimensions
    pieces, remaining = [], size if size <= available else 0
    while remaining and (piece := file.read(min(remaining, _CHUNK_SIZE))):  # its header may promise more
        pieces.append(piece)
        remaining -= len(piece)
    data = b"".join(pieces)
    if len(data) < size:
        count = f"{len(data) if size <= available else available}{' at most' if size > available and is_gzip else ''}"
        raise FileFormatError(
            f"{function}: {path!r} has the shape {shape}, which takes {size} bytes; behind its header are {count}. It "
            "was cut short, or is damaged: get it again."
        )
    file.read(1)  # to the end of what is packed, where its check sum is compared
    return numpy.frombuffer(data, numpy.uint8).reshape(shape)


class _Digits(Source):
    """Pictures and labels in memory, batch by batch; instances too few for a last batch are left out."""

    def __init__(self, images: numpy.ndarray, labels: numpy.ndarray, order: numpy.ndarray, batch_size: int) -> None:
        self.batch_size = batch_size
        self._images, self._labels, self._order = images, labels, order
        self.data = (batch_size, *images.shape[1:]), numpy.float32
        self.label = (batch_size,), numpy.float32

    def epoch(self, begin: Start) -> Generator[Batch, None, None]:
        for start in range(0, len(self._order) - self.batch_size + 1, self.batch_size):
            index = self._order[start : start + self.batch_size]
            data = self._images[index] * numpy.float32(1 / 256)
            yield Batch(data, self._labels[index].astype("float32"), 0, index.astype("uint64"), Start())


_TABLE = {
    **arguments("str", image="./train-images-idx3-ubyte", label="./train-labels-idx1-ubyte"),
    **arguments("str", data_name="data", label_name="softmax_label"),
    **arguments("count", batch_size=128, prefetch_buffer=4),
    **arguments("bool", shuffle=True, flat=False, silent=False),
    **arguments("int", seed=0, num_parts=1, part_index=0),
    **arguments("any", ctx="cpu", name=None),
    **arguments("dtype", dtype=None),
}


@documented(iterator=ITERATOR)
def MNISTIter(*args: Any, **kwargs: Any) -> MXDataIter:
    """Return an iterator over gray pictures and labels in two files of the MNIST database's format, idx.

    Files that are packed by gzip are read as well. The values of the pictures are multiples of 1/256.

    Parameters
    ----------
    image, label : str
        The files: './train-images-idx3-ubyte' and './train-labels-idx1-ubyte' by default.
    batch_size : int
        By default 128. Instances at the end that are too few for a batch are left out.
    shuffle : bool
        Whether they are shuffled, once; by default True.
    seed : int
        The seed of that order.
    flat : bool
        Whether a batch has the shape (batch_size, height * width) instead of (batch_size, 1, height, width).
    num_parts, part_index : int
        Into how many parts the data is divided, and which one is read.
    dtype : dtype
        float32 or None.
    data_name, label_name : str
    silent, prefetch_buffer, ctx, name
        Without effect.

    {iterator}
    FileFormatError
        If a file is of another format, is cut short, or has another number of instances than the other.

    Examples
    --------
    >>> import os, struct, tempfile
    >>> from minpy import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     image, label = os.path.join(folder, 'images'), os.path.join(folder, 'labels')
    ...     with open(image, 'wb') as file:
    ...         _ = file.write(struct.pack('>4B3I', 0, 0, 8, 3, 2, 1, 2) + bytes([0, 128, 64, 192]))
    ...     with open(label, 'wb') as file:
    ...         _ = file.write(struct.pack('>4BI', 0, 0, 8, 1, 2) + bytes([3, 7]))
    ...     batch = io.MNISTIter(image=image, label=label, batch_size=2, shuffle=False).next()
    >>> batch.data[0].asnumpy().tolist(), batch.label[0].asnumpy().tolist()
    ([[[[0.0, 0.5]]], [[[0.25, 0.75]]]], [3.0, 7.0])
    """
    options = parsed("MNISTIter", _TABLE, args, kwargs)
    require_part("MNISTIter", options.num_parts, options.part_index)
    if options.dtype not in (None, "float32"):
        raise ArgumentValueError(f"MNISTIter: dtype is {options.dtype!r}; only 'float32' is possible.")
    images, labels = read_idx("MNISTIter", options.image, 3), read_idx("MNISTIter", options.label, 1)
    if len(images) != len(labels):
        raise FileFormatError(
            f"MNISTIter: {options.image!r} has {len(images)} pictures, and {options.label!r} has {len(labels)} labels."
        )
    order = numpy.arange(len(images))
    if options.shuffle:
        numpy.random.RandomState(options.seed % 2**32).shuffle(order)
    begin, end = (len(order) * part // options.num_parts for part in (options.part_index, options.part_index + 1))
    order = order[begin:end]
    if not 0 < options.batch_size <= len(order):
        raise ArgumentValueError(
            f"MNISTIter: batch_size is {options.batch_size}; expected 1 to {len(order)}, the number of instances."
        )
    count, height, width = images.shape
    images = images.reshape((count, height * width) if options.flat else (count, 1, height, width))
    return MXDataIter(_Digits(images, labels, order, options.batch_size), options.data_name, options.label_name)
