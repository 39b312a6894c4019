"""Tar and zip archives, read member by member: nothing is unpacked to disk, and sizes are limited."""

from __future__ import annotations

import contextlib
import gzip
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NoReturn

from minpy.core.errors import FileFormatError, MXNetError
from minpy.files import accessing

__all__ = ["Archive", "is_archive", "opened", "read_exactly"]

_MAX_MEMBERS = 10_000
# Compressed content may expand by this factor, or to this size: parameters hardly shrink, but zeros do.
_MAX_EXPANSION = 100
_MIN_EXPANDED_BYTES = 1 << 30
_CHUNK = 1 << 20
_MAX_READ = 64 << 20  # at once; what tarfile would read itself is a header
_DAMAGED = "It is damaged or incomplete: copy or download it again."
_READ_ERRORS = (
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    zlib.error,
    ValueError,
    NotImplementedError,
    MemoryError,
    gzip.BadGzipFile,
)


def is_archive(path: str) -> bool:
    """Tell whether a file begins like an archive, or is named like one."""
    try:
        with open(path, "rb") as file:
            header = file.read(265)
    except OSError:
        return False
    has_ending = path.endswith((".tar", ".tar.gz", ".tgz", ".zip", ".mar", ".model"))
    return header.startswith((b"\x1f\x8b", b"PK\x03\x04", b"PK\x05\x06")) or header[257:262] == b"ustar" or has_ending


class Archive:
    """An open archive; `links` names the members read so far that are links or devices."""

    def __init__(self, path: str, file: BinaryIO) -> None:
        self.path = path
        self.links: list[str] = []
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        self._max_bytes = max(_MIN_EXPANDED_BYTES, _MAX_EXPANSION * self._size)
        self._members = 0
        self._expanded_bytes = 0

    def files(self) -> Iterator[tuple[str, int, BinaryIO]]:
        """Yield (name, size, stream) of every regular file; a stream is valid until the next is requested.

        One that is shorter than its size fails when it is read, or when the next is requested.
        """
        try:
            yield from self._zip_files() if zipfile.is_zipfile(self._file) else self._tar_files()
        except MXNetError:
            raise
        except _READ_ERRORS as error:
            self.fail_to_read(error)

    def fail_to_read(self, error: Exception) -> NoReturn:
        """Raise the error for an exception of a library."""
        self._fail(f"it cannot be read: {str(error).rstrip('.') or type(error).__name__}", _DAMAGED)

    def _fail(self, problem: str, advice: str) -> NoReturn:
        raise FileFormatError(f"python -m minpy model: the archive {self.path!r}: {problem}. {advice}") from None

    def _count(self, name: str, size: int) -> None:
        """Count a member, and raise an error beyond the limits."""
        self._members += 1
        self._expanded_bytes += size
        if self._members > _MAX_MEMBERS:
            self._fail(f"it has more than {_MAX_MEMBERS} members", "A model has a handful: is this one?")
        if self._expanded_bytes > self._max_bytes:
            self._fail(
                f"with {name!r}, of {size} bytes, its {self._size} bytes would become more than {self._max_bytes}",
                "If that is meant, unpack it, and name the -symbol.json file.",
            )

    def _tar_files(self) -> Iterator[tuple[str, int, BinaryIO]]:
        self._file.seek(0)
        compressed = self._file.read(2) == b"\x1f\x8b"
        self._file.seek(0)
        source: Any = gzip.GzipFile(fileobj=self._file, mode="rb") if compressed else self._file
        bounded: Any = _Bounded(source, self._max_bytes if compressed else self._size)
        with tarfile.open(fileobj=bounded, mode="r:") as archive:
            while (member := archive.next()) is not None:
                self._count(member.name, member.size)
                if member.isreg() and not member.issparse():
                    stream: Any = archive.extractfile(member)
                    yield member.name, member.size, stream
                elif not member.isdir():
                    self.links.append(member.name)

    def _zip_files(self) -> Iterator[tuple[str, int, BinaryIO]]:
        with zipfile.ZipFile(self._file) as archive:
            for member in archive.infolist():
                self._count(member.filename, member.file_size)
                if member.is_dir():
                    continue
                if (member.external_attr >> 28) == 0xA:
                    self.links.append(member.filename)
                    continue
                if member.flag_bits & 1:
                    self._fail(f"{member.filename!r} is encrypted", "Unpack it, and name the -symbol.json file.")
                if member.file_size > 1032 * member.compress_size + 1024:  # more than deflate can do
                    self._fail(f"{member.filename!r} cannot have the {member.file_size} bytes that it claims", _DAMAGED)
                with archive.open(member) as stream:
                    yield member.filename, member.file_size, stream  # type: ignore[misc]


class _Bounded:
    """A stream that is read up to a limit, and in small pieces: a wrong size in a header costs no memory."""

    def __init__(self, stream: Any, limit: int) -> None:
        self._stream = stream
        self._limit = limit

    def read(self, count: int = -1) -> bytes:
        position = self._stream.tell()
        remaining = self._limit - position
        count = remaining if count < 0 else min(count, remaining)
        if count > _MAX_READ:
            raise tarfile.ReadError(f"a header at byte {position} claims {count} bytes")
        parts = []
        while count > 0:
            part = self._stream.read(min(count, _CHUNK))
            if not part:
                break
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def seek(self, position: int) -> None:
        self._stream.seek(min(position, self._limit))

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return int(self._stream.tell())


def read_exactly(stream: BinaryIO, size: int, subject: str) -> bytes:
    """Return the content of a member, which should have `size` bytes."""
    content = bytearray()
    while len(content) < size:
        part = stream.read(min(_CHUNK, size - len(content)))
        if not part:
            raise FileFormatError(
                f"python -m minpy model: {subject} should have {size} bytes, got {len(content)}. {_DAMAGED}"
            )
        content += part
    return bytes(content)


@contextlib.contextmanager
def opened(path: str) -> Iterator[Archive]:
    """Open an archive."""
    with accessing("python -m minpy model", "read", path), open(path, "rb") as file:
        archive = Archive(path, file)
        try:
            yield archive
        except MXNetError:
            raise
        except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, gzip.BadGzipFile) as error:
            archive.fail_to_read(error)  # while a member was read
