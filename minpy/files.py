"""Files as users name them: checked names, writing as a whole or not at all, and errors that say what to do.

What minpy can make anew it keeps in a folder of the user's, or in the one that MINPY_CACHE names.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from minpy.core.errors import ArgumentError, FileAccessError, FileMissingError, MXNetError, describe, nearest

__all__ = [
    "CACHE_VARIABLE",
    "WholeFile",
    "access_error",
    "accessing",
    "cache_folder",
    "checked_path",
    "open_to_read",
    "read_file",
    "write_file",
    "write_whole",
]


def checked_path(function: str, fname: Any) -> str:
    """Return the name of a file as a string; `function` is what users called, such as 'nd.save'.

    Raises
    ------
    ArgumentError
        If it is no name of a file.
    """
    try:
        path = os.fsdecode(fname)
    except TypeError:
        raise ArgumentError(f"{function}: fname must be a str or PathLike, got {describe(fname)}.") from None
    if not path or "\0" in path:
        raise ArgumentError(f"{function}: fname {path!r} is no name of a file.")
    return path


def open_to_read(path: str | os.PathLike[str], mode: str = "rb", pipes: bool = True, **arguments: Any) -> Any:
    """Return a file open for reading: one that ends.

    Parameters
    ----------
    path : str or PathLike
    mode : str
        As `open` takes it, which gets the other arguments, too.
    pipes : bool
        Whether it may be a pipe: opening one waits until somebody writes to it.

    Raises
    ------
    OSError
        As `open`; and if it is a device, which may have no end, or a pipe where none is expected.
    """
    kind = os.stat(path).st_mode
    if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
        raise OSError(errno.EINVAL, "It is a device, which may have no end; give a regular file")
    if not pipes and stat.S_ISFIFO(kind):
        raise OSError(errno.EINVAL, "It is a pipe, which may have no end; write what comes from it to a regular file")
    return open(path, mode, **arguments)


def access_error(function: str, verb: str, path: str, cause: OSError) -> FileAccessError:
    """Return the error for a file that could not be read or written (`verb`), which says what to do next."""
    kind = FileMissingError if isinstance(cause, FileNotFoundError) else FileAccessError
    folder, name = os.path.split(path)
    folder = folder or os.curdir
    advice = ""
    if not os.path.isdir(folder):
        advice = f" The folder {folder!r} does not exist: correct the path, or make it with os.makedirs."
    elif kind is FileMissingError:
        with contextlib.suppress(OSError):
            advice = nearest(name, os.listdir(folder))
    elif verb == "write" and isinstance(cause, PermissionError):
        advice = " A file is first written beside its final place: its folder must be writable."
    error = kind(f"{function}: cannot {verb} {path!r}: {cause.strerror or cause}.{advice}")
    error.errno, error.filename = cause.errno, path
    return error


@contextlib.contextmanager
def accessing(function: str, verb: str, path: str) -> Iterator[None]:
    """Raise what the system says of a file that is read or written (`verb`) as the error of `access_error`."""
    try:
        yield
    except MXNetError:
        raise
    except OSError as error:
        raise access_error(function, verb, path, error) from error


def read_file(function: str, path: str, pipes: bool = True) -> bytes:
    """Return the content of a file, or raise the error of `access_error`; see `open_to_read`."""
    with accessing(function, "read", path), open_to_read(path, pipes=pipes) as file:
        content: bytes = file.read()
    return content


def write_file(function: str, path: str, chunks: Iterable[Any]) -> None:
    """Write a file as `write_whole`, or raise the error of `access_error`."""
    with accessing(function, "write", path):
        write_whole(path, chunks)


def write_whole(path: str, chunks: Iterable[Any]) -> None:
    """Write a file under a temporary name, and rename it: it is there as a whole, or what was there before is.

    What writers of the same file left behind when they were killed is removed.
    """
    writer = WholeFile(path)
    try:
        writer.file.writelines(chunks)
        writer.commit()
    except BaseException:
        writer.discard()
        raise


class WholeFile:
    """A file that is written bit by bit under a temporary name, and there as a whole once it is committed.

    A pipe or a device, which renaming would replace, is written directly.

    Attributes
    ----------
    path : str
        Of the file as it will be; a link stays one.
    file : binary file
        To be written to.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        self._mode: int | None = None
        self._temporary: str | None = None
        self._held = contextlib.ExitStack()
        with contextlib.suppress(FileNotFoundError):
            self._mode = os.stat(self.path).st_mode
        self.file: Any
        if self._mode is not None and not stat.S_ISREG(self._mode):
            self.file = open(self.path, "wb")  # noqa: SIM115
            return
        folder, name = os.path.split(self.path)
        prefix = f".minpy-{zlib.crc32(os.fsencode(name)):08x}-"
        _sweep(folder, prefix)
        self._temporary = self._held.enter_context(_temporary(folder, prefix))
        try:
            self.file = open(self._temporary, "r+b")  # noqa: SIM115
        except BaseException:
            self._remove()
            raise

    def commit(self) -> None:
        """Let the file be there: close it, and give it its name."""
        if self._temporary is None:
            self.file.close()
            return
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        if self._mode is not None:
            os.chmod(self._temporary, stat.S_IMODE(self._mode))
        os.replace(self._temporary, self.path)
        self._temporary = None
        self._held.close()

    def discard(self) -> None:
        """Close and remove what was written: what was there before stays."""
        with contextlib.suppress(OSError, ValueError):
            self.file.close()
        self._remove()

    def _remove(self) -> None:
        if self._temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._temporary)
            self._temporary = None
            self._held.close()


# -- temporary files: locked as long as their writer lives, however it ends -------------------------------------------

if sys.platform == "win32":  # where what is open cannot be renamed, and so not be locked: nothing is swept

    def _lock(descriptor: int, wait: bool = True) -> bool:
        return False

else:
    import fcntl

    def _lock(descriptor: int, wait: bool = True) -> bool:
        """Lock an open file against other writers, and tell whether that was possible."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:  # another has it, or the file system has no locks: then nothing is swept
            return False
        return True


@contextlib.contextmanager
def _temporary(folder: str, prefix: str) -> Iterator[str]:
    """Make an empty file with a name of its own, and keep it locked."""
    while True:
        path = os.path.join(folder, f"{prefix}{os.urandom(8).hex()}.tmp")
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        locked = False
        try:
            locked = _lock(descriptor)
        finally:
            if not locked:
                os.close(descriptor)
        try:
            if not locked or _has_name(descriptor, path):  # else another writer swept it before it was locked
                yield path
                return
        finally:
            if locked:
                os.close(descriptor)


def _has_name(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _sweep(folder: str, prefix: str) -> None:
    """Remove temporary files of writers that are no more: nobody holds their lock."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(prefix) and name.endswith(".tmp"):
                _remove_unlocked(os.path.join(folder, name))


def _remove_unlocked(path: str) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDWR)
        try:
            if _lock(descriptor, wait=False):
                os.unlink(path)
        finally:
            os.close(descriptor)


# The environment variable that names the folder for all that minpy keeps.
CACHE_VARIABLE = "MINPY_CACHE"


def cache_folder(kind: str) -> str:
    """Return the folder for one kind of things to keep; it need not be there.

    Parameters
    ----------
    kind : str
        The name of the folder within that of minpy: 'native' for libraries of operators, 'kernels' for compiled graphs.
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return os.path.join(os.path.abspath(os.path.expanduser(chosen)), kind)
    if sys.platform == "win32":
        caches = os.environ.get("LOCALAPPDATA") or os.path.join(os.path.expanduser("~"), "AppData", "Local")
    elif sys.platform == "darwin":
        caches = os.path.join(os.path.expanduser("~"), "Library", "Caches")
    else:
        caches = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(caches):  # as its specification has it
            caches = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(caches, "minpy", kind)
