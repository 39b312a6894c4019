"""Built libraries in a folder: found by a key, whole or not at all, even if other processes build at the same time.

<root>/<name>-<key>/<name>.so      a library, and beside it
                    build.json     its ingredients and its digest
<root>/texts/<digest>/<name>.cc    sources that are texts
<root>/locks/<two digits>          locked while one builds: empty files
<root>/building-<key>-...          a library being built, renamed when it is done
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from minpy.files import CACHE_VARIABLE, cache_folder, write_whole
from minpy.library.building.compilers import SUFFIX

__all__ = ["CACHE_VARIABLE", "LIMIT", "Cache", "default_root", "digest", "temporary_root"]

# The bytes of libraries in a cache; the least recently used go first.
LIMIT = 256 * 2**20
# Libraries used within these seconds stay: another process may be about to load one.
_IN_USE_SECONDS = 3600.0
# Leftovers of killed builders, and unused texts, are removed after these seconds.
_ABANDONED_SECONDS = 24 * 3600.0
_UNUSED_SECONDS = 30 * 24 * 3600.0

_RECORD = "build.json"


def default_root() -> str:
    """Return the default folder of the cache."""
    return cache_folder("native")


_temporary: dict[int, str] = {}


def temporary_root() -> str:
    """Return a temporary folder, which is removed when this process ends."""
    process = os.getpid()
    if process not in _temporary:
        folder = tempfile.mkdtemp(prefix="minpy-native-")
        _temporary[process] = folder
        atexit.register(_remove_own, process, folder)
    return _temporary[process]


def _remove_own(process: int, folder: str) -> None:
    if os.getpid() == process:  # and not a child that was forked
        shutil.rmtree(folder, ignore_errors=True)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return [*entries]


def digest(content: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


class Cache:
    """A folder of built libraries.

    Parameters
    ----------
    root : str
        The folder; it is created when it is needed.
    bounded : bool
        Whether to remove the least recently used libraries beyond `LIMIT`.
    """

    def __init__(self, root: str, bounded: bool) -> None:
        self.root = root
        self.bounded = bounded

    def find(self, name: str, key: str) -> tuple[str, dict[str, Any]] | None:
        """Return the path of a built library and its record; None if there is none, or a damaged one."""
        folder = self._folder(name, key)
        path = os.path.join(folder, name + SUFFIX)
        try:
            with open(os.path.join(folder, _RECORD), "rb") as file:
                record = json.loads(file.read())
            with open(path, "rb") as file:
                content = file.read()
        except (OSError, ValueError):
            return None
        if not isinstance(record, dict) or record.get("key") != key or record.get("digest") != digest(content):
            return None
        with contextlib.suppress(OSError):  # of another user, or on a medium that cannot be written
            os.utime(os.path.join(folder, _RECORD))
        return path, record

    def text(self, name: str, content: bytes) -> str:
        """Return the path of a file with a source that is a text."""
        folder = os.path.join(self.root, "texts", digest(content)[:16])
        path = os.path.join(folder, f"{name}.cc")
        try:
            with open(path, "rb") as file:
                is_current = file.read() == content
        except OSError:
            is_current = False
        if is_current:
            with contextlib.suppress(OSError):
                os.utime(path)
            return path
        self._make_root()
        os.makedirs(folder, exist_ok=True)
        write_whole(path, iter([content]))
        return path

    @contextlib.contextmanager
    def locked(self, key: str, waiting: Callable[[], None]) -> Iterator[bool]:
        """Keep other builders of a key out, and tell whether that is possible: some file systems have no locks.

        `waiting` is called when there is one to wait for.
        """
        self._make_root()
        folder = os.path.join(self.root, "locks")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, key[:2]), "ab") as file:
            yield _lock(file.fileno(), waiting)

    @contextlib.contextmanager
    def building(self, key: str, alone: bool) -> Iterator[str]:
        """Make a folder to build in, and remove it in the end.

        If the key is locked, and so this process is `alone`, other folders are leftovers of killed builders.
        """
        prefix = f"building-{key[:16]}-"
        for leftover in os.listdir(self.root) if alone else ():
            if leftover.startswith(prefix):
                shutil.rmtree(os.path.join(self.root, leftover), ignore_errors=True)
        folder = os.path.join(self.root, prefix + secrets.token_hex(4))
        os.mkdir(folder, 0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, name: str, key: str, built: str, record: Mapping[str, Any]) -> str:
        """Put a library into the cache, and return its path there."""
        folder = os.path.dirname(built)
        finished = os.path.join(folder, "made")
        os.mkdir(finished)
        os.rename(built, os.path.join(finished, name + SUFFIX))
        with open(os.path.join(finished, name + SUFFIX), "rb") as file:
            content = file.read()
        text = json.dumps({"key": key, "digest": digest(content), **record}, indent=1)
        with open(os.path.join(finished, _RECORD), "w", encoding="utf-8") as written:
            written.write(text)
        destination = self._folder(name, key)
        for _ in range(3):
            with contextlib.suppress(OSError):
                os.rename(finished, destination)
                break
            if self.find(name, key) is not None:  # where there are no locks: another was faster
                break
            with contextlib.suppress(FileNotFoundError):  # damaged, or something else altogether
                os.rename(destination, os.path.join(folder, "damaged-" + secrets.token_hex(4)))
        else:
            os.rename(finished, destination)
        if self.bounded:
            self.clean(keep=destination)
        return os.path.join(destination, name + SUFFIX)

    def clean(self, keep: str | None = None) -> None:
        """Remove libraries beyond `LIMIT` bytes except `keep`, old texts, and leftovers of killed builders."""
        now = time.time()
        libraries = []
        with contextlib.suppress(OSError):
            for entry in _entries(self.root):
                with contextlib.suppress(OSError):
                    if entry.name.startswith("building-"):
                        if now - entry.stat().st_mtime > _ABANDONED_SECONDS:
                            shutil.rmtree(entry.path, ignore_errors=True)
                    elif os.path.isfile(os.path.join(entry.path, _RECORD)):
                        used = os.stat(os.path.join(entry.path, _RECORD)).st_mtime
                        libraries.append((used, sum(file.stat().st_size for file in _entries(entry.path)), entry.path))
        total = 0
        for used, size, path in sorted(libraries, reverse=True):
            total += size
            if total > LIMIT and path != keep and now - used > _IN_USE_SECONDS:
                self._remove(path)
        with contextlib.suppress(OSError):
            for entry in _entries(os.path.join(self.root, "texts")):
                with contextlib.suppress(OSError):
                    if all(now - file.stat().st_mtime > _UNUSED_SECONDS for file in _entries(entry.path)):
                        shutil.rmtree(entry.path, ignore_errors=True)

    def _remove(self, path: str) -> None:
        """Remove a library at once, so that nobody sees a part of it."""
        doomed = os.path.join(self.root, f"building-removed-{secrets.token_hex(4)}")
        with contextlib.suppress(OSError):
            os.rename(path, doomed)
            shutil.rmtree(doomed, ignore_errors=True)

    def _make_root(self) -> None:
        if not os.path.isdir(self.root):
            os.makedirs(self.root, mode=0o700, exist_ok=True)

    def _folder(self, name: str, key: str) -> str:
        return os.path.join(self.root, f"{name}-{key[:16]}")


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, waiting: Callable[[], None]) -> bool:
        has_warned = False
        while True:
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
                return True
            except OSError:
                if not has_warned:
                    waiting()
                    has_warned = True
                time.sleep(0.1)

else:
    import fcntl

    def _lock(descriptor: int, waiting: Callable[[], None]) -> bool:
        """Lock an open file; the lock goes with the process, however that ends."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # no locks here: two may build the same at once, and what is renamed first is kept
            return False
        return True
