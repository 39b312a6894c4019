"""Files as users name them: checked names, writing as a whole or not at all, and errors that say what to do."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from typing import Any

from minpy.core.errors import ArgumentError, FileAccessError, FileMissingError, describe, nearest

__all__ = ["access_error", "checked_path", "write_whole"]


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


def write_whole(path: str, chunks: Iterator[Any]) -> None:
    """Write a file under a temporary name, and rename it: it is there as a whole, or what was there before is."""
    path = os.path.realpath(path)  # a link stays one
    mode = None
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
    if mode is not None and not stat.S_ISREG(mode):  # a pipe or a device, which renaming would replace
        with open(path, "wb") as file:
            file.writelines(chunks)
        return
    temporary = os.path.join(os.path.dirname(path), f".minpy-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
