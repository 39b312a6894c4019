"""`.npz` files: a zip archive of NumPy's `.npy` files, read with limits, and never a pickle.

bfloat16, which NumPy does not have, is what `numpy.savez` makes of arrays of ml_dtypes (JAX): values of two bytes,
without a kind (`|V2`).
"""

from __future__ import annotations

import errno
import math
import os
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, Any, BinaryIO

import numpy
from numpy.lib import format as npy

from minpy.core.errors import ArgumentError, MXNetError
from minpy.inspection.report_text import shortened
from minpy.ndarray.array_files import StoredArray
from minpy.onnx.conversion.tensors import COMMAND, DTYPES_OF, Tensors, fail, new_array

__all__ = ["read", "write"]

# Compressed values may expand by this factor, or to this size.
_MAX_EXPANSION = 100
_MIN_EXPANDED_BYTES = 1 << 30
_CHUNK = 1 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_READ_ERRORS = (
    zipfile.BadZipFile,
    EOFError,
    zlib.error,
    ValueError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
    struct.error,
    LookupError,
    TypeError,
    SyntaxError,
    tokenize.TokenError,
)
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_BFLOAT16 = numpy.dtype("V2")


def read(file: BinaryIO, path: str) -> Tensors:
    """Return the arrays of an open file, in its order.

    Raises
    ------
    FileFormatError
        If it is damaged, of another format, larger than its compressed size allows for, or holds other things than
        arrays of numbers.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check(members, os.fstat(file.fileno()).st_size, path)
            return {member.filename[: -len(".npy")]: _read_member(archive, member, path) for member in members}
    except (*_READ_ERRORS, OSError) as error:
        # The system knows no place before a file's beginning, to which a damaged archive may point.
        if isinstance(error, MXNetError) or (isinstance(error, OSError) and error.errno != errno.EINVAL):
            raise
        text = shortened(" ".join(str(error).split()).rstrip("."), 200)
        fail(path, f"it cannot be read as .npz: {text or type(error).__name__}")


def _check(members: list[zipfile.ZipInfo], size: int, path: str) -> None:
    """Raise for archives that are no .npz, or larger than is believable."""
    names: set[str] = set()
    total = 0
    for member in members:
        name = member.filename
        if not name.endswith(".npy"):
            fail(path, f"it holds {name!r}, which is no array", "Give a file that numpy.savez wrote.")
        if name in names:
            fail(path, f"it holds {name!r} twice")
        if member.flag_bits & 1:
            fail(path, f"{name!r} is encrypted", "Write it anew with numpy.savez.")
        if member.compress_type not in _METHODS:
            fail(path, f"{name!r} is compressed by method {member.compress_type}", "Write it anew with numpy.savez.")
        if member.file_size > 1032 * member.compress_size + 1024:  # more than deflate can do
            fail(path, f"{name!r} cannot have the {member.file_size} bytes that it claims")
        names.add(name)
        total += member.file_size
    if total > max(_MIN_EXPANDED_BYTES, _MAX_EXPANSION * size):
        fail(
            path,
            f"its {size} bytes would become {total}",
            "If that is meant, write it anew without compression: numpy.savez(file, **numpy.load(file)).",
        )


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str) -> StoredArray:
    name = member.filename
    with archive.open(member) as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # headers that Python 2 wrote
        version = npy.read_magic(stream)
        if version not in _HEADERS:
            fail(path, f"{name!r} is of version {version} of .npy, which is for records", "Give arrays of numbers.")
        shape, fortran_order, dtype = _HEADERS[version](stream)
        position = stream.tell()
        label = "bfloat16" if dtype == _BFLOAT16 else dtype.name
        if dtype.hasobject:
            fail(
                path, f"{name!r} holds Python objects, in a pickle, which could run anything", "Give arrays of numbers."
            )
        if label not in DTYPES_OF[".npz"]:
            fail(path, f"{name!r} is {dtype}, no dtype of numbers", "Give arrays of numbers.")
        if any(length < 0 for length in shape):
            fail(path, f"{name!r} has the shape {shape}")
        size = math.prod(shape) * dtype.itemsize
        if size != member.file_size - position:
            fail(path, f"{name!r}, {label} {shape}, needs {size} bytes of values, got {member.file_size - position}")
        stored = numpy.dtype("u2") if label == "bfloat16" else dtype
        data = new_array(path, name, shape[::-1] if fortran_order else shape, stored)
        _fill(stream, data, name, path)
    if fortran_order:
        data = data.T
    if label == "bool":
        data = data.view(numpy.uint8) != 0
    return StoredArray(label, numpy.ascontiguousarray(data, stored.newbyteorder("=")).reshape(shape))


def _fill(stream: IO[bytes], data: numpy.ndarray, name: str, path: str) -> None:
    unread = memoryview(data.reshape(-1).view(numpy.uint8)) if data.size else memoryview(b"")  # type: ignore[arg-type]
    while unread:
        part = stream.read(min(_CHUNK, len(unread)))
        if not part:
            fail(path, f"{name!r} ends {len(unread)} bytes too early")
        unread[: len(part)] = part
        unread = unread[len(part) :]
    stream.read(1)  # at the end the checksum is compared


def write(file: BinaryIO, tensors: Mapping[str, StoredArray]) -> None:
    """Write tensors into an open file, not compressed.

    Raises
    ------
    ArgumentError
        If a name is too long for a zip archive.
    """
    for name in tensors:
        if len(name.encode()) > 65_000:
            raise ArgumentError(f"{COMMAND}: the name {name[:40]!r}... is too long for .npz. Write .safetensors.")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, tensor in tensors.items():
            data: Any = numpy.ascontiguousarray(tensor.data, tensor.data.dtype.newbyteorder("<"))
            data = data.reshape(tensor.data.shape)  # which has an axis more otherwise, if it had none
            member = zipfile.ZipInfo(f"{name}.npy")
            member.external_attr = 0o600 << 16
            with archive.open(member, "w", force_zip64=True) as stream:
                if tensor.dtype == "bfloat16":
                    header = {"descr": "|V2", "fortran_order": False, "shape": data.shape}
                    npy.write_array_header_1_0(stream, header)
                    stream.write(data.tobytes())
                else:
                    npy.write_array(stream, data, allow_pickle=False)
