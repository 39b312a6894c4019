"""How records stand in a file: their parts, found and written."""

from __future__ import annotations

import os
import struct
import sys
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, FileFormatError, describe
from minpy.files import access_error, accessing, open_to_read

__all__ = ["LONGEST", "MAGIC", "WORDS", "RecordSource", "checked_record", "framed"]

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

    def _damage(self, named: str, offset: int, what: str) -> FileFormatError:
        return FileFormatError(
            f"{self.path!r} is damaged or no RecordIO file: {named} at offset {offset}: {what}. Write it again, or "
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
