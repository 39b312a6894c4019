"""Compiled objects, kept in files: found by a key, whole or not at all, whoever else writes at the same time.

A file is a line that says what it is, a line of JSON (the key, a digest, names that the object has), and the object. It
is written under a temporary name and renamed; readers take no locks. What is not as it was written is as if it were not
there. A folder that cannot be written is no error: what is compiled is then not kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from minpy.files import cache_folder, open_to_read

__all__ = ["LIMIT", "Entry", "Store", "digest"]

# How many bytes of objects are kept; those that were not used for longest go first.
LIMIT = 256 * 2**20
_MAGIC = b"minpy object 1\n"
# What is kept: machine code, what makes a program of it, what LLVM has said of a processor.
_KINDS = ("object", "plan", "processor")
# What was used within these seconds counts as new: its time is not written again.
_FRESH = 3600.0
# What a writer has left that was killed goes after these seconds.
_ABANDONED = 3600.0
# The folder is looked through once in so many objects that a process has kept.
_BETWEEN = 64
_before_cleaning = 0


class Entry(NamedTuple):
    """An object that is kept: its file, how many bytes that has, and when it was used last (seconds since 1970)."""

    path: str
    size: int
    used: float


def digest(*parts: str | bytes) -> str:
    """Return the SHA-256 of texts and bytes, in hexadecimal digits; where one ends and the next begins counts.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    total = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        total.update(b"%d:" % len(content))
        total.update(content)
    return total.hexdigest()


class Store:
    """A folder of compiled objects, made when something is to be kept: `kernels` in $MINPY_CACHE, or the user's cache.

    What is looked for and kept is of one kind, 'object', 'plan' or 'processor'; all share the limit, in bytes.
    """

    def __init__(self, root: str | None = None, limit: int = LIMIT, kind: str = "object") -> None:
        self.kind = kind
        self.root = cache_folder("kernels") if root is None else root
        self.limit = limit

    def find(self, key: str) -> tuple[bytes, tuple[str, ...]] | None:
        """Return the object of a key of hexadecimal digits, and the names that it has.

        None where it was never kept, is damaged, or belongs to another user, who could have put anything there.
        """
        path = self._path(key)
        try:
            with open_to_read(path, pipes=False) as file:
                status = os.fstat(file.fileno())
                content = file.read()
        except OSError:
            return None
        if hasattr(os, "geteuid") and status.st_uid not in (os.geteuid(), 0):
            return None
        parsed = _parsed(content, key)
        if parsed is not None and time.time() - status.st_mtime > _FRESH:
            with contextlib.suppress(OSError):  # on a medium that cannot be written
                os.utime(path)
        return parsed

    def keep(self, key: str, content: bytes, names: Iterable[str]) -> bool:
        """Keep an object and the names that it has, and tell whether that was possible."""
        listed = sorted(names)
        record = {"key": key, "digest": digest(content, *listed), "names": listed}
        temporary = os.path.join(self.root, f"writing-{secrets.token_hex(8)}")
        try:
            os.makedirs(self.root, mode=0o700, exist_ok=True)
            with open(temporary, "xb") as file:
                file.write(_MAGIC + json.dumps(record).encode() + b"\n" + content)
            os.replace(temporary, self._path(key))
        except OSError:  # read-only, or full
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            return False
        global _before_cleaning
        _before_cleaning -= 1
        if _before_cleaning <= 0:
            _before_cleaning = _BETWEEN
            self.clean()
        return True

    def entries(self) -> list[Entry]:
        """Return all entries, the last used one at the end."""
        files = [(path, status) for path, status in self._files() if _is_entry(os.path.basename(path))]
        entries = [Entry(path, status.st_size, status.st_mtime) for path, status in files]
        return sorted(entries, key=lambda entry: (entry.used, entry.path))

    def clean(self) -> None:
        """Remove what was not used for longest until the rest is small enough, and what killed writers have left."""
        now = time.time()
        for path, status in self._files():
            if os.path.basename(path).startswith("writing-") and now - status.st_mtime > _ABANDONED:
                with contextlib.suppress(OSError):
                    os.unlink(path)
        entries = self.entries()
        total = sum(entry.size for entry in entries)
        for entry in entries[:-1]:  # the last one was just written: it stays, however large
            if total <= self.limit:
                return
            with contextlib.suppress(OSError):
                os.unlink(entry.path)
            total -= entry.size

    def clear(self) -> tuple[int, int]:
        """Remove all objects, and return how many there were, and their bytes."""
        count = size = 0
        for path, status in self._files():
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                os.unlink(path)
                if _is_entry(os.path.basename(path)):
                    count, size = count + 1, size + status.st_size
        return count, size

    def _path(self, key: str) -> str:
        return os.path.join(self.root, f"{key[:32]}.{self.kind}")

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the files that are a store's, objects and what is being written."""
        try:
            with os.scandir(self.root) as entries:
                paths = [entry.path for entry in entries if entry.name.startswith("writing-") or _is_entry(entry.name)]
        except OSError:
            return
        for path in paths:
            with contextlib.suppress(OSError):  # removed meanwhile
                yield path, os.stat(path)


def _is_entry(name: str) -> bool:
    stem, _, kind = name.partition(".")
    return kind in _KINDS and len(stem) == 32 and not set(stem) - set("0123456789abcdef")


def _parsed(content: bytes, key: str) -> tuple[bytes, tuple[str, ...]] | None:
    """Return the object in a file and its names; None if it is not as it was written, or another one."""
    if not content.startswith(_MAGIC):
        return None
    line, end, stored = content[len(_MAGIC) :].partition(b"\n")
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not end or not isinstance(record, dict) or record.get("key") != key:
        return None
    names = record.get("names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return (stored, tuple(names)) if record.get("digest") == digest(stored, *names) else None
