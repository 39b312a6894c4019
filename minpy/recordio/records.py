"""RecordIO files: their format, reading records at any offset, and reading and writing them in order."""

from __future__ import annotations

import os
import struct
import sys
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, FileFormatError, FileModeError, describe
from minpy.files import WholeFile, access_error, accessing, checked_path, open_to_read

__all__ = ["LONGEST", "MAGIC", "WORDS", "MXRecordIO", "RecordSource", "checked_record", "commit_or_discard", "framed"]

MAGIC = 0xCED7230A
_MARK = struct.pack("<I", MAGIC)
WORDS = struct.Struct("<II")  # the header of a part: the magic number; its kind and length
_LENGTH_BITS = 29
LONGEST = (1 << _LENGTH_BITS) - 1
# The kinds of parts, in the upper bits of the second word.
_WHOLE, _FIRST, _MIDDLE, _LAST = range(4)
# Bytes to read at once: in sequential reading, and for one record of unknown length.
_SEQUENTIAL_READ, _SINGLE_READ = 1 << 20, 1 << 15


def framed(record: bytes) -> list[bytes]:
    """Return the bytes of a record in a file, in pieces."""
    length = len(record)
    if length > LONGEST:
        raise ArgumentValueError(
            f"MXRecordIO.write: a record of {length} bytes; the format allows {LONGEST} at most (512 MiB)."
        )
    padding = b"\0" * (-length % 4)
    places = [place for place in _mark_offsets(record) if not place % 4]
    if not places:
        return [WORDS.pack(MAGIC, length), record, padding]
    chunks = []
    start = 0
    for number, place in enumerate(places):
        kind = _MIDDLE if number else _FIRST
        chunks += [WORDS.pack(MAGIC, kind << _LENGTH_BITS | place - start), record[start:place]]
        start = place + 4
    chunks += [WORDS.pack(MAGIC, _LAST << _LENGTH_BITS | length - start), record[start:], padding]
    return chunks


def _mark_offsets(record: bytes) -> Iterator[int]:
    """Yield the positions of the magic number in a record."""
    position = record.find(_MARK)
    while position >= 0:
        yield position
        position = record.find(_MARK, position + 1)


class RecordSource:
    """A file open for reading records at any offset; by several threads, and after a fork.

    It has no position that could be shared: each read gets an offset.
    """

    def __init__(self, path: str, function: str = "MXRecordIO", pipes: bool = True) -> None:
        self.path = path
        with accessing(function, "read", path):
            self._file = open_to_read(path, pipes=pipes, buffering=0)
        self._lock = threading.Lock()
        # Takes a length and an offset; may return less than there is.
        self.read_once = partial(os.pread, self._file.fileno()) if hasattr(os, "pread") else self._read_once
        # The chunk of the file that was read last: its offset, and its bytes.
        self._chunk: tuple[int, bytes] = (0, b"")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __del__(self) -> None:
        if "_file" in vars(self):
            self.close()

    def size(self) -> int:
        """Return the present size of the file in bytes."""
        return os.fstat(self._file.fileno()).st_size

    def record(self, offset: int, name: str, expected: int = _SINGLE_READ) -> tuple[bytes, int] | None:
        """Return the record at an offset, and the offset of the next one; None at the end of the file."""
        kind, part, following = self._part(offset, name, offset, expected)
        if kind == _WHOLE:
            return part, following
        if kind < 0:
            return None
        if kind != _FIRST:
            raise self._damage(name, offset, "there begins a part from the middle of a record")
        parts = [part]
        while kind != _LAST:
            at = following
            kind, part, following = self._part(at, name, offset, _SINGLE_READ)
            if kind < 0:
                raise self._damage(name, offset, f"the file ends at {at}, before the record's last part")
            if kind not in (_MIDDLE, _LAST):
                raise self._damage(name, offset, f"at {at} begins another record, before its last part")
            parts.append(part)
        return _MARK.join(parts), following

    def _part(self, at: int, name: str, offset: int, expected: int) -> tuple[int, bytes, int]:
        """Return the kind of the part at `at`, its bytes, and where the next one is; the kind is -1 at the end."""
        start, chunk = self._chunk
        begin = at - start
        if not 0 <= begin <= len(chunk) - 8:
            start, chunk = self._fetch(at, 8, expected)
            begin = 0
            if len(chunk) < 8:
                if not chunk:
                    return -1, b"", at
                raise self._damage(name, offset, f"the file ends at {at + len(chunk)}, within the head of a part")
        magic, word = WORDS.unpack_from(chunk, begin)
        if magic != MAGIC:
            raise self._damage(name, offset, f"at {at} stands 0x{magic:08x}; expected 0x{MAGIC:08x}")
        length = word & LONGEST
        following = at + 8 + (length + 3 & ~3)
        end = begin + 8 + length
        if end > len(chunk):
            size = self.size()
            if at + 8 + length > size:
                raise self._damage(
                    name, offset, f"its part at {at} has {length} bytes, and the file ends after {size - at - 8}"
                )
            start, chunk = self._fetch(at, 8 + length, 0)
            begin, end = 0, 8 + length
            if end > len(chunk):
                raise self._damage(name, offset, "the file became shorter while it was read")
        return word >> _LENGTH_BITS, chunk[begin + 8 : end], following

    def _fetch(self, at: int, length: int, expected: int) -> tuple[int, bytes]:
        """Return a piece of the file that begins at a place and has at least so many bytes, unless the file ends."""
        start, chunk = self._chunk
        ahead = start <= at <= start + len(chunk)
        try:
            chunk = self.read(at, max(length, _SEQUENTIAL_READ if ahead else min(expected, _SEQUENTIAL_READ)))
        except OSError as error:
            raise access_error("MXRecordIO", "read", self.path, error) from error
        self._chunk = at, chunk
        return at, chunk

    def read(self, at: int, length: int) -> bytes:
        """Return bytes at an offset: `length`, or fewer at the end of the file."""
        if at > sys.maxsize:  # as an index may say, and no file is that long
            return b""
        chunk = self.read_once(length, at)
        while chunk and len(chunk) < length and (more := self.read_once(length - len(chunk), at + len(chunk))):
            chunk += more
        return chunk

    def _read_once(self, length: int, at: int) -> bytes:
        with self._lock:
            self._file.seek(at)
            content: bytes = self._file.read(length)
            return content

    def _damage(self, name: str, offset: int, problem: str) -> FileFormatError:
        return FileFormatError(
            f"{self.path!r} is damaged or no RecordIO file: {name} at offset {offset}: {problem}. Write it again, or "
            "read only what stands before."
        )


def checked_record(record: Any) -> bytes:
    """Return a record as bytes."""
    if isinstance(record, bytes):
        return record
    if isinstance(record, (bytearray, memoryview)):
        return bytes(record)
    raise ArgumentError(
        f"MXRecordIO.write: a record must be bytes, got {describe(record)}. recordio.pack makes them of labels, "
        "recordio.pack_img of a picture."
    )


def commit_or_discard(writer: WholeFile, keeps: bool, function: str, path: str) -> None:
    """Put a written file in its place, or if it `keeps` nothing or fails, leave an existing file as it was."""
    try:
        if keeps:
            with accessing(function, "write", path):
                writer.commit()
    except BaseException:
        writer.discard()
        raise
    if not keeps:
        writer.discard()


class MXRecordIO:
    """A RecordIO file that is read or written one record after the other.

    A written file appears when it is closed, or the object is deleted: until then it has a temporary name, and an
    existing file stays as it was; so it does if a `with` statement ends by an exception. A reader may be used by a
    forked process, and be pickled (the copy begins with the first record).

    Parameters
    ----------
    uri : str or path
        The file.
    flag : {'r', 'w'}
        Whether it is read or written.

    Attributes
    ----------
    uri, flag : str
        As given.
    is_open, writable : bool
        Whether it is open, and whether it is written.

    Raises
    ------
    ArgumentValueError
        For another flag.
    FileMissingError, FileAccessError
        If the file does not exist, or cannot be read or written.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), 'words.rec')
    >>> writer = MXRecordIO(path, 'w')
    >>> for word in (b'one', b'two'):
    ...     writer.write(word)
    >>> writer.close()
    >>> reader = MXRecordIO(path, 'r')
    >>> reader.read(), reader.read(), reader.read()
    (b'one', b'two', None)
    >>> reader.close()
    """

    is_open = False
    writable = False
    pid: int | None = None
    _source: RecordSource | None = None
    _writer: WholeFile | None = None

    def __init__(self, uri: Any, flag: str) -> None:
        self.uri = checked_path(type(self).__name__, uri)
        self.flag = flag
        self.open()

    def open(self) -> None:
        """Open the file, at its first record; of an indexed one both files.

        Raises
        ------
        ArgumentValueError
            If the flag is neither 'r' nor 'w'.
        FileMissingError, FileAccessError
            If the file is not there, or cannot be read or written.
        FileFormatError
            If an index is damaged.

        Examples
        --------
        >>> MXRecordIO('missing.rec', 'r')
        Traceback (most recent call last):
            ...
        minpy.core.errors.FileMissingError: MXRecordIO: cannot read 'missing.rec': No such file or directory.
        """
        if self.flag == "w":
            with accessing("MXRecordIO", "write", self.uri):
                self._writer = WholeFile(self.uri)
            self.writable = True
        elif self.flag == "r":
            self._source = RecordSource(self.uri)
            self.writable = False
        else:
            raise ArgumentValueError(
                f"MXRecordIO of {self.uri!r}: Invalid flag {self.flag!r}; expected 'r' to read, or 'w' to write."
            )
        self.pid = os.getpid()
        self.is_open = True
        # The offset of the next record, and its number, if it is known.
        self._offset = 0
        self._number: int | None = 0

    def close(self) -> None:
        """Close the file, of an indexed one both. A written file appears as a whole.

        Raises
        ------
        FileAccessError
            If it cannot be written: the disk is full.

        Examples
        --------
        >>> import tempfile
        >>> from minpy.recordio import MXIndexedRecordIO
        >>> path = tempfile.mkdtemp() + '/words'
        >>> writer = MXIndexedRecordIO(path + '.idx', path + '.rec', 'w')
        >>> writer.close()
        >>> writer.open()
        >>> writer.close()
        >>> writer.is_open
        False
        """
        if self.is_open:
            self._finish(keeps=True)

    def _finish(self, keeps: bool) -> None:
        """Close the file; unless it `keeps` the written one, an existing file stays."""
        self.is_open = False
        source, self._source = self._source, None
        writer, self._writer = self._writer, None
        own = self._is_owner()
        self.pid = None
        if source is not None:
            source.close()
        if writer is not None and own:  # in a forked process, it is the parent's
            commit_or_discard(writer, keeps, "MXRecordIO.close", self.uri)

    def _is_owner(self) -> bool:
        """Tell whether this process opened the file, and not its parent."""
        return self.pid == os.getpid()

    def __del__(self) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle: the file's name, not its contents.

        Raises
        ------
        FileModeError
            For a file that is being written.
        """
        if self.is_open and self.writable:
            raise FileModeError(f"{type(self).__name__} of {self.uri!r} is being written: close it to pickle it.")
        state = dict(self.__dict__)
        for name in ("_source", "_writer", "pid"):
            state.pop(name, None)
        return state

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__.update(d)
        self.pid = None
        if d.get("is_open"):
            self.is_open = False
            self.open()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self.writable:
            self._finish(keeps=False)
        self.close()

    def reset(self) -> None:
        """Go back to the first record; a file that is written becomes empty.

        Examples
        --------
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + '/words.rec'
        >>> with MXRecordIO(path, 'w') as writer:
        ...     writer.write(b'one')
        >>> reader = MXRecordIO(path, 'r')
        >>> reader.read(), reader.reset(), reader.read()
        (b'one', None, b'one')
        >>> reader.close()
        """
        self.close()
        self.open()

    def write(self, buf: bytes) -> None:
        """Write a record.

        Parameters
        ----------
        buf : bytes
            At most 512 MiB.

        Raises
        ------
        FileModeError
            If the file is read, is closed, or was opened by another process.
        ArgumentError, ArgumentValueError
            If these are not bytes, or too many.

        Examples
        --------
        >>> import tempfile
        >>> with MXRecordIO(tempfile.mkdtemp() + '/words.rec', 'w') as writer:
        ...     writer.write(b'one')
        """
        writer = self._writer
        if writer is None or not self.is_open:
            raise self._mode_error("written", "w")
        if not self._is_owner():
            raise FileModeError(
                f"MXRecordIO of {self.uri!r} is being written by process {self.pid}, and cannot be by another that was "
                "forked from it. Forbidden operation in multiple processes."
            )
        chunks = framed(checked_record(buf))
        try:
            writer.file.writelines(chunks)
        except OSError as error:  # half a record
            self._finish(keeps=False)
            raise access_error("MXRecordIO.write", "write", self.uri, error) from error
        self._offset += sum(map(len, chunks))

    def read(self) -> bytes | None:
        """Return the next record, or None after the last one.

        Raises
        ------
        FileModeError
            If the file is written, or closed.
        FileFormatError
            If the file is damaged: which record, and where.

        Examples
        --------
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + '/words.rec'
        >>> with MXRecordIO(path, 'w') as writer:
        ...     writer.write(b'one')
        >>> with MXRecordIO(path, 'r') as reader:
        ...     reader.read(), reader.read()
        (b'one', None)
        """
        source = self._source
        if source is None:
            raise self._mode_error("read", "r")
        number = self._number
        record_and_end = source.record(self._offset, "a record" if number is None else f"record {number}")
        if record_and_end is None:
            return None
        record, self._offset = record_and_end
        if number is not None:
            self._number = number + 1
        return record

    def _mode_error(self, action: str, flag: str) -> FileModeError:
        state = f"opened with flag {self.flag!r}" if self.is_open else "closed"
        advice = f"Open it with flag {flag!r}" if self.is_open else "Open it again with `open`"
        return FileModeError(f"{type(self).__name__} of {self.uri!r} is {state} and cannot be {action}. {advice}.")
