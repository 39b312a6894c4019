"""`save`, `load` and `load_frombuffer`: NDArrays in MXNet's binary files (`.params`, `.nd`), bit for bit.

`array_files` says what these files hold, and reads them.
"""

from __future__ import annotations

import io
import os
import stat
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy

from minpy.core.dtypes import DTYPE_NUMBERS
from minpy.core.errors import (
    ArgumentError,
    ArgumentValueError,
    DTypeError,
    describe,
)
from minpy.core.numpy_semantics import is_np_shape
from minpy.files import access_error, checked_path, open_to_read, write_file
from minpy.ndarray.array_files import (
    BFLOAT16,
    DENSE,
    FILE_MAGIC,
    VERSION_2,
    VERSION_3,
    Reader,
    StoredArray,
    read_array,
    read_arrays,
)
from minpy.ndarray.ndarray import NDArray

__all__ = ["array_content", "file_content", "load", "load_frombuffer", "save"]

# -- writing ---------------------------------------------------------------------------------------------------------


def save(fname: str | os.PathLike[str], data: Any) -> None:
    """Write arrays to a file that MXNet reads too.

    The file is written under a temporary name and then renamed: it is there as a whole, or what was there before is.

    Parameters
    ----------
    fname : str or PathLike
        The file; one that exists is replaced.
    data : NDArray, list of NDArray, or dict of str to NDArray
        The order of the names is kept.

    Raises
    ------
    ArgumentError
        If something in `data` is no NDArray, or a name no string.
    DTypeError
        If the file format has no number for the dtype of an array.
    FileAccessError
        If the file cannot be written.

    Notes
    -----
    If an array has no axes, or one of length 0, the file is of the version that MXNet reads only under
    `mx.util.np_shape(True)` or after `mx.npx.set_np()`; all other files it reads only without.

    Examples
    --------
    >>> import os, tempfile
    >>> from minpy import nd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nd.save(os.path.join(folder, "net.params"), {"weight": nd.ones((2, 3)), "bias": nd.zeros(3)})
    ...     nd.load(os.path.join(folder, "net.params"))["weight"].shape
    (2, 3)
    """
    path = checked_path("nd.save", fname)
    arrays, names = _entries(data)
    write_file("nd.save", path, _chunks(arrays, names))


def _entries(data: Any) -> tuple[list[NDArray], list[bytes]]:
    """Return the arrays, checked, and their names, none for a list."""
    names: list[bytes] = []
    if isinstance(data, NDArray):
        entries = [("the array", data)]
    elif isinstance(data, list):
        entries = [(f"data[{position}]", array) for position, array in enumerate(data)]
    elif isinstance(data, dict):
        names = [_name(name) for name in data]
        entries = [(f"data[{name!r}]", array) for name, array in data.items()]
    else:
        advice = " Make it a list: list(data)." if isinstance(data, tuple) else ""
        raise ArgumentValueError(
            f"nd.save: data must be an NDArray, a list of NDArrays, or a dict of str to NDArray, "
            f"got {describe(data)}.{advice}"
        )
    for where, array in entries:
        if not isinstance(array, NDArray):
            raise ArgumentError(
                f"nd.save: {where} must be an NDArray, got {describe(array)}. Convert it with nd.array."
            )
        if array._data.dtype.newbyteorder("<") not in DTYPE_NUMBERS:
            raise DTypeError(
                f"nd.save: {where} is {describe(array)}, a dtype that MXNet's files do not know; they know "
                f"{', '.join(dtype.name for dtype in DTYPE_NUMBERS)}. Convert it with astype."
            )
    return [array for _, array in entries], names


def _name(name: Any) -> bytes:
    if not isinstance(name, str):
        raise ArgumentError(f"nd.save: the keys of data must be str, got {describe(name)}.")
    if "\0" in name:
        raise ArgumentError(f"nd.save: the key {name!r} contains '\\0', where MXNet would cut it off. Rename it.")
    try:
        return name.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"nd.save: the key {name!r} cannot be written in UTF-8: {error.reason}.") from None


def _chunks(arrays: Sequence[NDArray], names: Sequence[bytes]) -> Iterator[Any]:
    """Yield the content of the file, bytes and contiguous arrays."""
    version = _version([array.shape for array in arrays])
    return _file_chunks([_array_chunks(array, version) for array in arrays], names)


def _version(shapes: Iterable[tuple[int, ...]]) -> int:
    return VERSION_3 if is_np_shape() or any(0 in shape or not shape for shape in shapes) else VERSION_2


def _file_chunks(arrays: Sequence[Iterator[Any]], names: Sequence[bytes]) -> Iterator[Any]:
    yield struct.pack("<QQQ", FILE_MAGIC, 0, len(arrays))
    for array in arrays:
        yield from array
    yield struct.pack("<Q", len(names))
    for name in names:
        yield struct.pack("<Q", len(name)) + name


def file_content(arrays: Sequence[StoredArray], names: Sequence[str]) -> Iterator[Any]:
    """Yield the content of a file of arrays on cpu(0), bytes and contiguous arrays; unlike `save`, of bfloat16 too.

    Parameters
    ----------
    arrays : sequence of StoredArray
    names : sequence of str
        As many.

    Raises
    ------
    ArgumentError
        If a name cannot be written.
    KeyError
        If an array is of a dtype that MXNet's files do not know.
    """
    version = _version([array.data.shape for array in arrays])
    chunks = [
        _data_chunks(array.data, version, BFLOAT16 if array.dtype == "bfloat16" else None, (1, 0)) for array in arrays
    ]
    return _file_chunks(chunks, [_name(name) for name in names])


def _array_chunks(array: NDArray, version: int) -> Iterator[Any]:
    device = array.context
    return _data_chunks(array._data, version, None, (device.device_typeid, device.device_id))


def _data_chunks(data: numpy.ndarray, version: int, number: int | None, device: tuple[int, int]) -> Iterator[Any]:
    """Yield an array as it stands in files; `number` is that of its dtype, by default the one of its values."""
    dtype = data.dtype.newbyteorder("<")
    number = DTYPE_NUMBERS[dtype] if number is None else number
    yield struct.pack(f"<Iii{data.ndim}qiii", version, DENSE, data.ndim, *data.shape, *device, number)
    if data.size:
        yield numpy.ascontiguousarray(data, dtype)


def array_content(array: NDArray) -> bytes:
    """Return an array as it stands in files, and in pickles of MXNet's.

    Raises
    ------
    DTypeError
        If it is of a dtype that MXNet's files do not know.
    """
    _entries(array)
    version = VERSION_3 if 0 in array.shape or not array.ndim else VERSION_2
    return b"".join(memoryview(chunk).cast("B") for chunk in _array_chunks(array, version))


# -- reading ---------------------------------------------------------------------------------------------------------


def load(fname: str | os.PathLike[str]) -> list[NDArray] | dict[str, NDArray]:
    """Read the arrays of a file that `save` or MXNet wrote.

    Parameters
    ----------
    fname : str or PathLike

    Returns
    -------
    list of NDArray, or dict of str to NDArray
        A dict if the arrays have names. A file of one array is a list of one; an empty one is an empty list. All arrays
        are on cpu(0), whatever device they were saved from; bfloat16 becomes float32.

    Raises
    ------
    FileMissingError
        If there is no such file.
    FileAccessError
        If it cannot be read.
    FileFormatError
        If it is damaged or of another format, or its sparse arrays would be too large as dense ones.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.load("no-such-file.params")
    Traceback (most recent call last):
        ...
    minpy.core.errors.FileMissingError: nd.load: cannot read 'no-such-file.params': No such file or directory.
    """
    path = checked_path("nd.load", fname)
    try:
        with open_to_read(path) as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode):
                return read_arrays(Reader(file, status.st_size, f"nd.load: {path!r}"))
            content = file.read(32)
            if content.startswith(struct.pack("<Q", FILE_MAGIC)):  # what begins otherwise may have no end
                content += file.read()
    except OSError as error:
        raise access_error("nd.load", "read", path, error) from error
    return read_arrays(Reader(io.BytesIO(content), len(content), f"nd.load: {path!r}"))


def load_frombuffer(buf: bytes | bytearray | memoryview) -> list[NDArray] | dict[str, NDArray]:
    """Return the arrays that a file with the content `buf` would hold; see `load`.

    Parameters
    ----------
    buf : bytes-like

    Returns
    -------
    list of NDArray, or dict of str to NDArray

    Raises
    ------
    ArgumentError
        If `buf` is not bytes-like.
    FileFormatError
        If it is damaged or of another format, or its sparse arrays would be too large as dense ones.
    """
    try:
        stream = io.BytesIO(buf)
        size = memoryview(buf).nbytes
    except (TypeError, BufferError):
        raise ArgumentError(
            f"nd.load_frombuffer: buf must be bytes-like, the content of a file, got {describe(buf)}. "
            "Use nd.load for the name of a file."
        ) from None
    return read_arrays(Reader(stream, size, f"nd.load_frombuffer: the buffer of {size} bytes"))


# -- pickles of MXNet's ----------------------------------------------------------------------------------------------


def _take_state(self: NDArray, state: dict[str, bytearray]) -> None:
    """Take over what a pickle written by MXNet holds: the array as in a file."""
    content = bytes(state["handle"])
    version, storage, axes = struct.unpack("<Iii", content[:12].ljust(12, b"\0"))
    if version == VERSION_2 and storage == DENSE and not axes and len(content) > 12:
        content = struct.pack("<I", VERSION_3) + content[4:]  # it has no axes, and values all the same
    reader = Reader(io.BytesIO(content), len(content), f"a pickled array of {len(content)} bytes")
    self._data = read_array(reader, "it")


NDArray.__setstate__ = _take_state  # type: ignore[attr-defined]
