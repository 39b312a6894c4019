"""MXNet's binary files of arrays (`.params`, `.nd`), read: values, or names, shapes and dtypes alone (`heads`).

A file is little-endian throughout:

    file     uint64 0x112, uint64 reserved, uint64 n, n arrays, uint64 m, m names (m is 0 or n)
    name     uint64 length, UTF-8
    array    uint32 version, int32 storage type (0: dense), int32 k, k int64 lengths of axes,
             int32 device type, int32 device number, int32 dtype, the values

Versions 2 and 3 look alike. In version 2 an array without axes has no values, as an axis is at least 1 long; version
3 is what MXNet writes and reads under `np_shape`, where these are arrays like any other. MXNet takes no file that
mixes the two, so a file is of version 2 unless it is written under `np_shape`, or one of its arrays needs version 3.
Version 1 has no storage type. Before it there was no version: an array began with uint32 k, and k uint32 lengths.
MXNet's sparse arrays (storage types 1 and 2) are read as dense ones: `sparse_content` tells what stands there.
"""

from __future__ import annotations

import io
import math
import struct
import warnings
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy

from minpy.core.array import new_array
from minpy.core.dtypes import DTYPES
from minpy.core.errors import (
    FileFormatError,
)
from minpy.ndarray import file_reading
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.sparse_content import KINDS, SparseHead, SparseProblem, dense, read_sparse_head

__all__ = [
    "BFLOAT16",
    "DENSE",
    "FILE_MAGIC",
    "VERSION_2",
    "VERSION_3",
    "ArrayHead",
    "Reader",
    "StoredArray",
    "heads",
    "read_array",
    "read_arrays",
    "read_stored",
]

Item = TypeVar("Item")

FILE_MAGIC = 0x112
_VERSION_1, VERSION_2, VERSION_3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
DENSE = 0
BFLOAT16 = 12  # read as float32, which holds all its values; `nd.save` does not write it
_MOST_AXES = 64  # of a NumPy array
# What sparse arrays of a file may become, dense, beyond a file's own size: a few bytes can say any shape.
_MOST_DENSE, _MOST_TIMES = 1 << 26, 1000

_DAMAGED = "It is damaged or incomplete: copy or download it again, or save it anew."
_KNOWN_BEGINNINGS = {
    b"PK\x03\x04": "It looks like a zip archive: numpy.load reads .npz files.",
    b"\x93NUMPY": "It looks like a .npy file: use nd.array(numpy.load(file)).",
    b"{": "It looks like JSON, such as the -symbol.json that lies beside a .params file.",
    b"\x80": "It looks like a pickle: use pickle.load.",
    b"version https://git-lfs": "It is a pointer of Git LFS: fetch the file itself with `git lfs pull`.",
    b"<": "It looks like a web page: the download brought an error page instead of the file.",
}


class ArrayHead(NamedTuple):
    """What a file says of an array before its values."""

    shape: tuple[int, ...]
    dtype: numpy.dtype[Any]  # of the array that `load` makes of it
    stored: int  # bytes of the values in the file


class StoredArray(NamedTuple):
    """An array as it stands in a file.

    Attributes
    ----------
    dtype : str
        The name of its dtype: NumPy's, or 'bfloat16'.
    data : numpy.ndarray
        Its values; of bfloat16 their bits, as uint16.
    """

    dtype: str
    data: numpy.ndarray


def heads(stream: BinaryIO, size: int, source: str) -> list[ArrayHead] | dict[str, ArrayHead]:
    """Return what a file says of its arrays, without reading their values.

    Parameters
    ----------
    stream : file open for reading bytes, which can seek
    size : int
        How many bytes it has.
    source : str
        What is read, for messages.

    Raises
    ------
    FileFormatError
        If it is damaged, or of another format.

    Examples
    --------
    >>> import os, tempfile
    >>> from minpy import nd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, 'net.params')
    ...     nd.save(path, {'weight': nd.ones((2, 3))})
    ...     with open(path, 'rb') as file:
    ...         heads(file, os.path.getsize(path), path)
    {'weight': ArrayHead(shape=(2, 3), dtype=dtype('float32'), stored=24)}
    """
    return _walk(Reader(stream, size, source), _pass_over)


class Reader:
    """A stream of known size, read to its end at most; its errors say where.

    Parameters
    ----------
    stream : file open for reading bytes
    size : int
    source : str
        What is read, for messages.
    """

    __slots__ = ("_later", "dense_left", "offset", "size", "source", "sparse", "stream")

    def __init__(self, stream: BinaryIO, size: int, source: str) -> None:
        self.stream = stream
        self.size = size
        self.source = source
        self.offset = 0
        self.sparse = 0  # how many of the arrays were
        self.dense_left = _MOST_DENSE + _MOST_TIMES * size
        self._later: list[file_reading.Part] | None = [] if file_reading.can_fill(stream) else None

    def error(self, problem: str, advice: str = _DAMAGED, offset: int | None = None) -> FileFormatError:
        """Return the error for a problem at an offset, by default the present one."""
        return FileFormatError(f"{self.source}, byte {self.offset if offset is None else offset}: {problem}. {advice}")

    def require(self, count: int, item: str) -> None:
        """Raise unless that many bytes are left."""
        left = self.size - self.offset
        if count > left:
            raise self.error(f"{item}: {count} bytes are needed, but the file ends after {left}")

    def take(self, count: int, item: str) -> bytes:
        """Return the next `count` bytes."""
        self.require(count, item)
        content = self.stream.read(count)
        if len(content) < count:
            raise self.error(f"{item}: {count} bytes are needed, got {len(content)}: the file shrank while it was read")
        self.offset += count
        return content

    def fill(self, data: numpy.ndarray, item: str) -> None:
        """Read the values of a contiguous array, or note that `finish` is to do so."""
        if self._later is not None and data.nbytes >= file_reading.LARGE:
            self._later.append(file_reading.Part(data, self.offset, item))
            self.offset += data.nbytes
            self.stream.seek(self.offset)
            return
        count = self.stream.readinto(data.reshape(-1).view(numpy.uint8))  # type: ignore[attr-defined]
        if count < data.nbytes:
            raise self.error(f"{item}: {data.nbytes} bytes are needed, got {count}: the file shrank while it was read")
        self.offset += count

    def finish(self) -> None:
        """Read what `fill` left."""
        parts, self._later = self._later, None if self._later is None else []
        short = file_reading.fill(self.stream, parts) if parts else None
        if short is not None:
            problem = f"{short.name}: {short.data.nbytes} bytes are needed, and the file shrank while it was read"
            raise self.error(problem, offset=short.offset)

    def skip(self, count: int, item: str) -> None:
        """Pass over the next `count` bytes."""
        self.require(count, item)
        self.stream.seek(count, io.SEEK_CUR)
        self.offset += count

    def numbers(self, layout: str, item: str) -> tuple[int, ...]:
        """Return the next little-endian integers; `layout` is in the notation of `struct`."""
        layout = f"<{layout}"
        return struct.unpack(layout, self.take(struct.calcsize(layout), item))

    def count(self, smallest: int, item: str) -> int:
        """Return the next uint64: how many things follow, each of `smallest` bytes at least."""
        start = self.offset
        (count,) = self.numbers("Q", f"the number of {item}")
        if count * smallest > self.size - self.offset:
            raise self.error(
                f"the number of {item} is {count}, but only {self.size - self.offset} bytes follow", offset=start
            )
        return count


def read_arrays(reader: Reader) -> list[NDArray] | dict[str, NDArray]:
    """Return the arrays of a file, by their names if it has names."""
    arrays = _walk(reader, lambda reader, item: new_array(NDArray, read_array(reader, item)))
    if reader.sparse:
        warnings.warn(
            f"{reader.source}: {reader.sparse} of {len(arrays)} arrays are sparse in the file; they are dense here.",
            UserWarning,
            stacklevel=3,
        )
    return arrays


def read_stored(reader: Reader) -> list[StoredArray] | dict[str, StoredArray]:
    """Return the arrays of a file as they stand there: bfloat16 is not widened, and sparse arrays are refused.

    Raises
    ------
    FileFormatError
        If the file is damaged, of another format, or holds sparse arrays.

    Examples
    --------
    >>> import io
    >>> from minpy.ndarray.saving import file_content
    >>> one = StoredArray('bfloat16', numpy.array([0x3F80], numpy.uint16))
    >>> content = b''.join(map(bytes, file_content([one], ['weight'])))
    >>> read_stored(Reader(io.BytesIO(content), len(content), 'a buffer'))
    {'weight': StoredArray(dtype='bfloat16', data=array([16256], dtype=uint16))}
    """
    return _walk(reader, _read_as_stored)


def _read_as_stored(reader: Reader, item: str) -> StoredArray:
    start = reader.offset
    head = _read_head(reader, item)
    if head.sparse is not None:
        raise reader.error(
            f"{item} is sparse ({head.sparse.kind}), {head.shape}",
            "Make it dense first: read the file by nd.load, which makes all arrays dense, and write it by nd.save.",
            offset=start,
        )
    data = _read_values(reader, head.shape, head.dtype, False, f"the values of {item}")
    return StoredArray("bfloat16" if head.is_bfloat16 else data.dtype.name, data)


def _walk(reader: Reader, read: Callable[[Reader, str], Item]) -> list[Item] | dict[str, Item]:
    """Go through a file; `read` makes something of each array."""
    beginning = reader.take(min(8, reader.size), "the magic number")
    if beginning != struct.pack("<Q", FILE_MAGIC):
        raise _wrong_magic(reader, beginning)
    reader.numbers("Q", "the reserved field")
    count = reader.count(20, "arrays")
    arrays = [read(reader, f"array {position} of {count}") for position in range(count)]
    start = reader.offset
    named = reader.count(8, "names")
    if named not in (0, count):
        raise reader.error(f"there are {named} names for {count} arrays; expected as many, or none", offset=start)
    names = [_read_name(reader, f"name {position} of {named}") for position in range(named)]
    reader.finish()
    return dict(zip(names, arrays, strict=True)) if names else arrays


def _wrong_magic(reader: Reader, beginning: bytes) -> FileFormatError:
    expected = struct.pack("<Q", FILE_MAGIC)
    beginning += reader.stream.read(24)
    if len(beginning) < 8 and expected.startswith(beginning):
        return reader.error(f"the file ends after {len(beginning)} bytes, within the magic number", offset=0)
    advice = next((text for prefix, text in _KNOWN_BEGINNINGS.items() if beginning.startswith(prefix)), None)
    return reader.error(
        f"this is no file of NDArrays: it begins with {beginning[:8].hex(' ')}, expected {expected.hex(' ')}",
        advice or "Give a file written by nd.save, save_parameters or export.",
        offset=0,
    )


class _Head(NamedTuple):
    """What stands before the values of an array."""

    shape: tuple[int, ...]
    dtype: numpy.dtype[Any]  # in the file
    is_bfloat16: bool
    sparse: SparseHead | None


def _pass_over(reader: Reader, item: str) -> ArrayHead:
    head = _read_head(reader, item)
    stored = head.shape if head.sparse is None else head.sparse.stored
    count = math.prod(stored) * head.dtype.itemsize
    reader.skip(count, f"the values of {item}, {head.dtype.name} {stored}")
    for shape, dtype in () if head.sparse is None else head.sparse.indices:
        reader.skip(math.prod(shape) * dtype.itemsize, f"the indices of {item}, {dtype.name} {shape}")
    return ArrayHead(head.shape, numpy.dtype("float32") if head.is_bfloat16 else head.dtype.newbyteorder("="), count)


def _read_head(reader: Reader, item: str) -> _Head:
    """Read what stands before the values."""
    shape, kind = _read_shape(reader, item)
    reader.numbers("ii", f"the device of {item}")
    start = reader.offset
    (number,) = reader.numbers("i", f"the dtype of {item}")
    if number not in DTYPES and number != BFLOAT16:
        numbers = ", ".join(f"{number} ({dtype.name})" for number, dtype in DTYPES.items())
        raise reader.error(f"the dtype of {item} is {number}, expected one of {numbers}", offset=start)
    sparse = None
    if kind:
        try:
            sparse = read_sparse_head(kind, shape, lambda: _index_head(reader, item))
        except SparseProblem as problem:
            raise reader.error(f"{item} is {kind}, {shape}: {problem}", offset=start) from None
    return _Head(shape, DTYPES.get(number, numpy.dtype("<u2")), number == BFLOAT16, sparse)


def _index_head(reader: Reader, item: str) -> tuple[tuple[int, ...], numpy.dtype[Any]]:
    """Read dtype and shape of one of the arrays that say where the values of a sparse array belong."""
    (number,) = reader.numbers("i", f"the dtype of the indices of {item}")
    if number not in DTYPES:
        raise SparseProblem(f"the dtype of its indices is {number}")
    return _read_lengths(reader, f"the indices of {item}"), DTYPES[number]


def read_array(reader: Reader, item: str) -> numpy.ndarray:
    """Return the next array, which messages call `item`."""
    head = _read_head(reader, item)
    if head.sparse is None:
        return _read_values(reader, head.shape, head.dtype, head.is_bfloat16, f"the values of {item}")
    start = reader.offset
    values = _read_values(reader, head.sparse.stored, head.dtype, head.is_bfloat16, f"the values of {item}")
    indices = [_read_values(reader, shape, dtype, False, f"the indices of {item}") for shape, dtype in head.sparse[2]]
    reader.finish()
    size = math.prod(head.shape) * values.itemsize
    reader.dense_left -= size
    if reader.dense_left < 0:
        raise reader.error(
            f"{item} is {head.sparse.kind}, {head.shape}, of which {len(indices[-1])} rows or values are stored; it "
            f"would take {size:,} bytes as a dense array",
            "Arrays are dense here: cut it down in MXNet to the rows that are needed, and save it anew.",
            offset=start,
        )
    try:
        array = dense(head.sparse.kind, head.shape, values, indices)
    except SparseProblem as problem:
        raise reader.error(f"{item} is {head.sparse.kind}, {head.shape}: {problem}", offset=start) from None
    reader.sparse += 1
    return array


def _read_values(
    reader: Reader, shape: tuple[int, ...], dtype: numpy.dtype[Any], is_bfloat16: bool, item: str
) -> numpy.ndarray:
    name = "bfloat16" if is_bfloat16 else dtype.name
    values = f"{item}, {name} {shape}"
    reader.require(math.prod(shape) * dtype.itemsize, values)
    try:
        data = numpy.empty(shape, dtype)
    except ValueError as error:  # an axis of length 0, so that nothing is to be read, beside astronomic ones
        array = item.removeprefix("the values of ")
        raise reader.error(f"{array} is {name} {shape}, which NumPy cannot hold: {error}") from None
    if data.size:
        reader.fill(data, values)
    if is_bfloat16 or dtype.kind == "b" or not dtype.isnative:
        reader.finish()  # what follows needs the values
    if is_bfloat16:
        wide = data.astype(numpy.uint32)
        wide <<= 16
        return wide.view(numpy.float32).copy()
    if dtype.kind == "b":
        numpy.not_equal(data.view(numpy.uint8), 0, out=data)
    return data if dtype.isnative else data.astype(dtype.newbyteorder("="))


def _read_shape(reader: Reader, item: str) -> tuple[tuple[int, ...], str]:
    """Read the beginning of an array, of whatever version it is: its shape, and of what kind it is if sparse."""
    start = reader.offset
    (version,) = reader.numbers("I", f"the version of {item}")
    kind = ""
    if version in (VERSION_2, VERSION_3):
        (storage,) = reader.numbers("i", f"the storage type of {item}")
        if storage in KINDS:
            kind = KINDS[storage]
            _read_lengths(reader, f"the values of {item}")
        elif storage != DENSE:
            raise reader.error(f"the storage type of {item} is {storage}, expected 0 (dense)", offset=start + 4)
    if version in (_VERSION_1, VERSION_2, VERSION_3):
        shape = _read_lengths(reader, item)
    elif version <= _MOST_AXES:
        shape = reader.numbers(f"{version}I", f"the shape of {item}")
    else:
        raise reader.error(
            f"{item} begins with {version:#x}, expected {VERSION_2:#x}, {VERSION_3:#x}, {_VERSION_1:#x}, "
            f"or a number of axes up to {_MOST_AXES}",
            offset=start,
        )
    if not shape and version != VERSION_3:
        raise reader.error(
            f"{item} has no shape and no values",
            "MXNet saved it before it was initialized, or it has no axes and was saved without np_shape: "
            "save it again with values, under mx.util.np_shape(True).",
            offset=start if version <= _MOST_AXES else reader.offset - 4,
        )
    return shape, kind


def _read_lengths(reader: Reader, item: str) -> tuple[int, ...]:
    """Read a shape: how many axes there are, and their lengths."""
    start = reader.offset
    (axes,) = reader.numbers("i", f"the number of axes of {item}")
    if not 0 <= axes <= _MOST_AXES:
        raise reader.error(f"{item} has {axes} axes, expected 0 to {_MOST_AXES}", offset=start)
    shape = reader.numbers(f"{axes}q", f"the shape of {item}")
    if any(length < 0 for length in shape):
        raise reader.error(f"{item} has shape {shape}, with a negative length", offset=start + 4)
    return shape


def _read_name(reader: Reader, item: str) -> str:
    start = reader.offset
    (length,) = reader.numbers("Q", f"the length of {item}")
    content = reader.take(length, item)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise reader.error(f"{item} is not UTF-8: {error.reason} {content[error.start]:#x}", offset=start + 8) from None
