"""Whether a file of Linux's format for libraries (ELF) is whole: opening one that is cut off ends the process."""

from __future__ import annotations

import os
import struct

__all__ = ["missing_bytes"]

_MAGIC = b"\x7fELF"
_LOADED = 1  # the type of a segment that is mapped into memory
# By the number of bits: where the header keeps the place of the table of segments, the size of an entry, and how many
# there are; and a segment's place in the file and its size there. (System V ABI, chapter 4, "ELF Header".)
_HEADER = {1: ("I", 28, 42), 2: ("Q", 32, 54)}
_SEGMENT = {1: ("I", 4, 16), 2: ("Q", 8, 32)}


def missing_bytes(path: str) -> int:
    """Return how many bytes a library lacks at its end; 0 for a whole one, and for files of another format."""
    with open(path, "rb") as file:
        head = file.read(64)
        size = os.fstat(file.fileno()).st_size
        if len(head) < 64 or head[:4] != _MAGIC or head[4] not in _HEADER or head[5] not in (1, 2):
            return 0
        order = "<" if head[5] == 1 else ">"
        word, at, sizes = _HEADER[head[4]]
        (start,) = struct.unpack_from(f"{order}{word}", head, at)
        length, count = struct.unpack_from(f"{order}HH", head, sizes)
        end = start + length * count
        file.seek(min(start, size))
        table = file.read(length * count)
    word, at, within = _SEGMENT[head[4]]
    # A header that cannot be true is left to the dynamic linker, which refuses it.
    if len(table) == length * count and length >= within + struct.calcsize(word):
        for entry in range(count):
            if struct.unpack_from(f"{order}I", table, entry * length)[0] == _LOADED:
                (place,) = struct.unpack_from(f"{order}{word}", table, entry * length + at)
                (filled,) = struct.unpack_from(f"{order}{word}", table, entry * length + within)
                end = max(end, place + filled)
    return max(end - size, 0)
