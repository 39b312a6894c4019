"""Records of RecordIO files by number, read by any thread, and their division into parts."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from minpy.core.errors import FileFormatError
from minpy.files import read_file
from minpy.recordio.records import LONGEST, MAGIC, WORDS, RecordSource

__all__ = ["RecordFiles", "label_list"]

_HEADER = struct.Struct("<IfQQ")
_RECORD = struct.Struct("<IIIfQQ")  # magic number, length, and the header
# Longer records are read in two steps: length, then content.
_SINGLE_READ_LIMIT = 1 << 20
_BYTE = numpy.dtype("uint8")
_MAX_OFFSET_DIGITS = 20  # of 2**64


class RecordFiles:
    """The records of a file, or of all files in a folder."""

    def __init__(self, function: str, path: str, index: str = "") -> None:
        self.function = function
        self.paths = [path]
        if os.path.isdir(path):
            self.paths = [os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith(".rec")]
        self._sources = [RecordSource(file, function, pipes=False) for file in self.paths]
        self._sizes = [source.size() for source in self._sources]
        places = []
        for number, source in enumerate(self._sources):
            offsets = self._read_index(index) if index else self._scanned(source, self._sizes[number])
            places += [(number, offset) for offset in offsets]
        if not places:
            raise FileFormatError(f"{function}: {path!r} has no records.")
        self._places = numpy.array(places, "int64").reshape(-1, 2)
        self._has_index = bool(index)
        same = numpy.append(self._places[1:, 0] == self._places[:-1, 0], False)
        next_offset = numpy.append(self._places[1:, 1], 0)
        ends = numpy.where(same, next_offset, numpy.array(self._sizes)[self._places[:, 0]])
        self._spans = ends - self._places[:, 1]

    def __len__(self) -> int:
        return len(self._places)

    def _scanned(self, source: RecordSource, size: int) -> list[int]:
        """Return the offsets of a file's records."""
        offsets: list[int] = []
        offset = start = 0
        chunk = b""
        while offset < size:
            within = offset - start
            if not 0 <= within <= len(chunk) - 8:
                start, within = offset, 0
                chunk = source.read(offset, 1 << 16)
            magic, word = WORDS.unpack_from(chunk, within) if len(chunk) >= 8 else (0, 0)
            length = word & LONGEST
            next_offset = offset + 8 + (length + 3 & ~3)
            if magic != MAGIC or word >> 29 or next_offset > size:  # in parts, or damaged
                record = source.record(offset, f"record {len(offsets)}")
                assert record is not None, "the file does not end here"
                next_offset = record[1]
            offsets.append(offset)
            offset = next_offset
        return offsets

    def _read_index(self, path: str) -> list[int]:
        offsets = []
        for number, line in enumerate(read_file(self.function, path).split(b"\n"), 1):
            fields = line.split()
            if not fields:
                continue
            if len(fields) != 2 or not fields[1].isdigit() or len(fields[1]) > _MAX_OFFSET_DIGITS:
                raise FileFormatError(
                    f"{self.function}: {path!r}, line {number}: {line[:60]!r}; expected a key, a tab and an offset."
                )
            offset = int(fields[1])
            if offset >= self._sizes[-1]:
                raise FileFormatError(
                    f"{self.function}: {path!r}, line {number}: offset {offset}; {self.paths[-1]!r} has "
                    f"{self._sizes[-1]} bytes. The index belongs to another file, or the file was cut short."
                )
            offsets.append(offset)
        return sorted(offsets)

    def part(self, num_parts: int, part_index: int) -> numpy.ndarray:
        """Return the numbers of a part's records; parts are equal in records with an index, else in bytes."""
        count = len(self)
        if num_parts == 1:
            return numpy.arange(count)
        if self._has_index:
            size = -(-count // num_parts)
            return numpy.arange(min(count, size * part_index), min(count, size * (part_index + 1)))
        before = numpy.concatenate([[0], numpy.cumsum(self._sizes)])
        places = self._places[:, 1] + before[self._places[:, 0]]
        size = -(-int(before[-1]) // num_parts) + 3 & ~3
        return numpy.flatnonzero((places >= size * part_index) & (places < size * (part_index + 1)))

    def name(self, number: int) -> str:
        """Return a record's name in messages."""
        file, offset = self._places[number]
        return f"record {number} (at offset {offset}) of {self.paths[file]!r}"

    def read(self, number: int) -> bytes:
        """Return the bytes of a record."""
        file, offset = self._places[number].tolist()
        record = self._sources[file].record(offset, f"record {number}", int(self._spans[number]))
        if record is None:
            raise FileFormatError(f"{self.function}: {self.name(number)}: the file ends there.")
        return record[0]

    def label_count(self, number: int) -> int:
        """Return how many labels a record has, without reading the picture."""
        file, offset = self._places[number].tolist()
        chunk = self._sources[file].read(offset, 12)
        if len(chunk) == 12:
            magic, word = WORDS.unpack_from(chunk)
            count = int.from_bytes(chunk[8:12], "little")
            if magic == MAGIC and 24 + 4 * count <= word <= LONGEST:
                return max(count, 1)
        label, _, _ = next(self.unpacked([number]))
        return int(numpy.size(label))

    def unpacked(self, numbers: Sequence[int]) -> Iterator[tuple[Any, int, numpy.ndarray]]:
        """Yield the label (a float, or an array), the id and the encoded picture of each record."""
        unpack, read = _RECORD.unpack_from, [source.read_once for source in self._sources]
        frombuffer, byte = numpy.frombuffer, _BYTE
        places, spans = self._places[numbers].tolist(), self._spans[numbers].tolist()
        for number, (file, offset), span in zip(numbers, places, spans, strict=True):
            # Nearly every record is in one part, and ends where the next one begins.
            chunk = read[file](span, offset) if span <= _SINGLE_READ_LIMIT else b""
            if len(chunk) >= 32:
                magic, word, count, label, identity, _ = unpack(chunk)
                if magic == MAGIC and not count and 24 <= word <= len(chunk) - 8:
                    yield label, identity, frombuffer(chunk, byte, word - 24, 32)
                    continue
            content = self.read(number)
            if len(content) < 24:
                raise FileFormatError(
                    f"{self.function}: {self.name(number)} has {len(content)} bytes; the header of a picture has 24. "
                    "Was it written by recordio.pack_img, or im2rec?"
                )
            count, label, identity, _ = _HEADER.unpack_from(content)
            if not count:
                yield label, identity, frombuffer(content, byte, -1, 24)
                continue
            if len(content) < 24 + 4 * count:
                raise FileFormatError(
                    f"{self.function}: {self.name(number)} says that it has {count} labels, of 4 bytes each; behind "
                    f"its header are {len(content) - 24} bytes."
                )
            labels = numpy.frombuffer(content, "<f4", count, 24).astype("float32", copy=False)
            yield labels, identity, frombuffer(content, byte, -1, 24 + 4 * count)


def label_list(function: str, path: str) -> dict[int, numpy.ndarray]:
    """Return labels by picture id from a list whose lines are an id, labels and a path, separated by tabs."""
    labels_of = {}
    for number, line in enumerate(read_file(function, path).decode("utf-8", "replace").split("\n"), 1):
        if not line.strip():
            continue
        fields = line.split("\t") if "\t" in line else line.split()
        try:
            labels = numpy.array([float(field) for field in fields[1:-1]], "float32")
            if not labels.size:
                raise ValueError("there is no label")
            labels_of[int(float(fields[0]))] = labels
        except (ValueError, OverflowError) as error:
            raise FileFormatError(
                f"{function}: {path!r}, line {number}: {line[:60]!r}; expected an id, labels and a path, with tabs "
                f"between: {error}."
            ) from error
    return labels_of
