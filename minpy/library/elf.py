"""Whether a file of Linux's format for libraries (ELF) is complete: opening a truncated one ends the process."""

from __future__ import annotations

import os
import struct

__all__ = ["missing_bytes"]

_MAGIC = b"\x7fELF"
_LOADED = 1  # the type of a segment that is mapped into memory
# By class (1: 32 bits, 2: 64 bits): the format of an offset, and where the header holds the offset of the segment
# table, and its entries' size and number; in an entry, the segment's offset and size. (System V ABI, chapter 4.)
_HEADER = {1: ("I", 28, 42), 2: ("Q", 32, 54)}
_SEGMENT = {1: ("I", 4, 16), 2: ("Q", 8, 32)}


def missing_bytes(path: str) -> int:
    """Return how many bytes a library lacks at its end; 0 for a complete one, and for files of another format."""
    with open(path, "rb") as file:
        head = file.read(64)
        size = os.fstat(file.fileno()).st_size
        if len(head) < 64 or head[:4] != _MAGIC or head[4] not in _HEADER or head[5] not in (1, 2):
            return 0
        order = "<" if head[5] == 1 else ">"
        word_format, field_offset, table_fields = _HEADER[head[4]]
        (start,) = struct.unpack_from(f"{order}{word_format}", head, field_offset)
        length, count = struct.unpack_from(f"{order}HH", head, table_fields)
        end = start + length * count
        file.seek(min(start, size))
        table = file.read(length * count)
    word_format, field_offset, size_offset = _SEGMENT[head[4]]
    # A header that cannot be true is left to the dynamic linker, which refuses it.
    if len(table) == length * count and length >= size_offset + struct.calcsize(word_format):
        for entry in range(count):
            if struct.unpack_from(f"{order}I", table, entry * length)[0] == _LOADED:
                (file_offset,) = struct.unpack_from(f"{order}{word_format}", table, entry * length + field_offset)
                (file_size,) = struct.unpack_from(f"{order}{word_format}", table, entry * length + size_offset)
                end = max(end, file_offset + file_size)
    return max(end - size, 0)
