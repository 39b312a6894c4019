"""`.safetensors` files: a header in JSON with names, dtypes, shapes and places, then the values, little-endian.

    uint64 n, n bytes of JSON, the values without gaps

The values lie in the order of their widths, widest first, so that each is aligned; the header keeps the order of names.
The package `safetensors` is not needed.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy

from minpy.core.errors import ArgumentError
from minpy.ndarray.array_files import StoredArray
from minpy.onnx.conversion.tensors import COMMAND, DAMAGED, Tensors, fail, new_array

__all__ = ["chunks", "read"]

_LARGEST_HEADER = 100_000_000  # as the package has it
_METADATA = "__metadata__"
_DTYPES = {
    "BOOL": "bool",
    "I8": "int8",
    "U8": "uint8",
    "I16": "int16",
    "U16": "uint16",
    "I32": "int32",
    "U32": "uint32",
    "I64": "int64",
    "U64": "uint64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
}
_CODES = {name: code for code, name in _DTYPES.items()}


def read(file: BinaryIO, path: str) -> tuple[Tensors, dict[str, str]]:
    """Return the tensors of an open file in the order of its header, and the header's metadata.

    Raises
    ------
    FileFormatError
        If it is damaged, of another format, or has tensors of a dtype that NumPy does not know.
    """
    size = os.fstat(file.fileno()).st_size
    header, start = _header(file, size, path)
    metadata = header.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        fail(path, f"its {_METADATA} is no object of texts")
    places: dict[str, tuple[int, int]] = {}
    tensors: Tensors = {}
    specifications = {name: _specification(entry, name, path) for name, entry in header.items()}
    expected = 0
    for name, (_, _, (begin, end)) in sorted(specifications.items(), key=lambda item: item[1][2]):
        if begin != expected:
            fail(
                path, f"the values of {name!r} begin at byte {begin}, expected {expected}: there is a gap or an overlap"
            )
        expected = end
        places[name] = begin, end
    if expected != size - start:
        fail(path, f"its header says {expected} bytes of values, but {size - start} bytes follow it")
    for name, (dtype, shape, (begin, end)) in specifications.items():
        stored = numpy.dtype("<u2") if dtype == "bfloat16" else numpy.dtype(dtype).newbyteorder("<")
        data = new_array(path, name, shape, stored)
        file.seek(start + begin)
        if data.size and file.readinto(data.reshape(-1).view(numpy.uint8)) < end - begin:  # type: ignore[attr-defined]
            fail(path, f"it became shorter while {name!r} was read", "Read it when nobody writes it.")
        if dtype == "bool":
            numpy.not_equal(data.view(numpy.uint8), 0, out=data)
        tensors[name] = StoredArray(dtype, data.astype(stored.newbyteorder("="), copy=False))
    return tensors, metadata


def _header(file: BinaryIO, size: int, path: str) -> tuple[dict[str, Any], int]:
    """Return the header, and where the values begin."""
    beginning = file.read(8)
    if len(beginning) < 8:
        fail(path, f"it ends after {len(beginning)} bytes; a .safetensors file begins with the length of its header")
    (length,) = struct.unpack("<Q", beginning)
    if length > min(size - 8, _LARGEST_HEADER):
        fail(
            path,
            f"its header should have {length} bytes, but {size - 8} follow",
            f"It is no .safetensors file, or: {DAMAGED}",
        )
    content = file.read(length)
    try:
        header = json.loads(content.decode(), object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        fail(path, f"its header is no JSON: {error}")
    if not isinstance(header, dict):
        fail(path, "its header is no JSON object")
    return header, 8 + length


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a name stands there twice")
    return entries


def _specification(entry: Any, name: str, path: str) -> tuple[str, tuple[int, ...], tuple[int, int]]:
    """Return dtype, shape and place of a tensor, checked."""
    fields = entry if isinstance(entry, dict) else {}
    code: Any = fields.get("dtype")
    shape: Any = fields.get("shape")
    place: Any = fields.get("data_offsets")
    if not isinstance(code, str) or not _are_counts(shape) or not _are_counts(place) or len(place) != 2:
        fail(path, f"its header says of {name!r} something else than a dtype, a shape and two offsets")
    if code not in _DTYPES:
        fail(
            path,
            f"{name!r} is {code}, a dtype that NumPy does not have; there are {', '.join(_DTYPES)}",
            "Convert it in the library that wrote it.",
        )
    dtype = _DTYPES[code]
    width = 2 if dtype == "bfloat16" else numpy.dtype(dtype).itemsize
    if place[1] - place[0] != math.prod(shape) * width:
        fail(path, f"{name!r}, {dtype} {tuple(shape)}, cannot have {place[1] - place[0]} bytes of values")
    return dtype, tuple(shape), (place[0], place[1])


def _are_counts(numbers: Any) -> bool:
    return isinstance(numbers, list) and all(type(number) is int and 0 <= number < 2**63 for number in numbers)


def chunks(tensors: Mapping[str, StoredArray], metadata: Mapping[str, str]) -> Iterator[Any]:
    """Yield the content of a file, bytes and contiguous arrays.

    Raises
    ------
    ArgumentError
        If a name is the one that is reserved for metadata.
    """
    if _METADATA in tensors:
        raise ArgumentError(f"{COMMAND}: no tensor of a .safetensors file can be called {_METADATA!r}. Rename it.")
    header: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    header |= dict.fromkeys(tensors)
    ordered = sorted(tensors.items(), key=lambda item: -item[1].data.itemsize)
    offset = 0
    for name, tensor in ordered:
        end = offset + tensor.data.nbytes
        header[name] = {"dtype": _CODES[tensor.dtype], "shape": tensor.data.shape, "data_offsets": [offset, end]}
        offset = end
    content = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    content += b" " * (-len(content) % 8)
    if len(content) > _LARGEST_HEADER:
        raise ArgumentError(
            f"{COMMAND}: the names of {len(tensors)} tensors take {len(content)} bytes in the header of a .safetensors "
            f"file; {_LARGEST_HEADER} is the most that can be read. Write .npz."
        )
    return _content(content, [tensor.data for _, tensor in ordered])


def _content(header: bytes, values: list[numpy.ndarray]) -> Iterator[Any]:
    yield struct.pack("<Q", len(header)) + header
    for data in values:
        if data.size:
            yield numpy.ascontiguousarray(data, data.dtype.newbyteorder("<"))
