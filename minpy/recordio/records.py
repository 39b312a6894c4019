"""Files of records: how records stand in them, found and written; read and written one after the other."""

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
WORDS = struct.Struct("<II")  # what a part begins with: the magic number; which part it is, and how long
_LENGTH_BITS = 29
LONGEST = (1 << _LENGTH_BITS) - 1
# What the upper bits of the second word say of a part.
_WHOLE, _FIRST, _MIDDLE, _LAST = range(4)
# How much is read at once where records are read one after the other, and where one is read whose length is not known.
_AHEAD, _ASIDE = 1 << 20, 1 << 15


def framed(record: bytes) -> list[bytes]:
    """Return what is written to a file for a record."""
    length = len(record)
    if length > LONGEST:
        raise ArgumentValueError(
            f"MXRecordIO.write: a record of {length} bytes; the format allows {LONGEST} at most (512 MiB)."
        )
    padding = b"\0" * (-length % 4)
    places = [place for place in _places(record) if not place % 4]
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


def _places(record: bytes) -> Iterator[int]:
    """Yield where a record holds the bytes that begin a part."""
    place = record.find(_MARK)
    while place >= 0:
        yield place
        place = record.find(_MARK, place + 1)


class RecordSource:
    """A file open for reading, from which records are taken at any offset; by threads, and after a fork.

    It has no position that could be shared: whoever reads says where.
    """

    def __init__(self, path: str, function: str = "MXRecordIO", pipes: bool = True) -> None:
        self.path = path
        with accessing(function, "read", path):
            self._file = open_to_read(path, pipes=pipes, buffering=0)
        self._lock = threading.Lock()
        # Takes a length and an offset; may return less than there is.
        self.read_once = partial(os.pread, self._file.fileno()) if hasattr(os, "pread") else self._read_once
        # A piece of the file: where it begins, and its bytes.
        self._piece: tuple[int, bytes] = (0, b"")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __del__(self) -> None:
        if "_file" in vars(self):
            self.close()

    def size(self) -> int:
        """Return how many bytes the file has now."""
        return os.fstat(self._file.fileno()).st_size

    def record(self, offset: int, named: str, expected: int = _ASIDE) -> tuple[bytes, int] | None:
        """Return the record that begins at an offset, and where the next one does; None at the end of the file."""
        kind, part, following = self._part(offset, named, offset, expected)
        if kind == _WHOLE:
            return part, following
        if kind < 0:
            return None
        if kind != _FIRST:
            raise self._damage(named, offset, "there begins a part from the middle of a record")
        parts = [part]
        while kind != _LAST:
            place = following
            kind, part, following = self._part(place, named, offset, _ASIDE)
            if kind < 0:
                raise self._damage(named, offset, f"the file ends at {place}, before the record's last part")
            if kind not in (_MIDDLE, _LAST):
                raise self._damage(named, offset, f"at {place} begins another record, before its last part")
            parts.append(part)
        return _MARK.join(parts), following

    def _part(self, place: int, named: str, offset: int, expected: int) -> tuple[int, bytes, int]:
        """Return the kind of the part at `place`, its bytes, and where the next one is; the kind is -1 at the end."""
        start, piece = self._piece
        within = place - start
        if not 0 <= within <= len(piece) - 8:
            start, piece = self._fetched(place, 8, expected)
            within = 0
            if len(piece) < 8:
                if not piece:
                    return -1, b"", place
                raise self._damage(named, offset, f"the file ends at {place + len(piece)}, within the head of a part")
        magic, word = WORDS.unpack_from(piece, within)
        if magic != MAGIC:
            raise self._damage(named, offset, f"at {place} stands 0x{magic:08x}; expected 0x{MAGIC:08x}")
        length = word & LONGEST
        following = place + 8 + (length + 3 & ~3)
        end = within + 8 + length
        if end > len(piece):
            size = self.size()
            if place + 8 + length > size:
                raise self._damage(
                    named, offset, f"its part at {place} has {length} bytes, and the file ends after {size - place - 8}"
                )
            start, piece = self._fetched(place, 8 + length, 0)
            within, end = 0, 8 + length
            if end > len(piece):
                raise self._damage(named, offset, "the file became shorter while it was read")
        return word >> _LENGTH_BITS, piece[within + 8 : end], following

    def _fetched(self, place: int, length: int, expected: int) -> tuple[int, bytes]:
        """Return a piece of the file that begins at a place and has at least so many bytes, unless the file ends."""
        start, piece = self._piece
        ahead = start <= place <= start + len(piece)
        try:
            piece = self.read(place, max(length, _AHEAD if ahead else min(expected, _AHEAD)))
        except OSError as error:
            raise access_error("MXRecordIO", "read", self.path, error) from error
        self._piece = place, piece
        return place, piece

    def read(self, place: int, length: int) -> bytes:
        """Return bytes at an offset: as many as there are, up to `length`."""
        if place > sys.maxsize:  # as an index may say, and no file is that long
            return b""
        piece = self.read_once(length, place)
        while piece and len(piece) < length and (more := self.read_once(length - len(piece), place + len(piece))):
            piece += more
        return piece

    def _read_once(self, length: int, place: int) -> bytes:
        with self._lock:
            self._file.seek(place)
            content: bytes = self._file.read(length)
            return content

    def _damage(self, named: str, offset: int, problem: str) -> FileFormatError:
        return FileFormatError(
            f"{self.path!r} is damaged or no RecordIO file: {named} at offset {offset}: {problem}. Write it again, or "
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
    """Let a file that was written be there, if it is to be kept and can be; else what was there before stays."""
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

    What is written is there once `close` was called, or the object is gone: until then it stands under a temporary
    name, and a file that was there before stays as it was; so it does where a `with` statement ends by an exception.
    A reader may be used by a forked process, and be pickled
    (the copy begins with the first record).

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
        Whether it is open, and to be written.

    Raises
    ------
    ArgumentValueError
        For another flag.
    FileMissingError, FileAccessError
        If the file is not there, or cannot be read or written.

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
        # Where the next record begins, and its number, unless it was reached by an offset.
        self._offset = 0
        self._number: int | None = 0

    def close(self) -> None:
        """Close the file, of an indexed one both. What was written is there then, as a whole.

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
        """Close the file; unless it `keeps` what was written, a file that was there before stays."""
        self.is_open = False
        source, self._source = self._source, None
        writer, self._writer = self._writer, None
        own = self._owned()
        self.pid = None
        if source is not None:
            source.close()
        if writer is not None and own:  # in a forked process, it is the parent's
            commit_or_discard(writer, keeps, "MXRecordIO.close", self.uri)

    def _owned(self) -> bool:
        """Tell whether this process opened the file, and not the one from which it was forked."""
        return self.pid == os.getpid()

    def __del__(self) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the file's name.

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
            If these are no bytes, or too many.

        Examples
        --------
        >>> import tempfile
        >>> with MXRecordIO(tempfile.mkdtemp() + '/words.rec', 'w') as writer:
        ...     writer.write(b'one')
        """
        writer = self._writer
        if writer is None or not self.is_open:
            raise self._unusable("written", "w")
        if not self._owned():
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
            raise self._unusable("read", "r")
        number = self._number
        record_and_end = source.record(self._offset, "a record" if number is None else f"record {number}")
        if record_and_end is None:
            return None
        record, self._offset = record_and_end
        if number is not None:
            self._number = number + 1
        return record

    def _unusable(self, done: str, flag: str) -> FileModeError:
        state = f"opened with flag {self.flag!r}" if self.is_open else "closed"
        advice = f"Open it with flag {flag!r}" if self.is_open else "Open it again with `open`"
        return FileModeError(f"{type(self).__name__} of {self.uri!r} is {state} and cannot be {done}. {advice}.")
